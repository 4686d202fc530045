"""A unified difference as lines that a page can show; the hub's history makes it."""

from __future__ import annotations

from dataclasses import dataclass

LINE_LIMIT = 2_000
_KINDS = {"+": "add", "-": "remove", " ": "same", "@": "hunk"}


@dataclass(frozen=True, slots=True)
class DiffLine:
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
