"""The steps of a turn: a reply, a tool call, and tool results."""

from __future__ import annotations

import json
from typing import Any

from msgspec import Struct, field


class Say(Struct, frozen=True):
    """Answer with this text."""

    text: str


class Call(Struct, frozen=True):
    """Call this tool."""

    tool: str
    arguments: dict[str, Any] = field(default_factory=dict)


class StepResult(Struct, frozen=True):
    """A tool result of this turn."""

    tool: str
    output: str
    is_error: bool


Step = Say | Call


def read_json(output: str) -> dict[str, Any]:
    """Return the JSON object in a tool's output, which may be between words and markers; empty for none."""
    begin, end = output.find("{"), output.rfind("}")
    try:
        found = json.loads(output[begin : end + 1])
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def read_items(output: str, key: str) -> list[dict[str, Any]]:
    """Return the objects in the list that a tool's output has under a key; none where it has no such list."""
    found = read_json(output).get(key)
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []
