"""The heading "To be settled": contradicting pairs of entries, for a person to decide. Pure.

    ## To be settled

    Strike or change the one that is wrong. Strike the question when both are right.

    - Which of the two holds?
      “The boiler man comes on Tuesday” (MEMORY.md, 2026-05-12)
      “The boiler man comes on Thursday” (memory/2026-06-01.md, 2026-06-01)

A question disappears with either of its two entries; a struck question means that both are valid.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from msgspec import Struct

from hub.memory.markdown import insert_under, passages, without_lines

TO_BE_SETTLED = "To be settled"
HINT = "Strike or change the one that is wrong. Strike the question when both are right."
QUESTION = "- Which of the two holds?"
SHOWN_LIMIT = 250

_SIDE = re.compile(r"(?:~~)?“(.*)” \((.*)\)(?:~~)?")
_HEADING = re.compile(rf"(#{{1,6}})\s+{TO_BE_SETTLED}\s*#*\s*")
_ANY_HEADING = re.compile(r"(#{1,6})\s+\S")


class Side(Struct, frozen=True):
    """One of two entries that do not agree: its text on one line, and its place."""

    shown: str
    where: str


class Mark(Struct, frozen=True):
    """A marked pair.

    Attributes:
        sides: The two texts, as shown.
        start_line, end_line: Its lines, from 1, inclusive.
        both_hold: Whether the question was struck.
    """

    sides: frozenset[str]
    start_line: int
    end_line: int
    both_hold: bool


def one_line(text: str) -> str:
    """Return a text on one line, shortened."""
    line = " ".join(text.split())
    return line if len(line) <= SHOWN_LIMIT else f"{line[: SHOWN_LIMIT - 1].rstrip()}…"


def marks_in(text: str) -> list[Mark]:
    """Return the marks of a file."""
    found = []
    for passage in passages(text):
        if passage.heading != TO_BE_SETTLED or not passage.is_item:
            continue
        question, *lines = passage.text.split("\n")
        sides = frozenset(side[1] for line in lines if (side := _SIDE.fullmatch(line.strip())))
        if len(sides) == 2:
            both_hold = passage.struck or question.startswith("~~")
            found.append(Mark(sides, passage.start_line, passage.end_line, both_hold))
    return found


def with_marks(text: str, gone: Iterable[Mark], fresh: Sequence[tuple[Side, Side]], title: str) -> str:
    """Return a file with marks removed and added; the heading stays while anything is under it.

    Args:
        text: The file; "" for a new one.
        gone: Its marks to remove.
        fresh: Pairs to be marked.
        title: The first line of a new file.
    """
    if spans := [(mark.start_line, mark.end_line) for mark in gone]:
        text = without_lines(text, spans)
        if not fresh:
            text = _without_empty_heading(text)
    for pair in fresh:
        item = "\n".join([QUESTION, *(f"  “{side.shown}” ({side.where})" for side in pair)]) + "\n"
        if any(_HEADING.fullmatch(line) for line in text.split("\n")):
            text, _ = insert_under(text, TO_BE_SETTLED, item)
        else:
            body = text.rstrip("\n") or ("" if title == f"# {TO_BE_SETTLED}" else title)
            level = "##" if body else "#"
            text = f"{body}\n\n" if body else ""
            text += f"{level} {TO_BE_SETTLED}\n\n{HINT}\n\n{item}"
    return text


def _without_empty_heading(text: str) -> str:
    lines = text.split("\n")
    at = next((number for number, line in enumerate(lines) if _HEADING.fullmatch(line)), None)
    if at is None:
        return text
    end = at + 1
    while end < len(lines) and not _ANY_HEADING.match(lines[end]):
        end += 1
    if any(line.strip() not in ("", HINT) for line in lines[at + 1 : end]):
        return text
    before, after = lines[:at], lines[end:]
    if not any(line.strip() for line in after):
        return "\n".join(before).rstrip("\n") + "\n" if any(line.strip() for line in before) else ""
    return "\n".join([*before, *after])
