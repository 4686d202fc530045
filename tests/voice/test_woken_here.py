"""A satellite that sends all it hears is woken by what the hub has: its own engines, or a Wyoming service."""

from __future__ import annotations

import shlex
import shutil
import sys
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from hub.voice.chimes import Chime, chime
from hub.voice.contract import BYTES_PER_S, Stage, VoiceTurn
from hub.voice.wake import WakeHeard, WakeWord
from integrations.models.voice.installed import LOCK, WAKE, VoiceFolder
from tests.integrations.devices.wyoming.test_wake import WORDS, WakeServer
from tests.servers import scripted_engine
from tests.servers.openai_server import OpenAIServer
from tests.until import until
from tests.voice.kit import Kiosk, VoiceHome, silence, speech, voice_home

SENDS_ALL: dict[str, Any] = {"always_sends": True, "wakes_itself": False}


def install(home: Path) -> None:
    """Put an engine into a home that finds words which are written in the sound."""
    folder = VoiceFolder(home)
    python = folder.python_of(WAKE)
    python.parent.mkdir(parents=True)
    python.write_text(f'#!/bin/sh\nshift 2\nexec {shlex.join([sys.executable, "-P", scripted_engine.__file__])} "$@"\n')
    python.chmod(0o700)
    shutil.copyfile(WAKE, folder.place_of(WAKE) / LOCK)


@pytest.fixture
async def service() -> AsyncIterator[WakeServer]:
    server = WakeServer()
    await server.start()
    yield server
    await server.stop()


async def woken(home: VoiceHome, kiosk: Kiosk, word: str) -> dict[str, Any]:
    """Say a wake word until it is heard, and return the event that tells of it."""

    def said() -> list[dict[str, Any]]:
        kiosk.line.feed(word.encode() + b"\0" * (len(word) % 2))
        return [each for each in home.told if each["stage"] == "wake"]

    found: list[dict[str, Any]] = await home.passing(said)
    return found[0]


class WordFinder:
    """Finds a word in sound that is loud as it was told."""

    name = "finder"

    def __init__(self) -> None:
        self.heard: dict[str, WakeHeard] = {}
        self.opened: list[tuple[str, tuple[str, ...], float]] = []
        self.fed = 0

    async def words(self) -> Sequence[WakeWord]:
        return [WakeWord("okay_nabu", "Okay Nabu")]

    def open(self, satellite: str, words: Sequence[str], sensitivity: float, heard: WakeHeard) -> WordFinder:
        self.opened.append((satellite, tuple(words), sensitivity))
        self.heard[satellite] = heard
        return self

    def feed(self, samples: bytes) -> None:
        self.fed += len(samples)

    def close(self) -> None:
        self.heard.clear()


@pytest.fixture
async def home(tmp_path: Path, openai_server: OpenAIServer) -> AsyncIterator[VoiceHome]:
    async with voice_home(tmp_path, openai_server.base_url) as home:
        yield home


async def test_by_its_own_engine_and_a_model_tells_when_it_was_said(tmp_path: Path) -> None:
    install(tmp_path)
    async with voice_home(tmp_path, "", integrations=("voice",), voice={}) as home:
        kiosk = home.kiosk(**SENDS_ALL)
        home.ears.hears.append("")

        told = await woken(home, kiosk, "okay_nabu")
        await home.passing(lambda: kiosk.shown[-1][0] is Stage.LISTENING)
        kiosk.line.feed(silence(0.1) + speech())

        def goes_silent() -> list[VoiceTurn]:
            kiosk.line.feed(silence(0.1))
            return home.satellites.turns()

        turns: list[VoiceTurn] = await home.passing(goes_silent)

    assert (told["satellite"], told["wake_word"]) == ("kitchen", "okay_nabu")
    assert turns[0].wake_word == "okay_nabu"


async def test_by_a_service(tmp_path: Path, service: WakeServer) -> None:
    wyoming = {"wake": [f"tcp://127.0.0.1:{service.port}"]}
    async with voice_home(tmp_path, "", integrations=("wyoming",), wyoming=wyoming) as home:
        told = await woken(home, home.kiosk(**SENDS_ALL), WORDS[0])

    assert told["wake_word"] == WORDS[0]


async def test_where_nothing_finds_words_it_says_so(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async with voice_home(tmp_path, "", integrations=("voice",), voice={}) as home:
        home.kiosk(**SENDS_ALL)
        await home.passing(lambda: "homarus voice install wake" in caplog.text)


async def test_wake_words_are_found_here_for_those_that_send_all(home: VoiceHome, openai_server: OpenAIServer) -> None:
    openai_server.queue("Yes.")
    finder = WordFinder()
    remove = home.voice.add_wake_engine(finder)
    home.kiosk("hall")
    kitchen = home.kiosk(**SENDS_ALL)
    await until(lambda: finder.opened)
    home.ears.hears = ["Are you there"]

    kitchen.line.feed(speech())
    finder.heard["kitchen"]("okay_nabu", b"")
    kitchen.say()
    turn = await home.turn()

    assert finder.opened == [("kitchen", ("okay_nabu",), 0.5)]
    assert finder.fed == len(speech())
    assert (turn.wake_word, turn.outcome) == ("okay_nabu", "answered")
    assert kitchen.played[0] == round(chime(Chime.WAKE).seconds, 2)
    remove()
    await until(lambda: not finder.heard)


async def test_what_is_said_right_after_the_wake_word_is_heard_from_its_first_sound(
    home: VoiceHome, openai_server: OpenAIServer
) -> None:
    openai_server.queue("Yes.")
    finder = WordFinder()
    home.voice.add_wake_engine(finder)
    kitchen = home.kiosk(**SENDS_ALL)
    await until(lambda: finder.opened)
    home.ears.hears = ["Are you there"]

    kitchen.line.feed(silence(1) + speech(1))
    finder.heard["kitchen"]("okay_nabu", speech(1))
    kitchen.line.feed(silence(2))
    turn = await home.turn()

    assert (turn.wake_word, turn.text, turn.outcome) == ("okay_nabu", "Are you there", "answered")
    ((size, _),) = home.ears.heard
    assert size > BYTES_PER_S


async def test_a_wake_word_over_an_answer_is_none_of_what_is_said(home: VoiceHome, openai_server: OpenAIServer) -> None:
    openai_server.queue("one two three four five six seven eight nine ten", "Yes.")
    finder = WordFinder()
    home.voice.add_wake_engine(finder)
    kitchen = home.kiosk(**SENDS_ALL)
    await until(lambda: finder.opened)
    home.ears.hears = ["Count", "That is enough"]
    kitchen.line.wake()
    kitchen.say()
    await home.passing(lambda: kitchen.begun == 2)  # the chime, and the answer

    kitchen.line.feed(speech(2))
    finder.heard["kitchen"]("okay_nabu", b"")
    kitchen.line.feed(speech(0.5) + silence(2))
    turn = await home.turn(2)

    assert (turn.wake_word, turn.text, turn.outcome) == ("okay_nabu", "That is enough", "answered")
    assert home.ears.heard[-1][0] < 2 * BYTES_PER_S
