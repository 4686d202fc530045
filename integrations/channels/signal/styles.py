"""Text in Signal's styles: plain text, and ranges in it, counted in UTF-16 units. Pure."""

from __future__ import annotations

import re

from hub.messaging.contract import TextUnit
from hub.messaging.outbox.chunking import length
from hub.messaging.outbox.markup import Flavour, render

_BEGINS = {"\x02": "BOLD", "\x04": "ITALIC", "\x06": "STRIKETHROUGH", "\x0e": "MONOSPACE"}
_ENDS = {chr(ord(mark) + 1): style for mark, style in _BEGINS.items()}
_MARK = re.compile(f"([{''.join([*_BEGINS, *_ENDS])}])")


def styled(markdown: str) -> tuple[str, list[str]]:
    """Return a text without marks, and its styles as signal-cli takes them: `START:LENGTH:STYLE`."""
    text, styles, begun, at = "", [], dict[str, int](), 0
    for piece in _MARK.split(render(markdown, Flavour.RANGES)):
        if piece in _BEGINS:
            begun[_BEGINS[piece]] = at
        elif piece in _ENDS:
            start = begun.pop(_ENDS[piece])
            if at > start:
                styles.append(f"{start}:{at - start}:{_ENDS[piece]}")
        else:
            text, at = text + piece, at + length(piece, TextUnit.UTF16)
    return text, styles
