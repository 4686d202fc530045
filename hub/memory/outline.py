"""The outline of a Markdown file: runs of prose with their headings. Linear for any text."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from msgspec import Struct, field

from hub.memory.packing import Atom, PackedCut, atoms_of, weight_of

HEADING_LIMIT = 200
"""Characters of a heading that are kept."""

_MARKS = re.compile(r"(#{1,6})[ \t]")
_ITEM = re.compile(r"\s{0,8}(?:[-*+]|\d{1,9}[.)])\s")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")


class OutlineRun(Struct):
    """Prose without a heading or an entry in it.

    Attributes:
        headings: Its headings, the outermost first.
        atoms: The prose.
        line: Its first line, from 1.
    """

    headings: tuple[str, ...]
    line: int
    atoms: list[Atom] = field(default_factory=list)


def outline(lines: Sequence[str], first: int, taken: Collection[int], largest: int) -> tuple[str, list[OutlineRun]]:
    """Return a file's title (its first heading of the first level, or nothing), and its prose.

    A run is also made, empty, for each line that is taken, so that it is known what follows it.

    Args:
        lines: The file.
        first: Number of the line, from 1, at which it begins; what is before is front matter.
        taken: Lines, from 1, that are not prose.
        largest: Weight of an atom.
    """
    reader = _Reader(lines, first - 1, taken, largest)
    reader.read()
    return reader.title, reader.runs


class _Reader:
    def __init__(self, lines: Sequence[str], at: int, taken: Collection[int], largest: int) -> None:
        self.title = ""
        self.runs: list[OutlineRun] = []
        self._lines = lines
        self._at = at
        self._taken = taken
        self._largest = largest
        self._path: list[tuple[int, str]] = []
        self._run: OutlineRun | None = None
        self._paragraph = True  # whether the next line begins one
        self._unclosed: dict[str, tuple[int, int]] = {}  # fences: none as long as this closes before that line

    def read(self) -> None:
        while self._at < len(self._lines):
            line = self._lines[self._at]
            if self._at + 1 in self._taken:
                self._take()
            elif not line.strip():
                self._blank()
            elif (mark := _MARKS.match(line)) is not None:
                self._heading(len(mark[1]), line)
            elif (end := self._fence_end(line) or self._table_end(line)) is not None:
                self._block(end)
            else:
                how = PackedCut.PARAGRAPH if self._paragraph else PackedCut.LINE
                self._add(line, PackedCut.PARAGRAPH if _ITEM.match(line) else how)
                self._paragraph = False

    def _take(self) -> None:
        self._run, self._paragraph = None, True
        self.runs.append(OutlineRun(self._headings(), self._at + 1))
        self._at += 1

    def _blank(self) -> None:
        if self._run is not None and self._run.atoms:
            self._add("", PackedCut.PARAGRAPH)
        else:
            self._at += 1
        self._paragraph = True

    def _heading(self, level: int, line: str) -> None:
        text = line[level : level + 2 * HEADING_LIMIT].strip().rstrip("#").strip()[:HEADING_LIMIT]
        bare = self._is_bare(level)
        while self._path and self._path[-1][0] >= level:
            self._path.pop()
            self._run = None
        self._paragraph = True
        if level == 1 and not self.title and text:
            self.title = text
            self._path.append((level, ""))
            self._run = None
            self._at += 1
        elif bare:
            # Nothing is below it: what it says is text.
            self._add(line, PackedCut.PARAGRAPH)
        else:
            self._path.append((level, text))
            self._run = None
            self._at += 1

    def _is_bare(self, level: int) -> bool:
        at = self._at + 1
        while at < len(self._lines) and not self._lines[at].strip():
            at += 1
        if at == len(self._lines):
            return True
        mark = _MARKS.match(self._lines[at])
        return mark is not None and len(mark[1]) <= level and at + 1 not in self._taken

    def _fence_end(self, line: str) -> int | None:
        """Return the line after the fence that begins here; None when none does, or it is never closed."""
        opened = _FENCE.match(line)
        if opened is None:
            return None
        sign, length = opened[1][0], len(opened[1])
        least, until = self._unclosed.get(sign, (0, 0))
        if self._at < until and length >= least:
            return None
        at = self._at + 1
        while at < len(self._lines) and at + 1 not in self._taken:
            bare = self._lines[at].strip()
            if len(bare) >= length and bare[0] == sign and bare == sign * len(bare):
                return at + 1
            at += 1
        self._unclosed[sign] = (length, at)
        return None

    def _table_end(self, line: str) -> int | None:
        if not line.lstrip(" ").startswith("|"):
            return None
        at = self._at + 1
        while at < len(self._lines) and at + 1 not in self._taken and self._lines[at].lstrip(" ").startswith("|"):
            at += 1
        return at

    def _block(self, end: int) -> None:
        weight = sum(weight_of(self._lines[at]) + 1 for at in range(self._at, end))
        self._add(self._lines[self._at], PackedCut.PARAGRAPH, block=weight)
        while self._at < end:
            self._add(self._lines[self._at], PackedCut.BLOCK)
        self._paragraph = True

    def _add(self, line: str, cut: PackedCut, *, block: int = 0) -> None:
        if self._run is None:
            self._run = OutlineRun(self._headings(), self._at + 1)
            self.runs.append(self._run)
        self._run.atoms += atoms_of(line.removesuffix("\r") + "\n", self._at + 1, cut, self._largest, block)
        self._at += 1

    def _headings(self) -> tuple[str, ...]:
        return tuple(text for _, text in self._path if text)
