"""Cutting a long text into messages that a channel takes: at paragraphs, lines, sentences, words, in that order.

A fenced code block that is cut is closed in the one piece and reopened in the next.
"""

from __future__ import annotations

import re
from enum import StrEnum

from hub.messaging.contract import TextUnit

_FENCE = re.compile(r"^(?P<mark>`{3,}|~{3,})(?P<info>[^\n`]*)$", re.MULTILINE)
_Fence = tuple[str, str] | None
_PARAGRAPH, _LINE, _SENTENCE, _WORD = ("\n\n",), ("\n",), (". ", "。", "! ", "? ", "！", "？"), (" ",)
_BREAKS = (*_PARAGRAPH, *_LINE, *_SENTENCE, *_WORD)
_FENCE_ROOM = 40
SMALLEST_LIMIT = 64
LOOK_CHARS = 256
"""After so many characters a growing text is looked at, even if no sentence of it ends."""


class ChunkMode(StrEnum):
    """Where a text is cut: only where necessary, or at every blank line too."""

    LENGTH = "length"
    NEWLINE = "newline"


class BlockBreak(StrEnum):
    """Where a block of a text that grows may end; each includes those before it."""

    PARAGRAPH = "paragraph"
    NEWLINE = "newline"
    SENTENCE = "sentence"


def chunk(
    text: str,
    limit: int,
    unit: TextUnit = TextUnit.CHARACTERS,
    mode: ChunkMode = ChunkMode.LENGTH,
    lines: int = 0,
) -> list[str]:
    """Return `text` in pieces of at most `limit` units; nothing but white space at the cuts is lost.

    Args:
        text: The text to send.
        limit: The longest text a channel takes, at least 64.
        unit: The channel's unit of length.
        mode: Whether every paragraph is a message of its own; a block of code is one paragraph.
        lines: The most lines of a piece, at least 3; 0 for any number.

    Raises:
        ValueError: The limit is too small to cut sensibly.
    """
    if limit < SMALLEST_LIMIT:
        raise ValueError(f"a text limit under {SMALLEST_LIMIT} cannot be kept")
    if mode is ChunkMode.NEWLINE:
        return [piece for each in paragraphs(text) for piece in chunk(each, limit, unit, lines=lines)]
    pieces: list[str] = []
    rest = text.strip()
    reopen = ""
    while rest:
        rest = reopen + rest
        if len(rest) <= min(_fitting(rest, limit, unit), _end_of_line(rest, lines)):
            pieces.append(rest)
            break
        most = _fitting(rest, limit - _FENCE_ROOM // 4, unit)
        if lines:  # one is left for the end of a block of code
            most = min(most, _end_of_line(rest, lines - 1) + 1)
        cut = _cut_at(rest, most, smallest=len(reopen) + 1)
        piece, rest = rest[:cut].rstrip(), rest[cut:].lstrip("\n") if reopen else rest[cut:].lstrip()
        fence = open_fence(piece)
        if fence is None:
            reopen = ""
        else:
            mark, info = fence
            piece = f"{piece}\n{mark}"
            reopen = f"{mark}{info}\n"
        pieces.append(piece)
    return pieces


def paragraphs(text: str) -> list[str]:
    """Return a text cut at its blank lines outside of fenced code."""
    found: list[list[str]] = [[]]
    fence: _Fence = None
    for line in text.split("\n"):
        if fence is None and not line.strip():
            found.append([])
            continue
        if match := _FENCE.match(line):
            fence = _after(fence, match)
        found[-1].append(line)
    return ["\n".join(lines) for lines in found if lines]


def block_end(text: str, start: int, least: int, most: int, break_at: BlockBreak) -> int | None:
    """Return the end of the next block of a growing text, or None while there is no good place.

    Below `most` characters it ends at a suitable break, outside of fenced code; at `most` it ends anyway.

    Args:
        text: All there is so far.
        start: The start of the block.
        least: The fewest characters of a block.
        most: The most.
        break_at: The weakest suitable break.
    """
    there = len(text) - start
    if there < least:
        return None
    groups = (_PARAGRAPH, _LINE, _SENTENCE, _WORD)
    wanted = groups if there >= most else groups[: list(BlockBreak).index(break_at) + 1]
    for group in wanted:
        if (end := _last_break(text, start + least, start + min(there, most), group)) is not None:
            return end
    return start + _cut_at(text[start:], most, smallest=1) if there >= most else None


def may_end_block(text: str, added: int) -> bool:
    """Whether the last `added` characters of a growing text may have finished a block, which is cheap to ask."""
    start = len(text) - added
    tail = text[max(0, start - 1) :]
    return any(each in tail for each in (*_LINE, *_SENTENCE)) or start // LOOK_CHARS != len(text) // LOOK_CHARS


def sentence_end(text: str, start: int, most: int) -> int | None:
    """Return the end of the last whole sentence of a growing text, or None if there is none.

    Args:
        text: All there is so far.
        start: Only what follows it counts.
        most: The most characters.
    """
    end = _last_break(f"{text} ", start + 1, start + most, (*_PARAGRAPH, *_LINE, *_SENTENCE))
    return None if end is None else min(end, len(text))


def close_fence(text: str) -> str:
    """Return a text with an open code fence closed."""
    fence = open_fence(text)
    return text if fence is None else f"{text.rstrip()}\n{fence[0]}"


def length(text: str, unit: TextUnit) -> int:
    """Return the length of a text in a platform's unit."""
    match unit:
        case TextUnit.BYTES:
            return len(text.encode(errors="replace"))
        case TextUnit.UTF16:
            return len(text.encode("utf-16-le", errors="replace")) // 2
    return len(text)


def open_fence(text: str) -> tuple[str, str] | None:
    """Return mark and info of the code fence that is open at the end of `text`."""
    current: _Fence = None
    for match in _FENCE.finditer(text):
        current = _after(current, match)
    return current


def _after(current: _Fence, match: re.Match[str]) -> _Fence:
    """Return the fence that is open behind a line that looks like one."""
    mark, info = match["mark"], match["info"].strip()
    if current is None:
        return mark[:10], info if len(info) <= _FENCE_ROOM // 2 else ""
    closes = mark[0] == current[0][0] and len(mark) >= len(current[0]) and not info
    return None if closes else current


def _last_break(text: str, first: int, last: int, separators: tuple[str, ...]) -> int | None:
    """Return the last end of a separator between two positions, outside of fenced code."""
    fenced: list[tuple[int, int]] = []
    current: _Fence = None
    for match in _FENCE.finditer(text):
        behind = _after(current, match)
        if current is None:
            fenced.append((match.start(), len(text) + 1))
        elif behind is None:
            fenced[-1] = (fenced[-1][0], match.end())
        current = behind
    pattern = "|".join(map(re.escape, separators))
    ends = (match.end() for match in re.finditer(pattern, text[:last]))
    found = (end for end in ends if end >= first and not any(begin < end < until for begin, until in fenced))
    return max(found, default=None)


def _fitting(text: str, limit: int, unit: TextUnit) -> int:
    """Return how many characters at the beginning of `text` fit into `limit` units, at most `limit`."""
    if unit is TextUnit.CHARACTERS:
        return limit
    start = text[:limit]
    if unit is TextUnit.BYTES:
        return len(start.encode(errors="replace")[:limit].decode(errors="ignore"))
    return len(start.encode("utf-16-le", errors="replace")[: 2 * limit].decode("utf-16-le", errors="ignore"))


def _end_of_line(text: str, number: int) -> int:
    """Return where the line of a number, from 1, ends; the end of the text when there are fewer, or for 0."""
    return len("\n".join(text.split("\n", number)[:number])) if number else len(text)


def _cut_at(text: str, limit: int, smallest: int) -> int:
    window = text[:limit]
    for separator in _BREAKS:
        position = window.rfind(separator)
        if position >= max(smallest, limit // 4):
            return position + len(separator)
    return max(limit, smallest)
