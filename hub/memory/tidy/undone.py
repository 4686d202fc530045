"""Earlier tidying that was undone, so that it is not repeated. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable

from hub.memory.tidy.marks import one_line

_ITEM = re.compile(r"\+(?:[-*+]|\d{1,9}[.)])\s+(?:~~)?(.*?)(?:~~)?\s*")
_SIDE = re.compile(r"\+\s+(“.*”) \(.*\)\s*")


def undone_entries(diffs: Iterable[str]) -> frozenset[str]:
    """Return the first lines of entries that undone changes had added or struck, and marked sides.

    Args:
        diffs: Unified diffs of those changes.
    """
    found: set[str] = set()
    for line in (line for diff in diffs for line in diff.split("\n")):
        if item := _ITEM.fullmatch(line):
            found.add(one_line(item[1]))
        elif side := _SIDE.fullmatch(line):
            found.add(side[1])
    return frozenset(found)
