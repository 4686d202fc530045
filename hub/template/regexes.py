"""Home Assistant's functions of regular expressions, each with a bound on its time."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from hub.template.searching import PATTERN_CHARS, compile_pattern
from hub.template.work import BoundReached, Work

if TYPE_CHECKING:
    from regex import Match, Pattern

PATTERN_S = 0.02
"""Processor time of one call."""
_LEADING_ANYTHING = re.compile(r"^\.\*\??(?![?+*{])")
"""To look for `.*x` anywhere is to look for `x` anywhere, and takes as many times longer as the text is long."""


class Regexes:
    """The functions of regular expressions.

    Args:
        work: The work of the rendering under way.
        text: Turns any value into the text that printing it gives.
    """

    def __init__(self, work: Callable[[], Work], text: Callable[[Any], str]) -> None:
        self._work = work
        self._text = text

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return the functions by name; each is also a filter."""
        return {
            "regex_match": self.match,
            "regex_search": self.search,
            "regex_replace": self.replace,
            "regex_findall": self.find_all,
            "regex_findall_index": self.find_one,
        }

    def match(self, value: Any, find: str = "", ignorecase: bool = False) -> bool:
        """Whether the text begins with the pattern."""
        with self._bounded(value, find, ignorecase) as (text, pattern, bounds):
            return pattern.match(text, **bounds) is not None

    def search(self, value: Any, find: Any = "", ignorecase: bool = False) -> bool:
        """Whether the pattern is anywhere in the text."""
        find = _LEADING_ANYTHING.sub("", find) if isinstance(find, str) else find
        with self._bounded(value, find, ignorecase) as (text, pattern, bounds):
            return pattern.search(text, **bounds) is not None

    def replace(
        self,
        value: Any = "",
        find: str = "",
        replace: str = "",
        ignorecase: bool = False,
    ) -> str:
        """The text with every match of the pattern replaced; the replacement refers to groups by number."""
        if len(replace) > PATTERN_CHARS:
            raise BoundReached(f"a replacement has more than {PATTERN_CHARS} characters")
        with self._bounded(value, find, ignorecase) as (text, pattern, bounds):
            work, chars = self._work(), len(text)

            def counted(match: Match[str]) -> str:
                nonlocal chars
                work.step()
                new: str = match.expand(replace)
                chars += len(new)
                work.room_for(chars)
                return new

            replaced: str = pattern.sub(counted, text, **bounds)
        return replaced

    def find_all(self, value: Any, find: str = "", ignorecase: bool = False) -> list[Any]:
        """All places of the pattern: the text of each, or of its groups."""
        found: list[Any] = []
        with self._bounded(value, find, ignorecase) as (text, pattern, bounds):
            work = self._work()
            for match in pattern.finditer(text, **bounds):
                work.step()
                work.items(len(found))
                groups = match.groups("")
                found.append(match.group() if not groups else groups[0] if len(groups) == 1 else groups)
        return found

    def find_one(
        self,
        value: Any,
        find: str = "",
        index: int = 0,
        ignorecase: bool = False,
    ) -> Any:
        """One place of the pattern, by its number from 0."""
        return self.find_all(value, find, ignorecase)[index]

    @contextmanager
    def _bounded(self, value: Any, find: Any, ignorecase: bool) -> Iterator[tuple[str, Pattern[str], dict[str, Any]]]:
        """Call with the text, the pattern and the time limit."""
        if not isinstance(find, str):
            raise ValueError("a pattern is a text")
        text, work = self._text(value), self._work()
        pattern = compile_pattern(find, ignorecase=bool(ignorecase))
        work.step(1 + len(text) // 16)
        work.check()
        try:
            yield text, pattern, {"timeout": min(PATTERN_S, work.left_s()), "concurrent": False}
        except TimeoutError:
            raise BoundReached(
                f"the pattern {find[:60]!r} takes too long on {len(text)} characters: "
                "name what is between its repeats, or shorten the text"
            ) from None
