"""Several satellites wake together: one voice is answered once, and whoever speaks elsewhere is answered too."""

from __future__ import annotations

import asyncio
import math
import random
from array import array
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path

import pytest

from hub.voice.contract import RATE
from hub.voice.nearest import OPEN_S, SAME_SOUND, YIELDS_S, is_alike, likeness
from tests.servers.openai_server import OpenAIServer
from tests.until import until
from tests.voice.kit import Kiosk, VoiceHome, silence, speech, voice_home

LOUDNESS = {"kitchen": 9_000, "hall": 3_000, "cellar": 1_000}
"""As one voice in the kitchen is heard in three rooms."""
PITCH = {"kitchen": 0.1, "hall": 0.2, "cellar": 0.3}
"""Of three voices, or of one that walls have changed beyond recognition: then the words tell."""
LIGHT, MISHEARD, TIMER = "Turn on the light.", "Turn on delight.", "Set a timer for ten minutes."


@pytest.fixture
async def home(tmp_path: Path, openai_server: OpenAIServer) -> AsyncIterator[VoiceHome]:
    openai_server.rule("", "Yes.")
    async with voice_home(tmp_path, openai_server.base_url) as home:
        rooms = [{"id": id, "transcription_model": f"voice/{id}"} for id in LOUDNESS]
        home.voice.configure({"speech_model": "voice/auto", "satellites": rooms})
        home.ears.understood = {id: asyncio.get_running_loop().create_future() for id in LOUDNESS}
        yield home


def outcomes(home: VoiceHome) -> dict[str, str]:
    return {each.satellite: each.outcome for each in home.satellites.turns()}


def woken(home: VoiceHome, *ids: str) -> dict[str, Kiosk]:
    kiosks = {id: home.kiosk(id) for id in ids}
    for id, each in kiosks.items():
        each.line.wake("okay_nabu" if id == "kitchen" else "Okay Nabu")
    return kiosks


@pytest.mark.parametrize(
    ("understood", "expected"),
    [
        ([("kitchen", LIGHT), ("hall", LIGHT)], {"kitchen": "answered", "hall": "elsewhere"}),
        ([("kitchen", "打开厨房的灯"), ("hall", "打开除法的灯。")], {"kitchen": "answered", "hall": "elsewhere"}),
        ([("kitchen", LIGHT), ("hall", TIMER)], {"kitchen": "answered", "hall": "answered"}),
        ([("kitchen", ""), ("hall", LIGHT)], {"kitchen": "noise", "hall": "answered"}),
        (
            [("kitchen", LIGHT), ("hall", LIGHT), ("cellar", MISHEARD)],
            {"kitchen": "answered", "hall": "elsewhere", "cellar": "elsewhere"},
        ),
        (
            [("kitchen", ""), ("hall", LIGHT), ("cellar", MISHEARD)],
            {"kitchen": "noise", "hall": "answered", "cellar": "elsewhere"},
        ),
        (
            [("kitchen", TIMER), ("hall", LIGHT), ("cellar", MISHEARD)],
            {"kitchen": "answered", "hall": "answered", "cellar": "elsewhere"},
        ),
        (  # what hears in the kitchen is late
            [("hall", LIGHT), ("kitchen", LIGHT)],
            {"kitchen": "elsewhere", "hall": "answered"},
        ),
        (
            [("hall", LIGHT), ("cellar", TIMER), ("kitchen", TIMER)],
            {"kitchen": "elsewhere", "hall": "answered", "cellar": "answered"},
        ),
    ],
)
async def test_one_voice_is_answered_once_and_every_other_one_too(
    home: VoiceHome, understood: Sequence[tuple[str, str]], expected: Mapping[str, str]
) -> None:
    for id, kiosk in woken(home, *expected).items():
        kiosk.say(loudness=LOUDNESS[id], pitch=PITCH[id])

    for id, text in understood:
        await home.passing(lambda id=id: id in home.ears.asked)  # type: ignore[misc]
        home.ears.understood[id].set_result(text)
    await home.turn(len(expected))

    assert outcomes(home) == expected


@pytest.mark.parametrize(
    ("understood", "asked", "expected"),
    [
        ([LIGHT], ["kitchen"], {"kitchen": "answered", "hall": "elsewhere"}),
        (["", LIGHT], ["kitchen", "hall"], {"kitchen": "noise", "hall": "answered"}),
    ],
)
async def test_who_heard_the_same_sound_worse_need_not_understand_it(
    home: VoiceHome, understood: Sequence[str], asked: Sequence[str], expected: Mapping[str, str]
) -> None:
    for id, kiosk in woken(home, "hall", "kitchen").items():
        kiosk.line.feed(silence(0.0 if id == "hall" else 0.3))
        kiosk.say(loudness=LOUDNESS[id])

    for id, text in zip(asked, understood, strict=True):
        await home.passing(lambda id=id: id in home.ears.asked)  # type: ignore[misc]
        home.ears.understood[id].set_result(text)
    await home.turn(2)

    assert outcomes(home) == expected
    assert home.ears.asked == asked


async def test_the_nearest_waits_for_nobody_and_the_others_for_it(home: VoiceHome) -> None:
    kiosks = woken(home, "cellar", "hall", "kitchen")
    for id in ("cellar", "hall"):
        kiosks[id].say(loudness=LOUDNESS[id], pitch=PITCH[id])
    kiosks["kitchen"].line.feed(silence(0.1) + speech(0.6, LOUDNESS["kitchen"]))
    await home.clock.advance(OPEN_S - 0.1)
    assert home.ears.asked == []

    kiosks["kitchen"].line.feed(silence(0.8))

    await until(lambda: home.ears.asked == ["kitchen"])  # on a clock that stands still
    home.ears.understood["kitchen"].set_result(TIMER)
    await until(lambda: home.ears.asked == ["kitchen", "hall"])


async def test_it_is_not_waited_long_for_one_that_hears_something_else_or_hears_no_end(home: VoiceHome) -> None:
    kiosks = woken(home, "hall", "kitchen")
    kiosks["kitchen"].line.feed(silence(0.1) + speech(0.6, LOUDNESS["kitchen"]))
    kiosks["hall"].say(loudness=LOUDNESS["hall"], pitch=PITCH["hall"])

    await home.passing(lambda: home.ears.asked == ["hall"])
    home.ears.understood["hall"].set_result(LIGHT)
    kiosks["kitchen"].line.feed(silence(0.8))
    await home.passing(lambda: "kitchen" in home.ears.asked)
    home.ears.understood["kitchen"].set_result(LIGHT)
    await home.turn(2)

    assert outcomes(home) == {"hall": "answered", "kitchen": "elsewhere"}


async def test_what_hears_for_the_nearest_may_hang(home: VoiceHome) -> None:
    for id, kiosk in woken(home, "hall", "kitchen").items():
        kiosk.say(loudness=LOUDNESS[id], pitch=PITCH[id])
    await until(lambda: home.ears.asked == ["kitchen"])
    began = home.clock.monotonic()

    await home.passing(lambda: home.ears.asked == ["kitchen", "hall"])

    assert home.clock.monotonic() - began > YIELDS_S - 0.1


async def test_one_that_hears_nobody_speak_is_not_waited_for(home: VoiceHome) -> None:
    kiosks = woken(home, "hall", "kitchen")
    kiosks["kitchen"].line.feed(silence(0.1) + speech(0.04, 20_000) + silence(0.6))

    kiosks["hall"].say(loudness=LOUDNESS["hall"], pitch=PITCH["hall"])

    await until(lambda: home.ears.asked == ["hall"])


async def test_the_nearest_is_the_one_that_is_louder_than_its_own_room(home: VoiceHome) -> None:
    kiosks = woken(home, "hall", "kitchen")
    noise, voice = speech(0.8, 2_000), speech(0.6, LOUDNESS["kitchen"])
    kiosks["kitchen"].line.feed(noise + voice + noise)
    kiosks["hall"].say(loudness=LOUDNESS["hall"], pitch=PITCH["hall"])

    await until(lambda: home.ears.asked == ["hall"])


@pytest.mark.parametrize("words", [("okay_nabu", "hey_jarvis"), (None, None), ("okay_nabu", None)])
async def test_who_wakes_by_another_word_or_a_button_is_answered(
    home: VoiceHome, words: tuple[str | None, str | None]
) -> None:
    for id, word in zip(("kitchen", "hall"), words, strict=True):
        kiosk = home.kiosk(id)
        kiosk.line.wake(word)
        kiosk.say(loudness=LOUDNESS[id], pitch=PITCH[id])
        home.ears.understood[id].set_result(LIGHT)

    await home.turn(2)

    assert outcomes(home) == {"kitchen": "answered", "hall": "answered"}


async def test_who_wakes_later_is_answered(home: VoiceHome) -> None:
    for id in ("kitchen", "hall"):
        kiosk = woken(home, id)[id]
        kiosk.say(loudness=LOUDNESS[id], pitch=PITCH[id])
        home.ears.understood[id].set_result(LIGHT)
        await home.clock.advance(0.6)

    await home.turn(2)

    assert outcomes(home) == {"kitchen": "answered", "hall": "answered"}


@pytest.mark.parametrize(
    ("text", "other", "alike"),
    [
        ("Turn on the light.", "turn on the light", True),
        ("Set a timer for ten minutes.", "Set a time of a ten minutes", True),
        ("关掉所有的灯", "關掉所有的燈", True),
        ("Turn off the light.", "What is the weather like?", False),
        ("今天天气怎么样", "关掉所有的灯", False),
        ("Turn on the light.", "", False),
    ],
)
def test_two_texts_of_one_voice_are_alike(text: str, other: str, alike: bool) -> None:
    assert is_alike(text, other) is alike


def test_sounds_of_one_voice_are_alike_whenever_they_begin() -> None:
    voice, other = spoken(1), spoken(2)
    echo = array("h", [(near + 2 * far) // 8 for near, far in zip(voice, voice[-500:] + voice[:-500], strict=True)])

    assert likeness(voice.tobytes(), silence(0.4) + voice.tobytes()) == pytest.approx(1.0)
    assert likeness(voice.tobytes(), echo.tobytes()) > 0.8
    assert likeness(voice.tobytes(), other.tobytes()) < SAME_SOUND
    assert likeness(b"", voice.tobytes()) == 0.0


def spoken(seed: int) -> array[int]:
    """Return two seconds of a voice, whose pitch wanders."""
    chance, phase, step, found = random.Random(seed), 0.0, 0.06, array("h")
    for _ in range(2 * RATE):
        step = min(0.12, max(0.03, step + chance.uniform(-0.001, 0.001)))
        phase += step
        found.append(int(6_000 * (math.sin(phase) + 0.3 * math.sin(3 * phase))))
    return found
