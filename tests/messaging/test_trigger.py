"""The trigger `conversation`: a sentence that an automation answers."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from hub.core.context import Context
from hub.core.schema import Invalid
from hub.messaging.inbox.sentence_matcher import SentenceMatch, Sentences
from tests.automation.triggers.bench import OWNER, STRANGER, Bench, explained, valid


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    bench = Bench(tmp_path)
    yield bench
    await bench.close()


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({}, "command"),
        ({"command": []}, "nothing"),
        ({"command": ["fine", "turn on (the"]}, "missing"),
        ({"command": "hello", "language": "English"}, "language such as en"),
    ],
)
def test_mistakes_are_told(config: dict[str, Any], message: str) -> None:
    with pytest.raises(Invalid, match=message):
        valid({"trigger": "conversation", **config})


async def test_it_fires_with_what_home_assistant_shows(bench: Bench) -> None:
    bench.with_source(Sentences, table := Sentences(bench.tasks))
    site = bench.arm({"trigger": "conversation", "command": ["turn on {area} light"]})

    for authority in (OWNER, STRANGER):
        match = await table.match("Turn on kitchen light")
        assert isinstance(match, SentenceMatch)
        match.fire(Context(authority))

    trigger = site.fired[0].trigger
    assert trigger["sentence"] == "Turn on kitchen light"
    assert trigger["slots"] == {"area": "kitchen"}
    assert trigger["details"] == {"area": {"name": "area", "text": "kitchen", "value": "kitchen"}}
    assert trigger["user_input"]["text"] == "Turn on kitchen light"
    assert [fired.tainted for fired in site.fired] == [False, True]
    bench.disarm()
    assert len(table.registered) == 0


async def test_where_nobody_speaks_it_is_told(bench: Bench) -> None:
    site = bench.arm({"trigger": "conversation", "command": "hello"})

    assert site.failures == ["sentence triggers are not available here: there is no conversation"]


def test_it_is_explained_in_plain_words() -> None:
    config = {"trigger": "conversation", "command": ["good night", "sleep well"]}

    assert explained(config) == "when someone says “good night” or “sleep well”"
