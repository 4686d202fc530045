"""Regular expressions over words from outside: looked for in as much of a text as is sure to be quick."""

from __future__ import annotations

import re
from functools import lru_cache, partial
from typing import Any

from hub.core.schema import Described, Invalid, string

SEARCHED_CHARS = (8_000, 4_000, 2_000, 1_000, 500, 200)
"""So much of a text is looked through: the first of these on which the pattern is sure to be quick."""


class PatternSearch:
    """A pattern and how much of a text it may look through.

    Args:
        find: The pattern, as `re` takes it.
        ignorecase: Whether upper and lower case are the same.

    Raises:
        Invalid: It is no pattern, or slow even on the shortest texts.
    """

    def __init__(self, find: str, *, ignorecase: bool = False) -> None:
        from hub.template.patterns import judged
        from hub.template.work import BoundReached

        self.limit = 0
        for limit in SEARCHED_CHARS:
            try:
                self._pattern = judged(find, " " * limit, ignorecase=ignorecase)
            except ValueError as error:
                raise Invalid(str(error)) from error
            except BoundReached as error:
                slow = error
                continue
            self.limit = limit
            return
        raise Invalid(str(slow)) from slow

    def __call__(self, text: str) -> re.Match[str] | None:
        """Return the first place of the pattern in the searched part of a text."""
        return self._pattern.search(text, 0, self.limit)


@lru_cache(maxsize=256)
def search_for(find: str, *, ignorecase: bool = False) -> PatternSearch:
    """Return the search for a pattern, judged once however many look for it.

    Raises:
        Invalid: As `PatternSearch`.
    """
    return PatternSearch(find, ignorecase=ignorecase)


def _pattern(value: Any, *, ignorecase: bool = False) -> str:
    text = str(string(value))
    if not text:
        raise Invalid("expected a regular expression, got nothing")
    search_for(text, ignorecase=ignorecase)
    return text


pattern = Described(_pattern, {"type": "string", "format": "regex"}, "regular expression")
caseless_pattern = Described(
    partial(_pattern, ignorecase=True), {"type": "string", "format": "regex"}, "regular expression"
)
"""Accepts a pattern that is looked for with `ignorecase`."""


def found(match: re.Match[str]) -> dict[str, Any]:
    """Return a match as templates see it."""
    return {"text": match.group(), "groups": list(match.groups()), "named": match.groupdict()}
