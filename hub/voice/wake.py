"""Wake words: the contract of what finds them in sound, and the choice of what listens for which.

Engines come from integrations. One that is away, not installed yet, or added later is no error of a satellite: its
stream is open from the beginning, and listens as soon as something can.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol, runtime_checkable

from msgspec import Struct

from hub.core.clock import Clock
from hub.core.errors import HubError
from hub.core.phrases import in_series, phrase
from hub.core.tasks import TaskOwner

RETRY_S = 30.0
"""After which an engine that could not say what it knows is asked again."""
SETTLE_S = 2.0
"""For so long it is not said that nothing listens."""
_VERSION = re.compile(r"_v\d[\d.]*\Z")


class WakeWord(Struct, frozen=True):
    """A word that an engine can find.

    Attributes:
        id: As it is written in the configuration, such as okay_nabu.
        name: As it is said.
        languages: In which it is said, by ISO 639-1 codes; empty if nothing is known.
    """

    id: str
    name: str
    languages: tuple[str, ...] = ()


WakeHeard = Callable[[str, bytes], None]
"""Called with a word that was said, and what has come in of the sound since, as far as it is there."""


class SoundStream(Protocol):
    """What sound of one satellite goes into. No method blocks or raises."""

    def feed(self, samples: bytes) -> None:
        """Take 16-bit little-endian samples of one channel, at `hub.voice.contract.RATE`."""
        ...

    def close(self) -> None:
        """Take no more, and call nobody any more."""
        ...


class WakeEngine(Protocol):
    """What finds wake words; it survives its own failures: a stream stays open whatever becomes of what does the work.

    Attributes:
        name: For people.
    """

    name: str

    async def words(self) -> Sequence[WakeWord]:
        """Return what it can find, the usual one first.

        Raises:
            HubError: It cannot say now; the message tells people why, and what to do.
        """
        ...

    def open(self, satellite: str, words: Sequence[str], sensitivity: float, heard: WakeHeard) -> SoundStream:
        """Listen to a satellite.

        Args:
            satellite: Its id.
            words: Some of its `words`.
            sensitivity: From 0, where hardly anything wakes it, to 1; 0.5 is what the word's maker advises.
            heard: Called in the event loop; once each time that a word was said.
        """
        ...


@runtime_checkable
class CanJudgeSpeech(Protocol):
    """An engine that tells speech from other sounds."""

    def judge(self, satellite: str, judged: Callable[[float], None]) -> SoundStream:
        """Listen to a satellite, and call `judged` with how likely the last sound is speech, from 0 to 1.

        Where it cannot, it calls nobody; so whoever asks needs a rule of their own.
        """
        ...


class WakeEngines:
    """All engines of the home.

    Args:
        tasks: Owns the questions what each knows.
    """

    def __init__(self, clock: Clock, tasks: TaskOwner) -> None:
        self._clock = clock
        self._tasks = tasks
        self._engines: list[WakeEngine] = []
        self._listeners: set[_Listener] = set()

    def add(self, engine: WakeEngine) -> Callable[[], None]:
        """Add an engine; return a function that removes it. Satellites go over to it where it knows their words."""
        self._engines.append(engine)
        self._choose_again()

        def remove() -> None:
            self._engines.remove(engine)
            self._choose_again()

        return remove

    def all(self) -> Sequence[WakeEngine]:
        """Return all engines."""
        return tuple(self._engines)

    async def known(
        self, asked: Callable[[WakeEngine], bool] = bool
    ) -> tuple[Mapping[WakeEngine, Sequence[WakeWord]], Sequence[str]]:
        """Return what each engine that is to be asked knows, and why others cannot say."""
        found: dict[WakeEngine, Sequence[WakeWord]] = {}
        troubles: list[str] = []
        for engine in filter(asked, tuple(self._engines)):
            try:
                found[engine] = await engine.words()
            except HubError as error:
                troubles.append(error.message)
        return found, troubles

    def open(
        self,
        satellite: str,
        words: Sequence[str],
        sensitivity: float,
        heard: WakeHeard,
        told: Callable[[str], None],
    ) -> SoundStream:
        """Listen to a satellite, with whatever knows its words.

        Args:
            words: Empty is the usual word of the first engine.
            heard: Called with the word, as it is written in `words`.
            told: Called with why a word is not listened for, for people; with an empty text once all are.
        """
        listener = _Listener(self, satellite, words, sensitivity, heard, told)
        self._listeners.add(listener)
        listener.choose()
        return listener

    def judge(self, satellite: str, judged: Callable[[float], None]) -> SoundStream | None:
        """Tell speech from other sounds there; None where no engine can. See `CanJudgeSpeech.judge`."""
        return judge_of(self._engines, satellite, judged)

    def spawn_choice(self, listener: _Listener) -> asyncio.Task[None]:
        """Find what listens for the words of a listener; ask again while an engine cannot say."""
        return self._tasks.spawn(self._choose(listener), name=f"choose what listens in {listener.satellite}")

    def closed(self, listener: _Listener) -> None:
        """Forget a listener."""
        self._listeners.discard(listener)

    def _choose_again(self) -> None:
        for each in tuple(self._listeners):
            each.choose()

    async def _choose(self, listener: _Listener) -> None:
        while True:
            known, troubles = await self.known()
            missing = listener.take(known)
            if not missing:
                listener.tell("")
                return
            if not known and not troubles:  # the hub starts, or a section is read again: one may be on its way
                await self._clock.sleep(SETTLE_S)
            listener.tell(_why_not(missing, known, troubles))
            if not troubles:
                return
            await self._clock.sleep(RETRY_S)


def judge_of(engines: Iterable[WakeEngine], place: str, judged: Callable[[float], None]) -> SoundStream | None:
    """Tell speech from other sounds at a place, by the first engine that can; None where none can."""
    able = next((each for each in engines if isinstance(each, CanJudgeSpeech)), None)
    return able.judge(place, judged) if able is not None else None


class _Listener:
    """One satellite: the streams that are open for its words."""

    def __init__(
        self,
        home: WakeEngines,
        satellite: str,
        words: Sequence[str],
        sensitivity: float,
        heard: WakeHeard,
        told: Callable[[str], None],
    ) -> None:
        self.satellite = satellite
        self._home, self._words, self._sensitivity = home, tuple(words), sensitivity
        self._heard, self._told = heard, told
        self._text: str | None = None
        self._choice: asyncio.Task[None] | None = None
        self._streams: dict[WakeEngine, tuple[tuple[str, ...], SoundStream]] = {}

    def feed(self, samples: bytes) -> None:
        for _, stream in tuple(self._streams.values()):
            stream.feed(samples)

    def close(self) -> None:
        if self._choice is not None:
            self._choice.cancel()
        self._home.closed(self)
        self.take({})

    def choose(self) -> None:
        """Choose again what listens."""
        if self._choice is not None:
            self._choice.cancel()
        self._choice = self._home.spawn_choice(self)

    def tell(self, text: str) -> None:
        """Tell why a word is not listened for, unless that was told."""
        if text != self._text:
            self._text = text
            self._told(text)

    def take(self, known: Mapping[WakeEngine, Sequence[WakeWord]]) -> Sequence[str]:
        """Open and close streams, so that each word is listened for once; return those that nothing knows."""
        chosen, missing = _chosen(self._words, known)
        for engine, (words, stream) in tuple(self._streams.items()):
            if tuple(chosen.get(engine, {})) != words:
                del self._streams[engine]
                stream.close()
        for engine, names in chosen.items():
            if engine not in self._streams:
                stream = engine.open(self.satellite, tuple(names), self._sensitivity, self._teller(names))
                self._streams[engine] = (tuple(names), stream)
        return missing

    def _teller(self, names: Mapping[str, str]) -> WakeHeard:
        return lambda word, since: self._heard(names.get(word, word), since)


def _chosen(
    wanted: Sequence[str], known: Mapping[WakeEngine, Sequence[WakeWord]]
) -> tuple[dict[WakeEngine, dict[str, str]], Sequence[str]]:
    """Return for each engine its words, with how they are written in the configuration; and what none knows."""
    chosen: dict[WakeEngine, dict[str, str]] = {}
    if not wanted:
        for engine, words in known.items():
            if words:
                return {engine: {words[0].id: words[0].id}}, ()
        return {}, ("",)
    missing = []
    for word in dict.fromkeys(wanted):
        for engine, words in known.items():
            if (found := next((each.id for each in words if _same(word, each)), None)) is not None:
                chosen.setdefault(engine, {})[found] = word
                break
        else:
            missing.append(word)
    return chosen, missing


def _same(wanted: str, word: WakeWord) -> bool:
    return plain_word(wanted) in (plain_word(word.id), plain_word(word.name))


def plain_word(word: str) -> str:
    """Return a wake word as it is compared: "OK Nabu" and ok_nabu_v0.1 are okay_nabu."""
    plain = _VERSION.sub("", re.sub(r"[^\w.]+", "_", word.strip().lower()))
    return re.sub(r"\Aok_", "okay_", plain)


def _why_not(missing: Sequence[str], known: Mapping[WakeEngine, Sequence[WakeWord]], troubles: Sequence[str]) -> str:
    names = sorted({each.id for words in known.values() for each in words})
    if names and any(missing):
        unknown = phrase("no wake word {words} is known here; there are {known}", words=missing, known=names)
        return in_series([unknown, *troubles])
    return in_series(troubles) or phrase("nothing finds wake words here: `homarus voice install wake`")
