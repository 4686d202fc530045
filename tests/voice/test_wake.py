"""What listens for which wake word: engines come, go, fail and are asked again."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

import pytest

from hub.core.clock import ManualClock
from hub.core.errors import Unavailable
from hub.core.tasks import TaskOwner
from hub.voice.wake import RETRY_S, SETTLE_S, SoundStream, WakeEngines, WakeHeard, WakeWord, plain_word
from tests.until import until

NABU, JARVIS, RHASSPY = (WakeWord(each, each.replace("_", " ")) for each in ("okay_nabu", "hey_jarvis", "hey_rhasspy"))


class Stream:
    """A stream that hears its first word in whatever comes."""

    def __init__(self, engine: Engine, words: Sequence[str], heard: WakeHeard) -> None:
        self.engine, self.words, self.heard = engine, words, heard
        engine.streams.append(self)

    def feed(self, samples: bytes) -> None:
        self.heard(self.words[0], b"")

    def close(self) -> None:
        self.engine.streams.remove(self)


class Engine:
    """An engine that knows words, unless it is away."""

    def __init__(self, name: str, *known: WakeWord, away: bool = False) -> None:
        self.name, self.known, self.away = name, known, away
        self.streams: list[Stream] = []

    async def words(self) -> Sequence[WakeWord]:
        if self.away:
            raise Unavailable(f"{self.name} is away")
        return self.known

    def open(self, satellite: str, words: Sequence[str], sensitivity: float, heard: WakeHeard) -> SoundStream:
        return Stream(self, words, heard)


class Ear:
    """A satellite that listens for words."""

    def __init__(self, engines: WakeEngines, *words: str) -> None:
        self.heard: list[str] = []
        self.told: list[str] = []
        self.stream = engines.open("kitchen", words, 0.5, lambda word, _: self.heard.append(word), self.told.append)

    async def hears(self) -> list[str]:
        await until(lambda: bool(self.told))
        self.heard.clear()
        self.stream.feed(b"..")
        return sorted(self.heard)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
async def engines(clock: ManualClock) -> AsyncIterator[WakeEngines]:
    tasks = TaskOwner("wake")
    yield WakeEngines(clock, tasks)
    await tasks.cancel_all()


@pytest.mark.parametrize(
    ("written", "plain"),
    [
        ("okay_nabu", "okay_nabu"),
        ("OK Nabu", "okay_nabu"),
        ("ok_nabu_v0.1", "okay_nabu"),
        ("Hey, Jarvis", "hey_jarvis"),
        ("okra", "okra"),
    ],
)
def test_a_word_may_be_written_as_it_is_said(written: str, plain: str) -> None:
    assert plain_word(written) == plain


async def test_each_word_has_the_first_engine_that_knows_it_and_is_told_as_it_was_written(engines: WakeEngines) -> None:
    first, second = Engine("first", NABU, JARVIS), Engine("second", RHASSPY, NABU)
    engines.add(first)
    engines.add(second)

    ear = Ear(engines, "OK Nabu", "hey rhasspy")
    usual = Ear(engines)

    assert await ear.hears() == ["OK Nabu", "hey rhasspy"]
    assert await usual.hears() == ["okay_nabu"]
    assert ear.told == [""]
    assert [each.words for each in (*first.streams, *second.streams)] == [
        ("okay_nabu",),
        ("okay_nabu",),
        ("hey_rhasspy",),
    ]


async def test_an_unknown_word_is_told_with_those_that_are_known_and_the_others_are_heard(engines: WakeEngines) -> None:
    engines.add(Engine("first", NABU, JARVIS))

    ear = Ear(engines, "hey_jarvz", "okay_nabu")

    assert await ear.hears() == ["okay_nabu"]
    assert ear.told == ["no wake word hey_jarvz is known here; there are hey_jarvis, okay_nabu"]


async def test_an_engine_that_is_away_is_asked_again(engines: WakeEngines, clock: ManualClock) -> None:
    first = Engine("the cellar", NABU, away=True)
    engines.add(first)
    ear = Ear(engines, "okay_nabu")
    assert await ear.hears() == []

    await clock.advance(RETRY_S)
    first.away = False
    await clock.advance(RETRY_S)
    await until(lambda: len(ear.told) == 2)

    assert ear.told == ["the cellar is away", ""]
    assert await ear.hears() == ["okay_nabu"]


async def test_engines_come_and_go_while_satellites_listen(engines: WakeEngines, clock: ManualClock) -> None:
    ear = Ear(engines)
    await clock.advance(SETTLE_S / 2)
    assert ear.told == []  # one may be on its way
    await clock.advance(SETTLE_S)
    assert await ear.hears() == []
    first, second = Engine("first", JARVIS), Engine("second", NABU)

    remove = engines.add(first)
    engines.add(second)
    await until(lambda: bool(first.streams))
    remove()
    await until(lambda: bool(second.streams))

    assert (first.streams, await ear.hears()) == ([], ["okay_nabu"])
    assert ear.told == ["nothing finds wake words here: `homarus voice install wake`", ""]


async def test_a_closed_stream_hears_nothing_more(engines: WakeEngines) -> None:
    engine = Engine("first", NABU)
    remove = engines.add(engine)
    ear = Ear(engines)
    await ear.hears()

    ear.stream.close()
    ear.stream.feed(b"..")
    remove()
    engines.add(engine)

    assert engine.streams == []
    assert len(ear.heard) == 1
    assert engines.judge("kitchen", lambda _: None) is None
