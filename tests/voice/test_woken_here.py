"""A satellite that sends all it hears is woken by what the hub has: its own engines, or a Wyoming service."""

from __future__ import annotations

import shlex
import shutil
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from hub.voice.contract import Stage, VoiceTurn
from integrations.models.voice.installed import LOCK, WAKE, VoiceFolder
from tests.integrations.devices.wyoming.test_wake import WORDS, WakeServer
from tests.servers import scripted_engine
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
