"""The words so far: told while somebody speaks, without keeping the engine from anything."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from hub.core.clock import ManualClock
from hub.core.errors import Unavailable
from hub.core.tasks import TaskOwner
from hub.models.contract import AUTO
from hub.models.speech import SpeechRequest
from hub.models.transcription import SpeechPiece
from hub.voice.contract import BYTES_PER_S
from hub.voice.sound import read_wav, resampled
from integrations.channels.voice_call.mulaw import to_wav
from integrations.models.voice.listening import LONGEST_BYTES, REST, REST_S, SLOW_S, PartHeard, WordsSoFar
from integrations.models.voice.provider import VoiceProvider
from integrations.models.voice.worker import without_repetition
from tests.servers.coded_sound import as_sound
from tests.until import until


class Engine:
    """Hears what it is told to, of somebody who speaks on and on.

    Attributes:
        texts: What it hears next; the last one is heard again.
        took_s: How long it works each time.
        parts: Seconds of each part that it was given.
    """

    def __init__(self) -> None:
        self.texts: list[str | Unavailable | None] = ["turn on"]
        self.took_s = 0.1
        self.parts: list[float] = []
        self.clock = ManualClock()
        self.tasks = TaskOwner("test")
        self.told: list[str] = []
        self.said = bytearray()
        self.words = WordsSoFar(self._hear, self.clock, self.tasks, self.told.append)

    async def _hear(self, part: bytes) -> PartHeard | None:
        self.parts.append(len(part) / BYTES_PER_S)
        text = self.texts.pop(0) if self.texts[1:] else self.texts[0]
        if isinstance(text, Unavailable):
            raise text
        return PartHeard(text, self.took_s) if text is not None else None

    async def speak(self, seconds: float, *, waits_s: float = 60.0) -> None:
        """Have so much more said, after a while, and what is begun by that ended."""
        await self.clock.advance(waits_s)
        self.said += bytes(int(BYTES_PER_S * seconds))
        self.words.take(self.said)
        await self.tasks.drain(timeout_s=30.0)


async def test_all_that_was_said_is_heard_again_and_again_from_the_first_second_on() -> None:
    engine = Engine()
    engine.texts = ["turn on", "turn on the light"]
    await engine.speak(0.9)
    assert engine.parts == []
    await engine.speak(0.6)
    await engine.speak(0.5)

    assert (engine.parts, engine.told) == ([1.5, 2.0], ["turn on", "turn on the light"])


@pytest.mark.parametrize(("took_s", "rests_s"), [(0.0, REST_S), (0.5, REST * 0.5)])
async def test_the_engine_rests_longer_than_it_works(took_s: float, rests_s: float) -> None:
    engine = Engine()
    engine.took_s = took_s
    await engine.speak(1.0)
    await engine.speak(0.1, waits_s=rests_s - 0.01)
    assert len(engine.parts) == 1

    await engine.speak(0.1, waits_s=0.02)
    assert len(engine.parts) == 2


async def test_one_is_made_at_a_time() -> None:
    engine = Engine()
    engine.said += bytes(2 * BYTES_PER_S)
    for _ in range(3):
        engine.words.take(engine.said)
    await engine.tasks.drain(timeout_s=30.0)

    assert engine.parts == [2.0]


@pytest.mark.parametrize(("took_s", "seconds"), [(SLOW_S + 0.1, 4.0), (0.1, LONGEST_BYTES / BYTES_PER_S + 0.5)])
@pytest.mark.parametrize(("texts", "told"), [(["one", "two"], "one two"), (["打开", "灯"], "打开灯")])
async def test_what_takes_too_long_is_heard_from_where_it_was(
    took_s: float, seconds: float, texts: list[str | Unavailable | None], told: str
) -> None:
    engine = Engine()
    engine.took_s, engine.texts = took_s, [*texts]
    await engine.speak(seconds)
    await engine.speak(3.0)

    assert (engine.parts, engine.told[-1]) == ([seconds, 3.0], told)


@pytest.mark.parametrize(("took_s", "text"), [(SLOW_S + 0.1, "turn on"), (0.1, Unavailable("it has crashed"))])
async def test_an_engine_that_is_too_slow_for_a_second_of_speech_or_fails_is_left_in_peace(
    took_s: float, text: str | Unavailable
) -> None:
    engine = Engine()
    engine.took_s, engine.texts = took_s, [text]
    for _ in range(3):
        await engine.speak(1.5)

    assert engine.parts == [1.5]


async def test_nothing_is_told_of_what_is_empty_or_not_heard_and_nothing_after_the_end() -> None:
    engine = Engine()
    engine.texts = [None, "", "the end"]
    for _ in range(2):
        await engine.speak(1.0)
    engine.said += bytes(BYTES_PER_S)
    await engine.clock.advance(60.0)
    engine.words.take(engine.said)
    engine.words.close()
    await engine.tasks.drain(timeout_s=30.0)

    assert (engine.parts, engine.told) == ([1.0, 2.0, 3.0], [])


@pytest.mark.parametrize(
    ("text", "once"),
    [
        ("Is anybody home? Is anybody Home", "Is anybody home?"),
        ("Turn it on. Turn", "Turn it on."),
        ("开灯。开灯。", "开灯。"),
        ("Turn it on. Turn the lamp", "Turn it on. Turn the lamp"),
        ("At 7.30 in the morning.", "At 7.30 in the morning."),
        ("", ""),
    ],
)
def test_what_whisper_says_again_in_silence_is_left_out(text: str, once: str) -> None:
    assert without_repetition(text) == once


# --- by an engine in its process ---


class Speaker:
    """Somebody who says a text that is coded in sound."""

    def __init__(self, samples: bytes) -> None:
        self._samples, self._pieces = samples, asyncio.Queue[SpeechPiece | None]()
        self.told: list[str] = []
        self.taken = 0

    async def pieces(self) -> AsyncIterator[SpeechPiece]:
        while (piece := await self._pieces.get()) is not None:
            yield piece
            self.taken += 1

    def say(self, start_s: float, end_s: float | None = None, *, is_quiet: bool = False) -> None:
        start, end = (None if each is None else int(BYTES_PER_S * each) // 2 * 2 for each in (start_s, end_s))
        self._pieces.put_nowait(SpeechPiece(self._samples[start:end], is_quiet))

    def end(self) -> None:
        self._pieces.put_nowait(None)


@pytest.mark.parametrize("may_work", [True, False])
async def test_words_so_far_are_told_while_somebody_speaks_and_then_all_of_them(
    provider: VoiceProvider, clock: ManualClock, may_work: bool
) -> None:
    sound = read_wav(await provider.speak(SpeechRequest(AUTO, "who" * 2_000, "", "wav", "en")))
    assert sound is not None
    speaker = Speaker(resampled(sound, 16_000).samples)
    hearing = asyncio.ensure_future(
        provider.listen(AUTO, speaker.pieces(), "de", speaker.told.append, may_work=may_work)
    )
    speaker.say(0.0, 1.2, is_quiet=True)
    speaker.say(1.2, 1.5)
    await until(lambda: speaker.told or not may_work)
    speaker.end()

    await hearing
    assert speaker.told == (["1.5 s in de"] if may_work else [])


async def test_nothing_is_begun_in_a_pause_which_may_be_the_end(provider: VoiceProvider) -> None:
    speaker = Speaker(bytes(4 * BYTES_PER_S))
    hearing = asyncio.ensure_future(provider.listen(AUTO, speaker.pieces(), "en", speaker.told.append))
    speaker.say(0.0, 2.0, is_quiet=True)
    await until(lambda: speaker.taken == 1)
    speaker.end()
    await hearing

    assert speaker.told == []


async def test_an_engine_that_has_something_to_do_is_not_asked(provider: VoiceProvider) -> None:
    busy = asyncio.ensure_future(provider.transcribe(AUTO, to_wav(as_sound("hang")), "a.wav"))
    await until(lambda: [each for each in provider._engines.values() if each.waiting])

    assert await provider._part_of(AUTO, None, bytes(BYTES_PER_S)) is None
    busy.cancel()
