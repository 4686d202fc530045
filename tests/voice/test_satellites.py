"""Turns at satellites, from the wake word to the last word of the answer."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from hub.voice.contract import Stage
from tests.servers.openai_server import OpenAIServer
from tests.until import until
from tests.voice.kit import VoiceHome, voice_home


@pytest.fixture
async def home(tmp_path: Path, openai_server: OpenAIServer) -> AsyncIterator[VoiceHome]:
    async with voice_home(tmp_path, openai_server.base_url) as home:
        yield home


async def test_what_is_said_is_answered_aloud(home: VoiceHome, openai_server: OpenAIServer) -> None:
    openai_server.queue("It is noon.")
    kitchen = home.kiosk()
    home.ears.hears = ["What time is it?"]

    kitchen.line.wake("hey_jarvis")
    kitchen.say()
    turn = await home.turn()

    assert (turn.text, turn.answer, turn.outcome, turn.wake_word) == (
        "What time is it?",
        "It is noon.",
        "answered",
        "hey_jarvis",
    )
    assert list(turn.stages) == ["heard", "text", "answer", "speech", "done"]
    assert kitchen.played == [round(0.06 * 11, 2)]
    assert [each["stage"] for each in home.told] == ["wake", "heard", "text", "answer", "speech", "done"]
    await until(lambda: kitchen.shown[-1] == (Stage.IDLE, ""))
    assert (Stage.PROCESSING, "What time is it?") in kitchen.shown
