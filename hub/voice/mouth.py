"""What a satellite says, one after the other; the next sentence is made while one is spoken."""

from __future__ import annotations

import asyncio
import re
from collections import deque
from collections.abc import Awaitable, Callable

from hub.core.clock import Clock
from hub.core.errors import HubError
from hub.core.tasks import TaskOwner
from hub.voice.contract import Satellite, Sound, SpeechHeard

AHEAD = 2
"""So many sentences are made before they are due."""
SHORTEST_CHARS = 20
"""Shorter sentences are spoken with the next."""
LONGEST_CHARS = 160
"""Longer ones are spoken in parts, since nothing is heard of a sentence before all of it is made."""
REWIND_S = 0.3
"""What goes on after a pause begins so much before it: the last of it may not have been heard."""
_SENTENCE = re.compile(r"(?<=[.!?…:;])(?<!^\d[.])(?<!^\d\d[.])\s+|(?<=[。！？；])\s*|\n+", re.MULTILINE)
"""Between sentences, and lines; the number of a list's item is no sentence."""
_PAUSE = re.compile(r"(?<=[,，、)])\s*|\s+(?=[(–—])")

SoundOf = Callable[[str, str | None], Awaitable[Sound]]
"""Returns a text in a language as sound."""


class Utterance:
    """Something to be said there, or a sound.

    Attributes:
        text: What is said; empty for a sound.
        run_id: The run whose answer it is, or is part of.
        ready: Done when its first sound is made, or when it is known that none will be.
        began: Done when its first sound is played, or when it is known that none will be.
        ended: How much of it was heard; an error if it could not be spoken.
    """

    def __init__(self, text: str, run_id: str | None = None) -> None:
        loop = asyncio.get_running_loop()
        self.text = text
        self.run_id = run_id
        self.ready: asyncio.Future[None] = loop.create_future()
        self.began: asyncio.Future[None] = loop.create_future()
        self.ended: asyncio.Future[SpeechHeard] = loop.create_future()
        self._heard: list[str] = []

    @property
    def heard(self) -> str:
        """What was heard of it."""
        return joined(self._heard)

    def add(self, text: str) -> None:
        """Note a piece that was heard."""
        if text:
            self._heard.append(text)

    def end(self, *, is_whole: bool) -> None:
        """Settle it, unless it was."""
        for each in (self.ready, self.began):
            if not each.done():
                each.set_result(None)
        if not self.ended.done():
            self.ended.set_result(SpeechHeard(self.text if is_whole else self.heard, is_whole))

    def fail(self, error: HubError) -> None:
        """Settle it with an error, unless it was settled."""
        for each in (self.ready, self.began, self.ended):
            if not each.done():
                each.set_exception(error)
                each.exception()  # whoever asks is told; if nobody does, it is no secret of the loop's


class _Piece:
    """A sentence, or a sound, of an utterance."""

    def __init__(
        self, utterance: Utterance, make: Callable[[], Awaitable[Sound]], text: str = "", *, is_last: bool = True
    ) -> None:
        self.utterance, self.text, self.is_last = utterance, text, is_last
        self.make = make
        self.making: asyncio.Task[Sound] | None = None
        self.seconds = 0.0
        """How long it lasts, once it is made."""
        self.played_s = 0.0
        """How much of it was played before the last pause."""


class Mouth:
    """Speaks at one satellite.

    Args:
        sound_of: Makes speech; may fall back to another voice.
        tell: Called when the first sound of an utterance is about to be played.
        failed: Called with what could not be spoken.
        silent: Called when nothing more is to be said.
    """

    def __init__(
        self,
        satellite: Satellite,
        clock: Clock,
        tasks: TaskOwner,
        sound_of: SoundOf,
        tell: Callable[[Utterance], None],
        failed: Callable[[Utterance, HubError], None],
        silent: Callable[[], None],
    ) -> None:
        self._satellite, self._clock, self._tasks, self._sound_of = satellite, clock, tasks, sound_of
        self._tell, self._failed, self._tell_silent = tell, failed, silent
        self._pieces: deque[_Piece] = deque()
        self._playing: _Piece | None = None
        self._since = 0.0
        self._sounding: asyncio.Task[None] | None = None
        self._worker: asyncio.Task[None] | None = None
        self._may = asyncio.Event()
        self._may.set()

    @property
    def is_busy(self) -> bool:
        """Whether something is said, or waits to be."""
        return self._playing is not None or bool(self._pieces)

    @property
    def saying(self) -> Utterance | None:
        """What is said just now."""
        return self._playing.utterance if self._playing is not None else None

    def hold(self) -> None:
        """Say nothing for now: somebody speaks."""
        self._may.clear()

    def pause(self) -> None:
        """Be silent at once: somebody may speak. Answers can go on after it; all else is broken off."""
        self.break_off(answers=False)
        if self._playing is not None and self._sounding is not None and not self._sounding.done():
            self._playing.played_s = self._played_s()
            self._sounding.cancel()
        self.hold()

    def release(self) -> None:
        """Go on, where it was paused."""
        self._may.set()

    def say(
        self, text: str, language: str | None = None, *, run_id: str | None = None, before: Sound | None = None
    ) -> Utterance:
        """Say a text after what is being said; `before` sounds before it."""
        utterance = Utterance(text, run_id)
        pieces = [_Piece(utterance, _ready(before), is_last=False)] if before is not None else []
        sentences = sentences_of(text)
        for number, each in enumerate(sentences, 1):
            pieces.append(_Piece(utterance, self._speaking(each, language), each, is_last=number == len(sentences)))
        if not sentences:
            utterance.end(is_whole=True)
            return utterance
        self._enqueue(pieces)
        return utterance

    def play(self, sound: Sound) -> Utterance:
        """Play a sound after what is being said."""
        utterance = Utterance("")
        self._enqueue([_Piece(utterance, _ready(sound))])
        return utterance

    def break_off(self, *, answers: bool = True, others: bool = True) -> Utterance | None:
        """Be silent at once, and forget what was still to be said; return what was being said.

        Args:
            answers: Whether what belongs to a run is forgotten.
            others: Whether all else is.
        """
        playing = self._playing
        gone = [
            each for each in (playing, *self._pieces) if each and (others, answers)[each.utterance.run_id is not None]
        ]
        self._pieces = deque(each for each in self._pieces if each not in gone)
        if playing is not None and playing in gone:
            share = self._played_s() / playing.seconds if playing.seconds else 0.0
            playing.utterance.add(heard_of(playing.text, share))
            self._playing = None
            if self._worker is not None:
                self._worker.cancel()
                self._worker = None
        for piece in gone:
            if piece.making is not None:
                piece.making.cancel()
            piece.utterance.end(is_whole=False)
        if self._pieces:
            self._enqueue([])
        return gone[0].utterance if gone else None

    def _played_s(self) -> float:
        """Return how much of what is said was played."""
        if (piece := self._playing) is None:
            return 0.0
        is_sounding = self._sounding is not None and not self._sounding.done() and self._may.is_set()
        return piece.played_s + (self._clock.monotonic() - self._since if is_sounding else 0.0)

    def fail(self, error: HubError) -> None:
        """Give everything up: the device is gone."""
        utterances = {id(each.utterance): each.utterance for each in (self._playing, *self._pieces) if each is not None}
        for each in utterances.values():
            each.fail(error)
        self.break_off()

    def _speaking(self, text: str, language: str | None) -> Callable[[], Awaitable[Sound]]:
        return lambda: self._sound_of(text, language)

    def _enqueue(self, pieces: list[_Piece]) -> None:
        self._pieces += pieces
        self._make_ahead()
        if self._worker is None or self._worker.done():
            self._worker = self._tasks.spawn(self._work(), name="speak")

    def _make_ahead(self) -> None:
        for piece in list(self._pieces)[:AHEAD]:
            if piece.making is None:
                piece.making = self._tasks.spawn(_made(piece), name="make speech")

    async def _work(self) -> None:
        while self._pieces:
            await self._allowed()
            if not self._pieces:
                break
            piece = self._pieces.popleft()
            self._playing = piece
            self._make_ahead()
            try:
                await self._speak(piece)
            except HubError as error:
                self._give_up(piece.utterance, error)
            self._playing = None
        self._worker = None
        self._tell_silent()

    async def _speak(self, piece: _Piece) -> None:
        if piece.making is None:
            piece.making = self._tasks.spawn(_made(piece), name="make speech")
        sound, utterance = await piece.making, piece.utterance
        piece.seconds, is_played = sound.seconds, False
        while not is_played:
            await self._allowed()
            if not utterance.began.done():
                self._tell(utterance)
                utterance.began.set_result(None)
            piece.played_s = max(0.0, piece.played_s - REWIND_S)
            is_played = await self._sound(_rest(sound, piece.played_s))
        utterance.add(piece.text)
        if piece.is_last:
            utterance.end(is_whole=True)

    async def _sound(self, sound: Sound) -> bool:
        """Play a sound; return whether it was played to its end, and not paused."""
        self._since = self._clock.monotonic()
        sounding = self._sounding = asyncio.ensure_future(self._satellite.play(sound))
        try:
            await asyncio.wait({sounding})
        finally:
            sounding.cancel()
        if sounding.cancelled():
            return False
        sounding.result()
        return True

    async def _allowed(self) -> None:
        while not self._may.is_set():  # it may be held again before this goes on
            await self._may.wait()

    def _give_up(self, utterance: Utterance, error: HubError) -> None:
        for piece in [each for each in self._pieces if each.utterance is utterance]:
            self._pieces.remove(piece)
            if piece.making is not None:
                piece.making.cancel()
        utterance.fail(error)
        self._failed(utterance, error)


def sentences_of(text: str) -> list[str]:
    """Return a text in pieces that are spoken one by one, so that the first is heard soon."""
    found: list[str] = []
    for each in filter(None, (part.strip() for part in _SENTENCE.split(text) if part)):
        if found and len(found[-1]) < SHORTEST_CHARS:
            found[-1] = joined([found[-1], each])
            continue
        found.append(each)
    return [part for each in found for part in _parts_of(each)]


def _parts_of(sentence: str) -> list[str]:
    """Return a sentence in parts that are not too long, cut where one pauses, else between words."""
    parts: list[str] = []
    while len(sentence) > LONGEST_CHARS:
        pauses = [each.start() for each in _PAUSE.finditer(sentence, SHORTEST_CHARS, LONGEST_CHARS) if each.start()]
        cut = pauses[-1] if pauses else sentence.rfind(" ", SHORTEST_CHARS, LONGEST_CHARS)
        cut = cut if cut > 0 else LONGEST_CHARS
        parts.append(sentence[:cut].rstrip())
        sentence = sentence[cut:].lstrip()
    return [*parts, sentence]


def cut_short(answer: list[str], cut: Utterance) -> str:
    """Return what an agent is told of an answer, said in pieces, of which one was broken off."""
    before = answer[: answer.index(cut.text)] if cut.text in answer else []
    return broken_off(joined([*before, cut.heard]))


def joined(pieces: list[str]) -> str:
    """Return pieces of a text as one; Chinese has no spaces between its sentences."""
    text = ""
    for each in pieces:
        text += ("" if not text or text[-1] in "。！？；" else " ") + each
    return text


def broken_off(heard: str) -> str:
    """Return what the agent is told of an answer that was broken off."""
    if not heard:
        return "Your last answer was broken off before any of it was heard."
    return f"Your last answer was broken off while it was spoken; this much of it was heard: “{heard}”"


def heard_of(text: str, share: float) -> str:
    """Return the whole words of a text that were heard when a share of its sound was played."""
    if share >= 1:
        return text
    end = int(len(text) * max(share, 0.0))
    if end < len(text) and text[end : end + 1].isascii() and not text[end].isspace():
        end = max(text.rfind(" ", 0, end), 0)
    return text[:end].rstrip()


def _rest(sound: Sound, from_s: float) -> Sound:
    return Sound(sound.samples[2 * int(from_s * sound.rate) :], sound.rate) if from_s else sound


def _ready(sound: Sound) -> Callable[[], Awaitable[Sound]]:
    async def give() -> Sound:
        return sound

    return give


async def _made(piece: _Piece) -> Sound:
    sound = await piece.make()
    if not piece.utterance.ready.done():
        piece.utterance.ready.set_result(None)
    return sound
