"""What a command is about is found by its id, the beginning of its id, or its name."""

from __future__ import annotations

from typing import Any

import pytest

from hub.cli.exits import CommandFailed
from hub.cli.verbs import find_entry

PHONES: list[dict[str, Any]] = [
    {"id": "aa1", "request_id": "r1", "name": "Anna's phone"},
    {"id": "aa2", "request_id": None, "name": "aa1"},
    {"id": "b", "request_id": None, "name": "Tablet"},
]


@pytest.mark.parametrize(
    ("given", "id"), [("aa1", "aa1"), ("r1", "aa1"), ("aa2", "aa2"), ("b", "b"), ("anna's PHONE", "aa1")]
)
def test_it_is_found(given: str, id: str) -> None:
    assert find_entry(PHONES, given, ("id", "request_id"), "there is no", "nodes list")["id"] == id


@pytest.mark.parametrize(("given", "told"), [("aa", "these could be meant: aa1, aa2"), ("r", "there is no r. See: x")])
def test_several_or_none_are_not_guessed(given: str, told: str) -> None:
    with pytest.raises(CommandFailed, match=told):
        find_entry(PHONES, given, ("id", "request_id"), "there is no", "x")
