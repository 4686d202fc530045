"""Device values that are too short and plain to carry instructions to a model."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

CHARS_LIMIT = 40
WORDS_LIMIT = 4
_PLAIN = re.compile(r"[\w .:+/%°'()²³-]*")


def is_plain(value: Any) -> bool:
    """Whether a value is a number, or a name of up to four words of letters and digits; or made of these alone."""
    match value:
        case None | bool() | int() | float():
            return True
        case str():
            short = len(value) <= CHARS_LIMIT and len(value.split()) <= WORDS_LIMIT
            return short and _PLAIN.fullmatch(value) is not None
        case Mapping():
            return all(is_plain(key) and is_plain(each) for key, each in value.items())
        case list() | tuple() | set() | frozenset():
            return all(map(is_plain, value))
    return False
