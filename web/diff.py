"""What changed between two texts, line by line."""

from __future__ import annotations

import difflib
from dataclasses import dataclass

LINE_LIMIT = 2_000
CONTEXT_LINES = 3


@dataclass(frozen=True, slots=True)
class DiffLine:
    """One line of a difference; kind is add | remove | same | hunk."""

    kind: str
    text: str

    def as_dict(self) -> dict[str, str]:
        """The line as plain data."""
        return {"kind": self.kind, "text": self.text}


def diff_lines(before: str, after: str) -> list[DiffLine]:
    """Return how `after` differs from `before`: empty when it does not, cut after 2 000 lines."""
    kinds = {"+": "add", "-": "remove", " ": "same", "@": "hunk"}
    lines: list[DiffLine] = []
    found = difflib.unified_diff(before.splitlines(), after.splitlines(), n=CONTEXT_LINES, lineterm="")
    for number, line in enumerate(found):
        if number < 2:  # the names of the two files
            continue
        if len(lines) >= LINE_LIMIT:
            lines.append(DiffLine("hunk", "…"))
            break
        kind = kinds.get(line[:1], "same")
        lines.append(DiffLine(kind, line if kind == "hunk" else line[1:]))
    return lines
