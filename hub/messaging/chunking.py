"""Cutting a long text into messages that a channel takes: at paragraphs, lines, sentences, words, in that order.

A fenced code block that is cut is closed in the one piece and opened again in the next.
"""

from __future__ import annotations

import re

from hub.messaging.contract import TextUnit

_FENCE = re.compile(r"^(?P<mark>`{3,}|~{3,})(?P<info>[^\n`]*)$", re.MULTILINE)
_BREAKS = ("\n\n", "\n", ". ", "。", "! ", "? ", "！", "？", " ")
_FENCE_ROOM = 40
SMALLEST_LIMIT = 64


def chunk(text: str, limit: int, unit: TextUnit = TextUnit.CHARACTERS) -> list[str]:
    """Return `text` in pieces of at most `limit` units; nothing but white space at the cuts is lost.

    Args:
        text: The text to send.
        limit: The longest text a channel takes, at least 64.
        unit: What the channel counts.

    Raises:
        ValueError: The limit is too small to cut sensibly.
    """
    if limit < SMALLEST_LIMIT:
        raise ValueError(f"a text limit under {SMALLEST_LIMIT} cannot be kept")
    pieces: list[str] = []
    rest = text.strip()
    reopen = ""
    while rest:
        rest = reopen + rest
        if len(rest) <= _fitting(rest, limit, unit):
            pieces.append(rest)
            break
        cut = _cut_at(rest, _fitting(rest, limit - _FENCE_ROOM // 4, unit), smallest=len(reopen) + 1)
        piece, rest = rest[:cut].rstrip(), rest[cut:].lstrip("\n") if reopen else rest[cut:].lstrip()
        fence = _open_fence(piece)
        if fence is None:
            reopen = ""
        else:
            mark, info = fence
            piece = f"{piece}\n{mark}"
            reopen = f"{mark}{info}\n"
        pieces.append(piece)
    return pieces


def _fitting(text: str, limit: int, unit: TextUnit) -> int:
    """Return how many characters at the beginning of `text` fit into `limit` units, at most `limit`."""
    if unit is TextUnit.CHARACTERS:
        return limit
    start = text[:limit]
    if unit is TextUnit.BYTES:
        return len(start.encode(errors="replace")[:limit].decode(errors="ignore"))
    return len(start.encode("utf-16-le", errors="replace")[: 2 * limit].decode("utf-16-le", errors="ignore"))


def _cut_at(text: str, limit: int, smallest: int) -> int:
    window = text[:limit]
    for separator in _BREAKS:
        position = window.rfind(separator)
        if position >= max(smallest, limit // 4):
            return position + len(separator)
    return max(limit, smallest)


def _open_fence(text: str) -> tuple[str, str] | None:
    """Return mark and info of the code fence that is open at the end of `text`."""
    current: tuple[str, str] | None = None
    for match in _FENCE.finditer(text):
        mark, info = match["mark"], match["info"].strip()
        if current is None:
            current = (mark[:10], info if len(info) <= _FENCE_ROOM // 2 else "")
        elif mark[0] == current[0][0] and len(mark) >= len(current[0]) and not info:
            current = None
    return current
