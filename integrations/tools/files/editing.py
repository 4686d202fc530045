"""Edits a text by its present content: pure rules, with errors that show the caller's mistake.

An inexact match may differ in spaces and quotes, in nothing else.
"""

from __future__ import annotations

import difflib
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from functools import cache

from msgspec import Struct

from hub.core.errors import InvalidRequest

SHOWN_LINES = 5
LOOKED_THROUGH_LINES = 20_000
COMPARED_LINES = 500
"""Lines among which the nearest is looked for when none fits."""
COMPARED_CHARACTERS = 200
FOLDED_LIMIT = 2_000_000
"""Characters of a text in which spaces and quotes may differ."""

_BLANKS = "\t\u00a0\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"
_SAME = str.maketrans({**dict.fromkeys(_BLANKS, " "), **dict.fromkeys("“”„‟″", '"'), **dict.fromkeys("‘’‚‛′", "'")})
_RUNS = re.compile(r" +\r?\n|\r\n| {2,}")


class Replacement(Struct, frozen=True):
    """A piece of text and what takes its place.

    Attributes:
        everywhere: Whether all of several such pieces are replaced.
    """

    old: str
    new: str
    everywhere: bool = False


class Edited(Struct, frozen=True):
    """A text after its edits.

    Attributes:
        count: Places that were replaced.
        loosely: How many of them differed in spaces or quotes from the given text.
    """

    text: str
    count: int
    loosely: int


def apply_edits(text: str, edits: Sequence[Replacement], path: str, *, quoting: bool = True) -> Edited:
    r"""Return `text` with all edits made; each is looked for in the text as it is before any of them.

    Line ends of the file are kept: what is given with `\n` also fits a file with `\r\n`.

    Args:
        text: The file's content.
        edits: The replacements.
        path: The file, for messages about it.
        quoting: Whether an error may quote the text.

    Raises:
        InvalidRequest: A piece does not occur, or more than once while one place was expected, or two of them overlap.
    """
    crlf = "\r\n" in text
    folded = cache(lambda: fold(text))
    found: list[tuple[int, int, str]] = []
    loosely = 0
    for number, edit in enumerate(edits, start=1):
        which = f"edits[{number - 1}]: " if len(edits) > 1 else ""
        old, new = edit.old, edit.new
        if old == new:
            raise InvalidRequest(f"{which}old_text and new_text are the same; nothing would change")
        if crlf and "\r" not in old:
            old, new = old.replace("\n", "\r\n"), new.replace("\r\n", "\n").replace("\n", "\r\n")
        places = list(_exactly(text, old))
        if not places:
            places = list(_folded_alike(text, old, folded))
            loosely += len(places)
        if not places:
            raise InvalidRequest(f"{which}old_text is not in {path}{nearest(text, old, quoting=quoting)}")
        if len(places) > 1 and not edit.everywhere:
            raise InvalidRequest(
                f"{which}old_text is {len(places)} times in {path} (lines {_line_numbers(text, places)}); take more "
                "of the text around it, or set replace_all"
            )
        found += [(start, end, new) for start, end in places]
    found.sort()
    pieces, at = [], 0
    for start, end, new in found:
        if start < at:
            line = text.count("\n", 0, start) + 1
            raise InvalidRequest(f"two edits of {path} overlap in line {line}; make one of them")
        pieces += [text[at:start], new]
        at = end
    return Edited("".join([*pieces, text[at:]]), len(found), loosely)


def _exactly(text: str, old: str) -> Iterator[tuple[int, int]]:
    at = text.find(old)
    while at >= 0:
        yield at, at + len(old)
        at = text.find(old, at + len(old))


def _folded_alike(text: str, old: str, folded: Callable[[], FoldedText]) -> Iterator[tuple[int, int]]:
    """Yield where `old` is when spaces and quotes may differ."""
    wanted = fold(old).text
    if not wanted.strip() or len(text) > FOLDED_LIMIT:
        return
    for start, end in _exactly(folded().text, wanted):
        yield folded().place(start), folded().place(end)


class FoldedText(Struct, frozen=True):
    """A text with runs of spaces as one space, none at ends of lines, and plain quotes.

    Attributes:
        starts: The starts of its pieces that are as long as in the original.
        places: Their starts in the original.
    """

    text: str
    starts: list[int]
    places: list[int]

    def place(self, at: int) -> int:
        """Return where a position is in the original."""
        piece = bisect_right(self.starts, at) - 1
        return self.places[piece] + at - self.starts[piece]


def fold(text: str) -> FoldedText:
    """Return a text without differences of spaces and quotes."""
    plain = text.translate(_SAME)
    pieces, starts, places = [], [0], [0]
    length = at = 0
    for run in _RUNS.finditer(plain):
        pieces += [plain[at : run.start()], "\n" if run[0][-1] == "\n" else " "]
        length += run.start() - at + 1
        at = run.end()
        starts.append(length)
        places.append(at)
    return FoldedText("".join([*pieces, plain[at:]]), starts, places)


def _line_numbers(text: str, places: Sequence[tuple[int, int]]) -> str:
    shown = [str(text.count("\n", 0, start) + 1) for start, _ in places[:SHOWN_LINES]]
    return ", ".join(shown) + (", …" if len(places) > SHOWN_LINES else "")


def nearest(text: str, old: str, *, quoting: bool) -> str:
    """Say where something like the first line of `old` is."""
    wanted = next((line.strip() for line in old.split("\n") if line.strip()), "")
    lines = text.split("\n")[:LOOKED_THROUGH_LINES]
    for number, line in enumerate(lines, start=1):
        if wanted and line.strip() == wanted:
            said = _quoted(line) if quoting else ""
            return f", but line {number} differs only in its indentation or in what follows{said}. Read the file again"
    near = [line.strip()[:COMPARED_CHARACTERS] for line in lines[:COMPARED_LINES]]
    close = difflib.get_close_matches(wanted[:COMPARED_CHARACTERS], near, n=1, cutoff=0.7)
    if close:
        number = near.index(close[0]) + 1
        return f"; the nearest is line {number}{_quoted(lines[number - 1]) if quoting else ''}"
    return "; read the file again"


def _quoted(line: str) -> str:
    return f": {line[:200]!r}"
