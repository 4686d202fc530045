"""Converts rendered text to numbers, lists and booleans, by Home Assistant's rules."""

from __future__ import annotations

import re
from ast import literal_eval
from functools import lru_cache
from typing import Any

PARSED_CHARS = 16_384
"""Longer results stay text: reading a literal takes time."""
CACHED_CHARS = 64
"""Results up to this length are remembered when they are plain values."""

_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)?(?:(?<=[0-9])\.[0-9]*|\.[0-9]+)?")
_WORDS = {"True": True, "False": False, "None": None}
_OPENS_LITERAL = frozenset("([{'\"bBsrRuU-.0123456789")
_TRUE = frozenset({"1", "true", "yes", "on", "enable"})


def parse_result(text: str) -> Any:
    """Return the value of a rendered text, or the text itself.

    `0x1f`, `007`, `+5`, `1_000`, `1e3` and quoted texts stay texts: they are more often codes, telephone numbers and
    words than numbers.
    """
    if text in _WORDS:
        return _WORDS[text]
    if not text or text[0] not in _OPENS_LITERAL or len(text) > PARSED_CHARS:
        return text
    if text[0] in "-.0123456789" and "," not in text:
        return _number(text)
    value = _read(text)
    return text if isinstance(value, str | int | float | complex) else value


@lru_cache(maxsize=1024)
def _number(text: str) -> int | float | str:
    if len(text) > CACHED_CHARS or not _NUMBER.fullmatch(text) or text in {"-", "."}:
        return text
    try:
        return float(text) if "." in text else int(text)
    except ValueError:
        return text


def _read(text: str) -> Any:
    try:
        return literal_eval(text)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return text


def as_bool(value: Any) -> bool:
    """Whether the result of a condition is true: `true`, `yes`, `on`, `enable`, `1`, or a number that is not zero."""
    if isinstance(value, bool):
        return value
    if isinstance(value, str):
        text = value.strip().lower()
        if text in _TRUE:
            return True
        value = parse_result(text)
    if isinstance(value, int | float):
        return value != 0
    return False
