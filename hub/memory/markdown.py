"""Memory files: Markdown for people, parsed into passages; entries have their own form.

An entry is a list item whose last line says where it came from; one that holds no longer is struck and says since when:

    - The boiler was serviced on 12 May
      _fact · 2026-05-12 14:03 · from me in `agent:main:main`_
    - ~~Anna works at the bakery~~
      _person · 2026-05-12 14:05 · from me in `agent:main:main` · superseded 2026-06-01_
    - We sleep with the window open
      _preference · 2026-05-12 14:03 · from me in `agent:main:main` · also noted 2026-05-01, 2026-05-03_

What a file says of its whole content comes before everything else, see `hub.memory.front_matter`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import date, datetime, tzinfo

from msgspec import Struct
from msgspec.structs import replace

from hub.core.lazy_pattern import LazyPattern
from hub.memory.contract import MemoryEntry, MemoryKind
from hub.memory.front_matter import NO_FRONT_MATTER, FrontMatter, front_matter, is_marked_untrusted, on_one_line

PASSAGE_LIMIT = 700
"""Characters of a passage; longer paragraphs are cut at their lines."""
ALSO_LIMIT = 5
"""Further days that an entry names, the latest."""
NOBODY_NAMED = "someone"
"""Stands where it is not known who said something."""

_ITEM = LazyPattern(r"(?:[-*+]|\d{1,9}[.)])\s")
_HEADING = LazyPattern(r"(#{1,6})\s+(.*)")
_SOURCE = LazyPattern(
    r"\s+_(?P<kind>fact|preference|decision|person|todo) · (?P<time>\d{4}-\d\d-\d\d \d\d:\d\d)"
    r" · from (?P<person>\S+) in `(?P<session>[^`]*)`"
    r"(?P<struck> · superseded (?P<since>\d{4}-\d\d-\d\d))?"
    r"(?: · also noted (?P<also>\d{4}-\d\d-\d\d(?:, \d{4}-\d\d-\d\d)*))?(?P<untrusted> · untrusted)?_\s*"
)
_STRUCK = LazyPattern(r"\s+_superseded (?P<since>\d{4}-\d\d-\d\d)_\s*")
_TILDES = LazyPattern(r"((?:>\s?)*)~~(.*)~~")
_SAID = re.compile(r"(\s*(?:>\s?)*)(.*?)(\s*)\Z")
_NOT_PLAIN = LazyPattern(r"[\s`_]+")


class Passage(Struct, frozen=True):
    """A piece of a memory file.

    Attributes:
        start_line, end_line: From 1, inclusive; the line that tells the source is counted.
        text: Its text, without list mark and source.
        heading: Its heading.
        is_item: Whether it is a list item, which can be forgotten on its own.
        kind: The sort of entry, for our own.
        day: `YYYY-MM-DD` of its source.
        trusted: False for what its source, or its file, calls untrusted; without a source that can be read, for what
            has the mark of such a source anywhere.
        person, session: Properties of its source, or of its file; the person is None when it is not known who it was.
        struck: Whether it holds no longer.
        noted: `YYYY-MM-DD HH:MM` of its source.
        also: Further days on which the same was noted, as `YYYY-MM-DD`.
        superseded: `YYYY-MM-DD` since when it no longer holds, as far as known.
    """

    start_line: int
    end_line: int
    text: str
    heading: str = ""
    is_item: bool = False
    kind: str | None = None
    day: str | None = None
    trusted: bool = True
    person: str | None = None
    session: str | None = None
    struck: bool = False
    noted: str | None = None
    also: tuple[str, ...] = ()
    superseded: str | None = None


def passages(text: str) -> list[Passage]:
    """Split a memory file into passages; headings are attached to the passages below them."""
    found: list[Passage] = []
    heading = ""
    front, first = front_matter(text)
    lines = text.split("\n")
    at = first - 1
    while at < len(lines):
        line = lines[at]
        if (title := _heading(line)) is not None:
            heading, at = title[1], at + 1
        elif not line.strip():
            at += 1
        elif _ITEM.match(line):
            end = _item_end(lines, at)
            found.extend(_item(lines, at, end, heading))
            at = end
        else:
            end = _paragraph_end(lines, at)
            found.extend(_cut(lines[at:end], at, heading, is_item=False))
            at = end
    return found if front is NO_FRONT_MATTER else [_within(front, passage) for passage in found]


def whole_items(text: str) -> list[Passage]:
    """Return the list items of a file, unsplit even if they are longer than a passage."""
    found: list[Passage] = []
    for passage in passages(text):
        if not passage.is_item:
            continue
        if found and (found[-1].start_line, found[-1].end_line) == (passage.start_line, passage.end_line):
            found[-1] = replace(found[-1], text=f"{found[-1].text}\n{passage.text}")
        else:
            found.append(passage)
    return found


def format_entry(entry: MemoryEntry, zone: tzinfo) -> str:
    """Return an entry as Markdown: always one item, with a source line that its text cannot fake."""
    lines = [on_one_line(line).strip() for line in entry.text.split("\n")]
    lines = [_harmless(line) for line in lines if line] or ["(nothing)"]
    quote = "" if entry.provenance.trusted else "> "
    first, *others = [f"{quote}{line}" for line in lines]
    return "\n".join([f"- {first}", *(f"  {line}" for line in others), f"  {_source(entry, zone)}"]) + "\n"


def without_sources(text: str) -> str:
    """Return a text in which no line can be mistaken for the source of an entry."""
    return "\n".join(f"{line[: len(line) - len(line.lstrip())]}{_harmless(line.lstrip())}" for line in text.split("\n"))


def struck(text: str, wanted: Iterable[Passage], day: date) -> str:
    """Return a file with list items struck, each with the date; every other byte stays.

    Args:
        text: The file.
        wanted: Items of it, not struck yet.
        day: Since when they hold no longer.
    """
    lines = text.split("\n")
    for passage in sorted(wanted, key=lambda each: each.start_line, reverse=True):
        at, end = passage.start_line - 1, passage.end_line
        source = _SOURCE.fullmatch(lines[end - 1]) if end - 1 > at else None
        last = end - 1 if source else end
        lines[at:last] = [_through(line, is_first=number == 0) for number, line in enumerate(lines[at:last])]
        if source:
            # Right behind the session, where nothing that was remembered can stand.
            behind = source.end("session") + 1
            lines[last] = f"{lines[last][:behind]} · superseded {day:%Y-%m-%d}{lines[last][behind:]}"
        else:
            cr = "\r" if lines[last - 1].endswith("\r") else ""
            lines.insert(last, f"  _superseded {day:%Y-%m-%d}_{cr}")
    return "\n".join(lines)


def said_anew(text: str, passage: Passage, said: str) -> tuple[str, int]:
    """Return a file in which an item with a source says something else and is not struck, and the line it begins at.

    Args:
        text: The file.
        passage: The item.
        said: What it says now.
    """
    lines = text.split("\n")
    at, last = passage.start_line - 1, lines[passage.end_line - 1]
    quote = "" if passage.trusted else "> "
    first, *others = [f"{quote}{_harmless(line)}" for line in map(on_one_line, said.split("\n")) if line.strip()]
    source = _SOURCE.fullmatch(last)
    if source is not None and source["struck"]:
        last = last.replace(source["struck"], "", 1)
    lines[at : passage.end_line] = [f"- {first}", *(f"  {line.strip()}" for line in others), last]
    return "\n".join(lines), passage.start_line


def with_further_days(item: str, days: Iterable[str]) -> str:
    """Return an entry as Markdown, with further days of the same note in its source.

    Args:
        item: The entry, with the line that tells its source; without one nothing is changed.
        days: The days, as `YYYY-MM-DD`; of many, the latest are named, beside those that are named already.
    """
    lines = item.split("\n")
    at = max((number for number, line in enumerate(lines) if _SOURCE.fullmatch(line)), default=None)
    if at is None or (source := _SOURCE.fullmatch(lines[at])) is None:
        return item
    known = source["also"].split(", ") if source["also"] else []
    named = sorted({*known, *days} - {source["time"][:10]})[-ALSO_LIMIT:]
    if named:
        line = lines[at].replace(f" · also noted {source['also']}", "", 1)
        behind = source.end("struck") if source["struck"] else source.end("session") + 1
        lines[at] = f"{line[:behind]} · also noted {', '.join(named)}{line[behind:]}"
    return "\n".join(lines)


def insert_under(text: str, heading: str, item: str) -> tuple[str, int]:
    """Return a file with an item added at the end of the section under `## heading`, and the line it begins at.

    The section is made at the end when there is none; everything else stays as it is.
    """
    lines = text.split("\n")
    begin = _find_heading(lines, heading)
    if begin is None:
        body = text.rstrip("\n")
        before = (f"{body}\n\n" if body else "") + f"## {heading}\n\n"
        return before + item, before.count("\n") + 1
    end = begin + 1
    level = len(lines[begin]) - len(lines[begin].lstrip("#"))
    while end < len(lines) and not ((title := _heading(lines[end])) and title[0] <= level):
        end += 1
    while end > begin + 1 and not lines[end - 1].strip():
        end -= 1
    gap = [""] if end == begin + 1 else []
    fresh = [*lines[:end], *gap, *item.rstrip("\n").split("\n"), *lines[end:]]
    return "\n".join(fresh) + ("" if fresh[-1] == "" else "\n"), end + len(gap) + 1


def without_lines(text: str, spans: list[tuple[int, int]]) -> str:
    """Return a file without some lines (from 1, inclusive), every other byte as it was."""
    gone = {number for start, end in spans for number in range(start, end + 1)}
    kept = text.split("\n")
    last = len(kept)
    parts = [line + ("\n" if number < last else "") for number, line in enumerate(kept, start=1) if number not in gone]
    return "".join(parts)


def _source(entry: MemoryEntry, zone: tzinfo) -> str:
    came = entry.provenance
    when = datetime.fromtimestamp(came.time, zone)
    key = on_one_line(came.session_key).replace("`", "'")
    untrusted = "" if came.trusted else " · untrusted"
    person = _NOT_PLAIN.sub("-", came.person or "") or NOBODY_NAMED
    return f"_{entry.kind} · {when:%Y-%m-%d %H:%M} · from {person} in `{key}`{untrusted}_"


def _within(front: FrontMatter, passage: Passage) -> Passage:
    return replace(
        passage,
        trusted=passage.trusted and front.trusted,
        person=passage.person if passage.kind else front.person,
        session=passage.session if passage.kind else front.session,
    )


def _harmless(line: str) -> str:
    return f"\\{line}" if _SOURCE.fullmatch(f" {line}") or _STRUCK.fullmatch(f" {line}") else line


def _through(line: str, *, is_first: bool) -> str:
    """Return a line of an item with its text struck."""
    mark = _ITEM.match(line) if is_first else None
    begin = mark.end() if mark else 0
    said = _SAID.match(line, begin)
    if said is None or not said[2]:
        return line
    return f"{line[:begin]}{said[1]}~~{said[2]}~~{said[3]}"


def _whole(line: str) -> str:
    """Return a line without its strike-through."""
    found = _TILDES.fullmatch(line)
    return found[1] + found[2] if found else line


def _item_end(lines: list[str], at: int) -> int:
    end = at + 1
    while end < len(lines):
        line = lines[end]
        if _SOURCE.fullmatch(line) or _STRUCK.fullmatch(line):
            # What somebody writes right below an entry is not part of it.
            return end + 1
        if not line.strip():
            # A blank line ends the item, unless what follows is indented below it.
            if end + 1 >= len(lines) or not lines[end + 1].startswith(("  ", "\t")) or not lines[end + 1].strip():
                return end
        elif _ITEM.match(line) or _heading(line):
            return end
        end += 1
    return end


def _paragraph_end(lines: list[str], at: int) -> int:
    end = at + 1
    while end < len(lines) and lines[end].strip() and not _ITEM.match(lines[end]) and not lines[end].startswith("#"):
        end += 1
    return end


def _item(lines: list[str], at: int, end: int, heading: str) -> list[Passage]:
    last = lines[end - 1] if end - 1 > at else ""
    source, since = _SOURCE.fullmatch(last), _STRUCK.fullmatch(last)
    is_struck = since is not None
    said = lines[at : end - 1] if source or is_struck else lines[at:end]
    said = [_ITEM.sub("", said[0], count=1), *(line.strip() for line in said[1:])]
    is_struck = is_struck or (source is not None and source["struck"] is not None)
    if not is_struck and source is None:
        # By hand, people strike without saying when.
        is_struck = all(_TILDES.fullmatch(line.strip()) for line in said if line.strip())
    if is_struck:
        said = [_whole(line.strip()) for line in said]
    pieces = _cut(said, at, heading, is_item=True)
    if len(pieces) == 1 or source or is_struck:
        # An item is removed and shown whole, with the line that tells its source.
        day = since["since"] if since else source["since"] if source else None
        pieces = [replace(piece, start_line=at + 1, end_line=end, struck=is_struck, superseded=day) for piece in pieces]
    if source is None:
        return pieces
    person = source["person"] if source["person"] != NOBODY_NAMED else None
    return [
        replace(
            piece,
            kind=MemoryKind(source["kind"]).value,
            day=source["time"][:10],
            trusted=source["untrusted"] is None,
            person=person,
            session=source["session"],
            noted=source["time"],
            also=tuple(source["also"].split(", ")) if source["also"] else (),
        )
        for piece in pieces
    ]


def _cut(lines: list[str], at: int, heading: str, *, is_item: bool) -> list[Passage]:
    pieces: list[Passage] = []
    begin, size = 0, 0
    for number, line in enumerate(lines):
        if number > begin and size + len(line) > PASSAGE_LIMIT:
            pieces.append(_piece(lines, begin, number, at, heading, is_item))
            begin, size = number, 0
        size += len(line) + 1
    pieces.append(_piece(lines, begin, len(lines), at, heading, is_item))
    if is_marked_untrusted("\n".join(lines)):
        return [replace(piece, trusted=False) for piece in pieces]
    return pieces


def _piece(lines: list[str], begin: int, end: int, at: int, heading: str, is_item: bool) -> Passage:
    text = "\n".join(lines[begin:end]).strip()
    return Passage(at + begin + 1, at + end, text, heading, is_item)


def _find_heading(lines: list[str], heading: str) -> int | None:
    for number, line in enumerate(lines):
        title = _heading(line)
        if title and title[1].casefold() == heading.casefold():
            return number
    return None


def _heading(line: str) -> tuple[int, str] | None:
    """Return level and text of a heading, without the marks that may close it; None for any other line."""
    found = _HEADING.fullmatch(line.rstrip())
    return (len(found[1]), found[2].rstrip().rstrip("#").rstrip()) if found else None
