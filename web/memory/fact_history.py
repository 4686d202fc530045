"""The history of a fact: the changes whose differences have it. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct

_MARKS = re.compile(r"\A(?:[-*+] |> )+")
_STRUCK = re.compile(r"~~(.*)~~")


class Told(Struct, frozen=True):
    """A change, with what its difference says.

    Attributes:
        change: The change as `memory.changes` has it.
        added, removed: What its lines say, without the marks of Markdown.
        struck: What was struck in it.
    """

    change: Mapping[str, Any]
    added: frozenset[str]
    removed: frozenset[str]
    struck: tuple[str, ...]


class FactHistory:
    """Finds the changes of facts.

    Args:
        changes: The changes as `memory.changes` has them, the newest first.
    """

    def __init__(self, changes: Iterable[Mapping[str, Any]]) -> None:
        self._told = [_told(each) for each in changes if each["diff"]]

    def of(self, text: str) -> list[tuple[Mapping[str, Any], Sequence[str]]]:
        """Return the changes of a fact, the newest first, each with the version it replaced."""
        said = text.split("\n", maxsplit=1)[0]
        found = [each for each in self._told if said in each.added or said in each.removed]
        return [(each.change, each.struck if said in each.added else ()) for each in found]


def _told(change: Mapping[str, Any]) -> Told:
    lines = change["diff"].splitlines()
    added = [_MARKS.sub("", line[1:].strip()) for line in lines if line.startswith("+") and not line.startswith("+++")]
    removed = {_MARKS.sub("", line[1:].strip()) for line in lines if line.startswith("-") and line[:4] != "--- "}
    struck = tuple(match[1] for each in added if (match := _STRUCK.fullmatch(each)) and match[1] in removed)
    return Told(change, frozenset(added), frozenset(removed), struck)
