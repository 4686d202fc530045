"""Plain scalars of YAML 1.2: null, true and false, numbers; everything else is text."""

from __future__ import annotations

import re
from math import isfinite
from typing import Any

from hub.config.bounds import INTEGER_LIMIT

Scalar = str | int | float | bool | None

_WORDS: dict[str, Any] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_NUMBER_START = frozenset("0123456789+-.")
_INTEGER = re.compile(r"[-+]?[0-9]+")
_BASED = re.compile(r"0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_SPECIAL = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")


class WrittenInt(int):
    """An integer in an unusual notation (`0123`), which a text field takes as written."""

    written: str


class WrittenFloat(float):
    """A number in an unusual notation (`1.10`), which a text field takes as written."""

    written: str


class BadScalar(ValueError):
    """A number that cannot be represented; the message says why."""


def resolve_plain(text: str) -> Scalar:
    """Return the value of an unquoted scalar.

    Raises:
        BadScalar: It is a number that is not finite or too large.
    """
    if text in _WORDS:
        word: Scalar = _WORDS[text]
        return word
    if text[0] not in _NUMBER_START:
        return text
    if _INTEGER.fullmatch(text):
        return _integer(text, text, 10)
    if _BASED.fullmatch(text):
        return _integer(text, text[2:], 8 if text[1] == "o" else 16)
    if _FLOAT.fullmatch(text):
        return _float(text)
    if _SPECIAL.fullmatch(text):
        raise BadScalar("this is not a finite number")
    return text


def _integer(text: str, digits: str, base: int) -> int:
    if len(digits) > 80:
        raise BadScalar("the number is too large (more than 64 bits)")
    value = int(digits, base)
    if not -INTEGER_LIMIT <= value < INTEGER_LIMIT:
        raise BadScalar("the number is too large (more than 64 bits)")
    if str(value) == text:
        return value
    kept = WrittenInt(value)
    kept.written = text
    return kept


def _float(text: str) -> float:
    value = float(text)
    if not isfinite(value):
        raise BadScalar("the number is too large")
    if str(value) == text:
        return value
    kept = WrittenFloat(value)
    kept.written = text
    return kept
