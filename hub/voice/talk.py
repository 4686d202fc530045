"""A talk: somebody speaks in a conversation of the dashboard or on a phone's page, and is answered aloud there.

What is said goes into the conversation as their message, with their own rights; what the agent answers is shown there,
and spoken here sentence by sentence while it is written.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping
from enum import StrEnum
from typing import Any

from msgspec import Struct

from hub.core.context import Authority, Context
from hub.core.errors import HubError, Unavailable
from hub.core.events import Event, EventBus
from hub.core.ids import new_id
from hub.core.phrases import phrase
from hub.core.tasks import TaskOwner
from hub.messaging.contract import Address, ClientMessage, Receipt
from hub.models.transcription import SpeechPiece, TellWords
from hub.voice.contract import BYTES_PER_S, TALK
from hub.voice.ear import Ear
from hub.voice.segmenter import SpeechBegan
from hub.voice.sentences import Sentences
from hub.voice.turn import Outcome, Turn, is_stop
from hub.voice.turn_log import TurnLog
from hub.voice.wake import SoundStream

SILENCE_MS = 800
"""Silence that ends what is said where hands are free."""
HELD_LIMIT_BYTES = 120 * BYTES_PER_S
SHORTEST_BYTES = BYTES_PER_S // 4
"""What is shorter is a button that was touched, and no speech."""
AHEAD = 2
"""Sentences that are made into sound before those before them were played."""

SPOKEN = (
    "They talk with you: their words were recognised from speech and may be misheard, and your answer is read out to "
    "them sentence by sentence. Answer as one speaks: briefly, without lists, tables, code or addresses unless asked."
)
FAILED = phrase("the hub failed; its log says why")
INTERRUPTED = "They interrupted your last answer: of the {total} words of it that were there, they heard {heard}."

_WORDS = re.compile(r"[\u3040-\u9fff]|[^\s\u3040-\u9fff]+")
"""Words; where none are told apart, letters."""
_log = logging.getLogger(__name__)


class TalkState(StrEnum):
    """What a talk does."""

    LISTENING = "listening"
    THINKING = "thinking"
    SPEAKING = "speaking"


class TalkParts(Struct, frozen=True):
    """The dependencies of talks.

    Attributes:
        receive: Takes a message; `Inbox.receive`.
        abort: Stops the runs of a conversation.
        listen: Returns what is said, in pieces, by somebody with these rights, and tells the words so far; empty if it
            was no speech. Bounded in time.
        judge: Tells speech from other sounds for them, where anything does.
        sound_of: Returns a recording of a text for them. Bounded in time.
        channel: Returns the channel of the hub's own conversations.
        prepare: Has what hears, answers and speaks ready for them.
        turns: Keeps how each turn went.
    """

    bus: EventBus
    tasks: TaskOwner
    receive: Callable[[ClientMessage, Context], Awaitable[Receipt]]
    abort: Callable[[str], Any]
    listen: Callable[[AsyncIterator[SpeechPiece], Authority, TellWords], Awaitable[str]]
    judge: Callable[[Authority, Callable[[float], None]], SoundStream | None]
    sound_of: Callable[[str, Authority], Awaitable[bytes]]
    channel: Callable[[], str]
    prepare: Callable[[Authority], Coroutine[Any, Any, None]]
    turns: TurnLog


Put = Callable[[Mapping[str, Any], bytes | None], None]
"""Takes what the other side is to know, and a recording that belongs to it. Never blocks or raises."""


class _Piece(Struct, frozen=True):
    number: int
    text: str


class Talk:
    """One open talk.

    What is put: `state` (of `TalkState`), `hearing` (`on`: whether somebody speaks now), `words` (`text`: all that is
    understood so far), `heard` (`text`), `silence` (nothing was understood), `said` (`n`, `text`, with its recording
    where there is one), `pause` (what is played must be silent; `heard` is to be called with how much was), `resume`
    (it goes on, as far as anything of it is left), `hush` (it is over), `waits` (the run waits for an approval) and
    `error` (`what`: hearing | speaking | answer; `why`).

    Args:
        session_key: The conversation.
        authority: Of who talks.
        place: Where, for people.
    """

    def __init__(
        self,
        session_key: str,
        authority: Authority,
        parts: TalkParts,
        put: Put,
        *,
        place: str = phrase("the browser"),
    ) -> None:
        self._key = session_key
        self._authority = authority
        self._parts = parts
        self._put = put
        self._state = TalkState.LISTENING
        self._ear = Ear(self._listens, self._judges, self._words, parts.tasks, silence_ms=SILENCE_MS)
        self._is_free = False
        self._held: bytearray | None = None
        self._is_paused = False
        self._heard_to = 0, 0.0
        """The sentence in which it was paused, and how much of that was played."""
        self._place, self._context = place, Context(authority)
        self._turn: Turn | None = None
        """What is being said now."""
        self._open: list[Turn] = []
        """What was said and is not answered to its end."""
        self._utterances: asyncio.Queue[tuple[bytes, Turn]] = asyncio.Queue()
        self._waiting = 0
        """What was said and is not understood yet."""
        self._active: set[str] = set()
        """The runs of the conversation."""
        self._ours: set[str] = set()
        """Those of them, or to come, that answer what was said here."""
        self._sentences = Sentences()
        self._fed = False
        self._count = 0
        self._pieces: list[_Piece] = []
        """What is said, or was, of the present answer."""
        self._queue: deque[_Piece] = deque()
        self._played = 0
        self._cut: tuple[int, int] | None = None
        """How many words of the last answer were heard, and how many there were."""
        self._more = asyncio.Event()
        self._unlisten = [
            parts.bus.listen(type, hear, {"session_key": session_key})
            for type, hear in (
                ("run_started", self._started),
                ("run_delta", self._delta),
                ("run_message", self._message),
                ("run_tool_updated", self._waits),
                ("run_finished", self._finished),
                ("run_settled", self._settled),
            )
        ]
        self._listening = parts.tasks.spawn(self._listen(), name="listen in a talk")
        self._speaking = parts.tasks.spawn(self._speak(), name="speak in a talk")
        self._preparing = parts.tasks.spawn(parts.prepare(authority), name="prepare a talk")
        put({"t": "state", "state": self._state.value}, None)

    async def close(self) -> None:
        """End it; what it answers is written on in the conversation."""
        for unlisten in self._unlisten:
            unlisten()
        self._ear.rest()
        tasks = (self._listening, self._speaking, self._preparing)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for turn in (*self._open, *([self._turn] if self._turn is not None else ())):
            turn.hear_no_more()
            self._end(turn, Outcome.INTERRUPTED)

    # --- hearing ---

    def free_hands(self, *, on: bool) -> None:
        """Listen all the time, and find the end of what is said; else only what `hold` begins is heard."""
        self._is_free = on
        self._hear_anew()
        self._put({"t": "hearing", "on": False}, None)
        self._go_on()

    def hold(self) -> None:
        """The button is held: what is fed is meant for the agent. What is said is broken off."""
        if self._state is TalkState.SPEAKING:
            self._pause()
            self._break_off()
        self._hear_anew()
        self._held = bytearray()
        self._turn = self._new_turn()
        self._put({"t": "hearing", "on": True}, None)

    def release(self) -> None:
        """The button was let go."""
        held, self._held = self._held, None
        self._put({"t": "hearing", "on": False}, None)
        if held is None:
            return
        if len(held) < SHORTEST_BYTES:
            self._hear_anew()
            self._put({"t": "silence"}, None)
            return
        self._hear(bytes(held))

    def feed(self, samples: bytes) -> None:
        """Take what the microphone hears, at `RATE`."""
        if self._held is not None:
            samples = samples[: max(0, HELD_LIMIT_BYTES - len(self._held))]
            self._held += samples
            if self._turn is not None:
                self._ear.hear_all(self._turn, samples)
            return
        if not self._is_free:
            return
        is_over = self._state is TalkState.SPEAKING and not self._is_paused
        for each in self._ear.feed(samples, is_over=is_over):
            if isinstance(each, SpeechBegan):
                self._begin_turn()
                continue
            self._ear.rest()
            self._put({"t": "hearing", "on": False}, None)
            if each.sound:
                self._hear(each.sound)
            else:
                self._hear_anew()
                self._go_on()
        if self._turn is not None:
            self._ear.hear(self._turn)

    def _begin_turn(self) -> None:
        """Hear somebody who begins to speak, and be silent for now."""
        self._turn = self._new_turn()
        if self._state is not TalkState.LISTENING:
            self._turn.is_barge_in = True
            self._pause()
        self._ear.attend()
        self._put({"t": "hearing", "on": True}, None)

    def _hear_anew(self) -> None:
        """Let go of what is being said."""
        turn, self._turn = self._turn, None
        if turn is not None:
            turn.hear_no_more()
        self._ear.rest()
        self._ear.begin(SILENCE_MS)

    def _listens(self, pieces: AsyncIterator[SpeechPiece], tell: TellWords) -> Awaitable[str]:
        return self._parts.listen(pieces, self._authority, tell)

    def _judges(self, judged: Callable[[float], None]) -> SoundStream | None:
        return self._parts.judge(self._authority, judged)

    def _words(self, turn: Turn, words: str) -> None:
        self._put({"t": "words", "text": words}, None)

    def _hear(self, sound: bytes) -> None:
        turn, self._turn = self._turn or self._new_turn(), None
        self._mark(turn, "heard")
        self._open.append(turn)
        self._waiting += 1
        self._utterances.put_nowait((sound, turn))
        self._tell()

    async def _listen(self) -> None:
        while True:
            sound, turn = await self._utterances.get()
            why = ""
            try:
                await self._take(sound, turn)
            except HubError as error:
                why = error.message
            except Exception:  # a talk goes on whatever one sentence of it meets
                _log.exception("what was said in a talk is lost")
                why = FAILED
            if why:
                self._end(turn, Outcome.FAILED, why)
                self._put({"t": "error", "what": "hearing", "why": why}, None)
            self._waiting -= 1
            self._go_on()
            self._tell()

    async def _take(self, sound: bytes, turn: Turn) -> None:
        authority, parts = self._authority, self._parts
        text = await self._ear.understood(turn, sound)
        is_over = bool(text) and turn.is_barge_in and self._state is TalkState.SPEAKING
        if is_over:
            self._break_off()
        self._mark(turn, "text")
        if not text:
            self._end(turn, Outcome.NOISE)
            self._put({"t": "silence"}, None)
            return
        self._put({"t": "heard", "text": text}, None)
        if is_over and is_stop(text):
            self._end(turn, Outcome.ANSWERED)
            return
        channel = parts.channel()
        run_id, sender = f"talk-{new_id()}", f"{channel}:user:{authority.person or authority.principal}"
        options: dict[str, Any] = {"queue": "steer"} if self._active else {}
        if authority.owner and not authority.tainted:  # who else talks adds nothing to the prompt
            options["extra_system_prompt"] = f"{SPOKEN} {self._interruption()}".strip()
        self._ours.add(run_id)
        turn.run_id = next(iter(self._active), run_id)  # where one runs, it takes this too
        message = ClientMessage(
            Address(channel, self._key),
            run_id,
            sender,
            text,
            session_key=self._key,
            run_id=run_id,
            options=options,
        )
        try:
            receipt = await parts.receive(message, Context(authority=authority))
        except BaseException:
            self._ours.discard(run_id)
            raise
        if receipt.run_id is None or not receipt.accepted:
            self._ours.discard(run_id)
            turn.run_id = None
        if not receipt.accepted:
            raise Unavailable(receipt.reply or receipt.reason or "the message was not accepted")
        if receipt.reply:
            self._answers()
            self._say([*self._sentences.feed(receipt.reply), *self._sentences.end()])
        elif options.get("queue"):
            self._ours |= self._active

    def _interruption(self) -> str:
        cut, self._cut = self._cut, None
        return "" if cut is None else INTERRUPTED.format(heard=cut[0], total=cut[1])

    # --- what runs tell ---

    def _started(self, event: Event) -> None:
        self._active.add(event.data["run_id"])
        if event.data["run_id"] in self._ours and not self._queue and self._played == self._count:
            self._pieces.clear()

    def _delta(self, event: Event) -> None:
        if event.data["run_id"] in self._ours:
            self._fed = True
            self._answers()
            self._say(self._sentences.feed(event.data["text"]))

    def _message(self, event: Event) -> None:
        message = event.data["message"]
        if message.get("role") != "assistant" or event.data["run_id"] not in self._ours:
            return
        said = [] if self._fed else self._sentences.feed(_text_of(message))  # not every model streams
        self._fed = False
        self._answers()
        self._say([*said, *self._sentences.end()])

    def _waits(self, event: Event) -> None:
        if event.data["waits"] and event.data["run_id"] in self._ours:
            self._put({"t": "waits"}, None)

    def _finished(self, event: Event) -> None:
        run_id, status = event.data["run_id"], event.data["status"]
        self._active.discard(run_id)
        if run_id not in self._ours:
            return
        self._ours.discard(run_id)
        self._fed = False
        self._say(self._sentences.end())
        if status not in ("ok", "aborted"):
            why = (event.data.get("error") or {}).get("message") or status
            self._note_error(why)
            self._put({"t": "error", "what": "answer", "why": why}, None)
        self._tell()

    def _settled(self, event: Event) -> None:
        """Know that a message is answered together with another one, or not at all."""
        if event.data["run_id"] in self._ours - self._active:
            self._ours.discard(event.data["run_id"])
            if event.data["status"] != "aborted":
                self._ours |= self._active
            self._tell()

    # --- speaking ---

    def _say(self, sentences: list[str]) -> None:
        for text in sentences:
            self._count += 1
            piece = _Piece(self._count, text)
            self._pieces.append(piece)
            self._queue.append(piece)
        if sentences:
            self._more.set()
            self._tell()

    async def _speak(self) -> None:
        while True:
            await self._more.wait()
            self._more.clear()
            while self._queue and self._queue[0].number - self._played <= AHEAD:
                piece = self._queue[0]
                sound = await self._sound_of(piece.text)
                if not self._queue or self._queue[0] is not piece:
                    continue  # it was broken off meanwhile
                self._queue.popleft()
                self._ear.echo.begin(piece.text)
                self._put({"t": "said", "n": piece.number, "text": piece.text}, sound)
                if sound is None:
                    self.played(piece.number)
                    continue
                for turn in self._answered():
                    self._mark(turn, "speech")
            self._tell()

    async def _sound_of(self, text: str) -> bytes | None:
        try:
            return await self._parts.sound_of(text, self._authority)
        except HubError as error:
            why = error.message
        except Exception:  # the answer is there to read, whatever its voice meets
            _log.exception("a sentence of a talk is not spoken")
            why = FAILED
        self._note_error(why)
        self._put({"t": "error", "what": "speaking", "why": why}, None)
        return None

    def played(self, number: int) -> None:
        """A sentence was played to its end."""
        self._played = max(self._played, min(number, self._count))
        self._more.set()
        self._tell()

    def stop(self, number: int, part: float) -> None:
        """End what is said and what is worked on, since somebody touched it.

        Args:
            number: The sentence that was played last.
            part: How much of it, from 0 to 1.
        """
        self._heard_to = number, part
        self._end_answer()

    def heard(self, number: int, part: float) -> None:
        """Know how much of the answer was played when it was paused; see `stop`."""
        self._heard_to = number, part

    def _pause(self) -> None:
        """Be silent for now, since the other side speaks; it tells by `heard` how much was played."""
        if not self._is_paused:
            self._is_paused, self._heard_to = True, (self._played, 1.0)
            self._put({"t": "pause"}, None)

    def _go_on(self) -> None:
        """Speak on where it was paused, unless somebody speaks, or has and is not understood yet."""
        if self._is_paused and self._turn is None and not self._waiting:
            self._is_paused = False
            self._put({"t": "resume"}, None)

    def _break_off(self) -> None:
        """End what was paused: there are words."""
        self._end_answer()
        self._put({"t": "hush"}, None)

    def _end_answer(self) -> None:
        self._is_paused = False
        self._note_heard(*self._heard_to)
        self._queue.clear()
        self._played = self._count
        running = self._ours & self._active
        self._ours -= running
        if running:
            self._parts.abort(self._key)
        self._sentences = Sentences()
        self._fed = False
        for turn in self._answered():
            self._end(turn, Outcome.INTERRUPTED)
        self._tell()

    def _note_heard(self, number: int, part: float) -> None:
        """Keep for the agent how much of the answer was heard."""
        counts = [(piece.number, _words_in(piece.text)) for piece in self._pieces]
        heard = sum(count if at < number else round(count * part) if at == number else 0 for at, count in counts)
        total = sum(count for _, count in counts)
        if heard < total:
            self._cut = heard, total
        self._pieces.clear()

    def _tell(self) -> None:
        state = TalkState.LISTENING
        if self._queue or self._played < self._count:
            state = TalkState.SPEAKING
        elif self._waiting or self._ours:
            state = TalkState.THINKING
        if state is not self._state:
            self._state = state
            self._put({"t": "state", "state": state.value}, None)
            if state is TalkState.LISTENING:
                self._ear.echo.end()
                for turn in tuple(self._open):
                    self._end(turn, Outcome.FAILED if turn.error else Outcome.ANSWERED, turn.error)

    # --- the record of turns ---

    def _new_turn(self) -> Turn:
        return self._parts.turns.begin(TALK, self._place)

    def _answered(self) -> list[Turn]:
        """Return the turns that the conversation has, and that are not answered to their end."""
        return [each for each in self._open if "text" in each.stages]

    def _answers(self) -> None:
        for turn in self._answered():
            self._mark(turn, "answer")

    def _note_error(self, why: str) -> None:
        for turn in self._answered():
            turn.error = why

    def _mark(self, turn: Turn, stage: str) -> None:
        self._parts.turns.mark(turn, stage, self._context)

    def _end(self, turn: Turn, outcome: Outcome, error: str = "") -> None:
        if turn in self._open:
            self._open.remove(turn)
            turn.outcome, turn.error = outcome, error
            self._parts.turns.mark(turn, "done", self._context, outcome=outcome.value)
            self._parts.turns.keep(turn)


def _words_in(text: str) -> int:
    return len(_WORDS.findall(text))


def _text_of(message: Mapping[str, Any]) -> str:
    content = message.get("content") or ""
    if isinstance(content, str):
        return content
    return "".join(str(each.get("text") or "") for each in content if each.get("type") == "text")
