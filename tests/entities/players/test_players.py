"""Services of players reach a player as a real Home Assistant core sends them, and are refused where it refuses."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from hub.core.errors import HubError
from tests.entities.home_of_entities import TestHome
from tests.entities.players.questions import QUESTIONS, Question

ANSWERS = json.loads((Path(__file__).parent / "answers.json").read_text())


@pytest.fixture
async def home(tmp_path: Path) -> AsyncIterator[TestHome]:
    home = TestHome(tmp_path)
    await home.registry.open()
    yield home
    await home.registry.close()
    await home.tasks.cancel_all()


@pytest.mark.parametrize(("question", "answer"), list(zip(QUESTIONS, ANSWERS, strict=True)), ids=lambda each: "")
async def test_what_reaches_a_player_is_the_same(home: TestHome, question: Question, answer: dict[str, Any]) -> None:
    able, state, attributes, service, data = question
    # Who groups players also takes them apart: one feature there.
    commands = (*able, "unjoin") if "join" in able else able
    player = home.add("media_player", "Player", *commands, state=state)
    player.set(state, attributes)

    refused = False
    try:
        await home.call(f"media_player.{service}", entity_id=player.entity_id, **data)
    except HubError:
        refused = True

    shown = home.states.get(player.entity_id)
    assert shown is not None
    assert (refused, shown.attributes["supported_features"]) == (answer["refused"], answer["features"])
    assert [[name, _plain(sent)] for _, name, sent in home.done] == [
        [name, _plain(sent)] for name, sent in answer["heard"]
    ]


def _plain(sent: dict[str, Any]) -> dict[str, Any]:
    return {key: round(value, 4) if isinstance(value, float) else value for key, value in sent.items() if value != {}}
