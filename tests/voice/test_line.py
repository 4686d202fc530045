"""How soon a satellite speaks: what can be made before it is due is made before."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.servers.openai_server import OpenAIServer
from tests.until import until
from tests.voice.kit import API, VoiceHome, voice_home

FIRST, SECOND, THIRD = "The first sentence is there.", "The second one follows it.", "And here is the last."


@pytest.fixture
async def home(tmp_path: Path, openai_server: OpenAIServer) -> AsyncIterator[VoiceHome]:
    async with voice_home(tmp_path, openai_server.base_url) as home:
        yield home


async def test_a_sentence_is_spoken_once_it_is_written_and_the_next_are_made_while_it_sounds(
    home: VoiceHome, openai_server: OpenAIServer
) -> None:
    openai_server.queue(
        [
            {"text": f"{FIRST} {SECOND[:5]}"},
            {"hold": "second"},
            {"text": f"{SECOND[5:]} {THIRD[:5]}"},
            {"hold": "third"},
            {"text": THIRD[5:]},
        ]
    )
    kitchen = home.kiosk()
    home.ears.hears = ["Talk"]

    kitchen.line.wake()
    kitchen.say()
    await until(lambda: kitchen.begun)  # on a clock that stands still
    openai_server.release("second")
    await until(lambda: len(home.ears.spoken) == 2)
    openai_server.release("third")
    await until(lambda: len(home.ears.spoken) == 3)

    assert [each[1] for each in home.ears.spoken] == [FIRST, SECOND, THIRD]
    assert (kitchen.begun, kitchen.played) == (1, [])
    turn = await home.turn()
    assert turn.answer == f"{FIRST}\n{SECOND}\n{THIRD}"
    assert len(kitchen.played) == 3


async def test_what_answers_is_ready_once_a_satellite_is_there_and_what_hears_and_speaks_when_it_wakes(
    tmp_path: Path, openai_server: OpenAIServer
) -> None:
    models = {"default": "voice/auto", "providers": {"voice": {"api": API}}}
    async with voice_home(tmp_path, openai_server.base_url, models=models) as home:
        assert home.ears.prepared == []
        kitchen = home.kiosk(language="de")
        await until(lambda: home.ears.prepared == [("auto", "de", None)])

        kitchen.line.wake()

        await until(lambda: home.ears.prepared[1:] == [("auto", "de", None), ("auto", "de", "")])
