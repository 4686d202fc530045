"""A unified difference as lines for a page; produced by the hub's history."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from typing import Any

from msgspec import Struct

LINE_LIMIT = 2_000
_HUNK = re.compile(r"@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@")
_KINDS = {"+": "add", "-": "remove", " ": "same", "@": "hunk"}


class DiffLine(Struct, frozen=True):
    """One line of a difference; kind is add | remove | same | hunk."""

    kind: str
    text: str

    def as_dict(self) -> dict[str, str]:
        """The line as plain data."""
        return {"kind": self.kind, "text": self.text}


def diff_lines(unified: str) -> list[DiffLine]:
    """Return the lines of a unified difference without the names of the two files, cut after 2 000."""
    lines: list[DiffLine] = []
    for line in unified.splitlines()[2:]:
        if len(lines) >= LINE_LIMIT:
            lines.append(DiffLine("hunk", "…"))
            break
        kind = _KINDS.get(line[:1], "same")
        lines.append(DiffLine(kind, line if kind == "hunk" else line[1:]))
    return lines


class FileDiff(Struct, frozen=True):
    """The difference of one file; its name may be empty."""

    name: str
    lines: list[DiffLine]

    def as_dict(self) -> dict[str, Any]:
        """The difference as plain data."""
        return {"name": self.name, "lines": [line.as_dict() for line in self.lines]}


def file_diffs(unified: str) -> list[FileDiff]:
    """Return a unified difference of several files, one by one; all of them together are cut after 2 000 lines."""
    lines = unified.splitlines()
    starts = _starts(lines)
    found: list[FileDiff] = []
    left = LINE_LIMIT
    for start, end in itertools.pairwise([*starts, len(lines)]):
        if left <= 0:
            break
        shown = diff_lines("\n".join(lines[start:end]))[: left + 1]
        left -= len(shown)
        found.append(FileDiff(_name(lines[start][4:], lines[start + 1][4:]), shown))
    return found


def _starts(lines: Sequence[str]) -> list[int]:
    """Return where the diffs of files begin; lines inside hunks are counted, so that they cannot look like headers."""
    starts: list[int] = []
    old = new = 0
    for number, line in enumerate(lines):
        if old > 0 or new > 0:
            old -= line[:1] in ("-", " ", "")
            new -= line[:1] in ("+", " ", "")
        elif hunk := _HUNK.match(line):
            old, new = int(hunk[1] or 1), int(hunk[2] or 1)
        elif line.startswith("--- ") and number + 1 < len(lines) and lines[number + 1].startswith("+++ "):
            starts.append(number)
    return starts


def _name(old: str, new: str) -> str:
    """Return the name of the file: the new one, the old one of a file that was taken away."""
    chosen = old if new.strip() == "/dev/null" else new
    name = chosen.split("\t")[0].strip()
    return name[2:] if name.startswith(("a/", "b/")) else name
