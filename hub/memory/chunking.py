"""Cuts a memory file into the passages that are indexed: entries one by one, prose in pieces of about the same size.

Pure, and linear in the size of the text whatever it holds: files come from anywhere.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from datetime import date
from pathlib import PurePosixPath

from msgspec import Struct
from msgspec.structs import replace

from hub.memory.dates import marks_of_day, search_marks
from hub.memory.front_matter import FrontMatter, front_matter, is_marked_untrusted
from hub.memory.markdown import Passage, whole_items
from hub.memory.outline import HEADING_LIMIT, OutlineRun, outline
from hub.memory.packing import TOKEN_WEIGHT, PackedCut, Piece, atoms_of, pack, weight_of
from hub.memory.places import day_of

CUT_VERSION = 5
"""Goes up whenever the same file gives other passages, words or dates than before, whatever the reason: a rule here, in
`markdown`, `front_matter`, `outline`, `packing`, `dates`, `words` or `traditional`. Every index is then rebuilt
beside the old."""
EMBEDDED_HEADINGS = 3
"""Of the headings a passage stands under, how many of the nearest are embedded with it."""

_DATE = re.compile(r"\d{4}-\d\d-\d\d")


class Chunk(Struct, frozen=True):
    """A passage of the index.

    Attributes:
        start_line, end_line: From 1, inclusive; of an entry with the line that tells its source.
        text: Its text, line for line as in the file; of an entry without list mark and source.
        title: The file's.
        headings: Its headings, the outermost first, without the title.
        kind, person, session: As its source line or the file's front matter says.
        day: `YYYY-MM-DD` on which it was said, or that the file or a heading is about.
        trusted: Whether it came from this home's people.
        marks: Dates in it and of it, see `hub.memory.dates`.
    """

    start_line: int
    end_line: int
    text: str
    title: str
    headings: tuple[str, ...] = ()
    kind: str | None = None
    person: str | None = None
    session: str | None = None
    day: str | None = None
    trusted: bool = True
    marks: tuple[str, ...] = ()

    @property
    def embed_text(self) -> str:
        """The text that is embedded: the passage with its headings, without titles that are dates."""
        above = [self.title, *self.headings[-EMBEDDED_HEADINGS:]]
        head = " › ".join(each for each in above if each and not _DATE.fullmatch(each))
        return f"{head}\n{self.text}" if head else self.text

    @property
    def digest(self) -> str:
        """Hash of its indexed content, without its place in the file."""
        parts = (
            *(self.text, self.title, "\x1f".join(self.headings), "\x1f".join(self.marks)),
            *(self.kind or "", self.person or "", self.session or "", self.day or "", str(self.trusted)),
        )
        return hashlib.sha256("\x1e".join(parts).encode("utf-8", "surrogatepass")).hexdigest()


def chunk(path: str, text: str, *, tokens: int = 200, overlap: int = 40, trusted: bool = True) -> list[Chunk]:
    """Cut a file into passages.

    An entry with a source line is a passage of its own, so that what came from different people never mixes; one that
    was struck is left out. Other text is cut at headings and packed by paragraphs.

    Args:
        path: Its name may give the day, and the title of a file without a heading.
        text: The file.
        tokens: About how long a passage is.
        overlap: How much of a passage the next one repeats, at most half of `tokens`.
        trusted: Whether its place is; a file may declare itself untrusted, never trusted. In an untrusted
            place, no source line is believed.
    """
    limit, repeated = max(1, tokens) * TOKEN_WEIGHT, min(max(0, overlap), tokens // 2) * TOKEN_WEIGHT
    lines = text.split("\n")
    front, first = front_matter(text)
    if not trusted:
        front = replace(front, person=None, session=None)
    entries = _entries(lines)
    taken = {line for entry in entries.values() for line in range(entry.start_line, entry.end_line + 1)}
    title, runs = outline(lines, first, taken, max(TOKEN_WEIGHT, limit // 4))
    whole = _Whole(
        front.title or title or PurePosixPath(path).stem,
        day_of(path),
        front,
        trusted and front.trusted,
        trusted,
    )
    found: list[Chunk] = []
    for run in runs:
        if run.atoms:
            found.extend(whole.prose(run, piece) for piece in pack(run.atoms, limit, repeated))
        elif (entry := entries.get(run.line)) is not None and not entry.struck:
            found.extend(whole.entry(run, entry, piece) for piece in _cut(entry, limit, repeated))
    if not found and title and not _DATE.fullmatch(title):
        at = next((number for number, line in enumerate(lines, start=1) if title in line), 1)
        found.append(whole.prose(OutlineRun((), at), Piece(at, at, title)))
    return found


def tokens_in(text: str) -> int:
    """Estimate the tokens of a text: one for about four characters, and one for each Chinese one."""
    return -(-weight_of(text) // TOKEN_WEIGHT)


class _Whole(Struct, frozen=True):
    """Facts about all passages of a file; in an untrusted file, entries cannot vouch for themselves."""

    title: str
    day: date | None
    front: FrontMatter
    trusted: bool
    vouched: bool

    def prose(self, run: OutlineRun, piece: Piece) -> Chunk:
        dated = next((day for heading in reversed(run.headings) if (day := _day_of(heading))), None)
        made = self._chunk(run, piece.start_line, piece.end_line, piece.text, self.day or dated)
        return replace(made, trusted=False) if is_marked_untrusted(piece.text) else made

    def entry(self, run: OutlineRun, entry: Passage, text: str) -> Chunk:
        made = self._chunk(run, entry.start_line, entry.end_line, text, _as_date(entry.day or "") or self.day)
        if not self.vouched:
            return made
        return replace(
            made,
            kind=entry.kind,
            person=entry.person,
            session=entry.session,
            trusted=self.trusted and entry.trusted,
        )

    def _chunk(self, run: OutlineRun, start_line: int, end_line: int, text: str, day: date | None) -> Chunk:
        marks = [*(marks_of_day(day) if day else ()), *search_marks(" ".join([*run.headings, text]))]
        return Chunk(
            start_line,
            end_line,
            text,
            self.title,
            run.headings,
            person=self.front.person,
            session=self.front.session,
            day=day.isoformat() if day else None,
            trusted=self.trusted,
            marks=tuple(dict.fromkeys(marks)),
        )


def _entries(lines: Sequence[str]) -> dict[int, Passage]:
    """Return entries and struck items, by the line they begin at."""
    # A heading is looked at with care for its end, which takes long for a long one.
    bounded = [line[:HEADING_LIMIT] if line.startswith("#") else line for line in lines]
    items = whole_items("\n".join(bounded))
    return {each.start_line: each for each in items if each.kind is not None or each.struck}


def _cut(entry: Passage, limit: int, repeated: int) -> list[str]:
    if weight_of(entry.text) <= limit:
        return [entry.text]
    atoms = [
        atom
        for number, line in enumerate(entry.text.split("\n"))
        for atom in atoms_of(f"{line}\n", number, PackedCut.LINE, max(TOKEN_WEIGHT, limit // 4))
    ]
    return [piece.text for piece in pack(atoms, limit, repeated)]


def _day_of(heading: str) -> date | None:
    match = _DATE.search(heading)
    return _as_date(match[0]) if match else None


def _as_date(text: str) -> date | None:
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None
