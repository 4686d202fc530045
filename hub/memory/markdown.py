"""Memory files: Markdown that people write and read, taken apart into passages; entries of ours in a form of their own.

An entry is a list item whose last line says where it came from:

    - The boiler was serviced on 12 May
      _fact · 2026-05-12 14:03 · from me in `agent:main:main`_
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import datetime, tzinfo

from hub.memory.contract import Entry, Kind

PASSAGE_LIMIT = 700
"""Characters of a passage; longer paragraphs are cut at their lines."""

_ITEM = re.compile(r"(?:[-*+]|\d{1,9}[.)])\s")
_HEADING = re.compile(r"(#{1,6})\s+(.*?)\s*#*$")
_SOURCE = re.compile(
    r"\s+_(?P<kind>fact|preference|decision|person|todo) · (?P<time>\d{4}-\d\d-\d\d \d\d:\d\d)"
    r" · from (?P<person>\S+) in `(?P<session>[^`]*)`(?P<untrusted> · untrusted)?_\s*"
)
_NOBODY = "someone"
_CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f\u2028\u2029\x85\ud800-\udfff]+")


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece of a memory file.

    Attributes:
        start_line, end_line: From 1, inclusive; the line that tells the source is counted.
        text: What it says, without list mark and source.
        heading: The heading it stands under.
        is_item: Whether it is a list item, which can be forgotten on its own.
        kind: What sort of thing it is, for entries of ours.
        day: `YYYY-MM-DD` of its source.
        trusted: False for what its source calls untrusted.
    """

    start_line: int
    end_line: int
    text: str
    heading: str = ""
    is_item: bool = False
    kind: str | None = None
    day: str | None = None
    trusted: bool = True


def passages(text: str) -> list[Passage]:
    """Take a memory file apart; headings are no passages but stand with those below them."""
    found: list[Passage] = []
    heading = ""
    lines = text.split("\n")
    at = 0
    while at < len(lines):
        line = lines[at]
        if title := _HEADING.fullmatch(line.rstrip()):
            heading, at = title[2], at + 1
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
    return found


def format_entry(entry: Entry, zone: tzinfo) -> str:
    """Return an entry as Markdown; whatever its text holds, it is one item and its source is ours."""
    lines = [_CONTROL.sub(" ", line).strip() for line in entry.text.split("\n")]
    lines = [f"\\{line}" if _SOURCE.fullmatch(f" {line}") else line for line in lines if line] or ["(nothing)"]
    quote = "" if entry.provenance.trusted else "> "
    first, *others = [f"{quote}{line}" for line in lines]
    return "\n".join([f"- {first}", *(f"  {line}" for line in others), f"  {_source(entry, zone)}"]) + "\n"


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
    while end < len(lines) and not ((title := _HEADING.fullmatch(lines[end].rstrip())) and len(title[1]) <= level):
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


def _source(entry: Entry, zone: tzinfo) -> str:
    came = entry.provenance
    when = datetime.fromtimestamp(came.time, zone)
    key = came.session_key.replace("`", "'")
    untrusted = "" if came.trusted else " · untrusted"
    return f"_{entry.kind} · {when:%Y-%m-%d %H:%M} · from {came.person or _NOBODY} in `{key}`{untrusted}_"


def _item_end(lines: list[str], at: int) -> int:
    end = at + 1
    while end < len(lines):
        line = lines[end]
        if _SOURCE.fullmatch(line):
            # What somebody writes right below an entry is no part of it.
            return end + 1
        if not line.strip():
            # A blank line ends the item, unless what follows is indented below it.
            if end + 1 >= len(lines) or not lines[end + 1].startswith(("  ", "\t")) or not lines[end + 1].strip():
                return end
        elif _ITEM.match(line) or _HEADING.fullmatch(line.rstrip()):
            return end
        end += 1
    return end


def _paragraph_end(lines: list[str], at: int) -> int:
    end = at + 1
    while end < len(lines) and lines[end].strip() and not _ITEM.match(lines[end]) and not lines[end].startswith("#"):
        end += 1
    return end


def _item(lines: list[str], at: int, end: int, heading: str) -> list[Passage]:
    source = _SOURCE.fullmatch(lines[end - 1]) if end - 1 > at else None
    said = lines[at : end - 1] if source else lines[at:end]
    said = [_ITEM.sub("", said[0], count=1), *(line.strip() for line in said[1:])]
    pieces = _cut(said, at, heading, is_item=True)
    if len(pieces) == 1 or source:
        # An item is removed and shown whole, with the line that tells its source.
        pieces = [replace(piece, start_line=at + 1, end_line=end) for piece in pieces]
    if source is None:
        return pieces
    return [
        replace(piece, kind=Kind(source["kind"]).value, day=source["time"][:10], trusted=source["untrusted"] is None)
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
    return pieces


def _piece(lines: list[str], begin: int, end: int, at: int, heading: str, is_item: bool) -> Passage:
    text = "\n".join(lines[begin:end]).strip()
    return Passage(at + begin + 1, at + end, text, heading, is_item)


def _find_heading(lines: list[str], heading: str) -> int | None:
    for number, line in enumerate(lines):
        title = _HEADING.fullmatch(line.rstrip())
        if title and title[2].casefold() == heading.casefold():
            return number
    return None
