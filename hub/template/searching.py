r"""User-written regular expressions, run by the package `regex` with a timeout.

Python's `re` cannot be interrupted. An engine that never backtracks (RE2) is no replacement: it has no look-ahead, its
`\w` and `\b` know ASCII letters alone, and its `$` does not match before a last line break; patterns of Home
Assistant rely on all of these.
"""

from __future__ import annotations

import logging
import re
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

from hub.core.schema import Described, Invalid, string

if TYPE_CHECKING:
    from regex import Match, Pattern

_log = logging.getLogger(__name__)

PATTERN_CHARS = 500
"""Length of a pattern."""
SEARCH_S = 0.01
"""Processor time of one search over words from outside; the event loop waits for it."""
SEARCHED_CHARS = (8_000, 2_000, 500, 125)
"""So much of a text is looked through: less, from the first search on that takes too long."""
_TRIED_CHARS = 60
"""Enough for a pattern whose steps double with each character; twice that is within the shortest part."""
_BRACE = re.compile(r"(\\N\{[^}]*\}|\\.|\{\d*,?\d*\})|\{", re.DOTALL)


@lru_cache(maxsize=256)
def compile_pattern(find: str, *, ignorecase: bool = False) -> Pattern[str]:
    """Return a pattern with the semantics of Python's `re`.

    Raises:
        ValueError: It is not a pattern.
    """
    import regex

    if len(find) > PATTERN_CHARS:
        raise ValueError(f"a pattern has more than {PATTERN_CHARS} characters")
    try:
        re.compile(find)
        # `{e}` would ask for what is nearly the same; in Python it is three characters.
        pattern: Pattern[str] = regex.compile(
            _BRACE.sub(lambda brace: brace[1] or r"\{", find), regex.IGNORECASE if ignorecase else 0
        )
    except (re.error, regex.error, OverflowError, RecursionError) as error:
        raise ValueError(f"{find[:60]!r} is not a pattern: {error}") from None
    return pattern


class PatternSearch:
    """A pattern that is searched for in the beginning of texts.

    It is tried once on texts that are hard for it. Where it takes too long, less and less of a text is looked through,
    and in the end nothing.

    Args:
        find: The pattern, in the syntax of `re`.
        ignorecase: Whether upper and lower case are the same.

    Attributes:
        limit: So many characters of a text are looked through.

    Raises:
        Invalid: It is not a pattern, or takes too long even on the shortest texts.
    """

    def __init__(self, find: str, *, ignorecase: bool = False) -> None:
        try:
            self._pattern = compile_pattern(find, ignorecase=ignorecase)
        except ValueError as error:
            raise Invalid(str(error)) from error
        self._find = find
        self.limit = SEARCHED_CHARS[0]
        for unit in ("a", "a ", *sorted(set(filter(str.isalnum, find)))):
            self(f"{(unit * _TRIED_CHARS)[:_TRIED_CHARS]}\0{find[:_TRIED_CHARS]}")
        if not self.limit:
            raise Invalid(f"{find[:60]!r} takes too long: name what is between its repeats")

    def __call__(self, text: str) -> Match[str] | None:
        """Return the first match in the searched part of a text."""
        while self.limit:
            try:
                # With the interpreter kept, the time is this thread's alone, and no other thread makes it longer.
                return self._pattern.search(text, 0, self.limit, timeout=SEARCH_S, concurrent=False)
            except TimeoutError:
                self.limit = next((each for each in SEARCHED_CHARS if each < self.limit), 0)
                _log.warning(
                    "the pattern %r takes too long; from now on it looks through %d characters of a text",
                    self._find[:60],
                    self.limit,
                )
        return None


@lru_cache(maxsize=256)
def search_for(find: str, *, ignorecase: bool = False) -> PatternSearch:
    """Return the search for a pattern, shared by all users.

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


def found(match: Match[str]) -> dict[str, Any]:
    """Return a match as templates see it."""
    return {"text": match.group(), "groups": list(match.groups()), "named": match.groupdict()}
