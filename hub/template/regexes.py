"""Home Assistant's functions of regular expressions, each through the judge of patterns."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from hub.template.patterns import PATTERN_CHARS, judged
from hub.template.work import BoundReached, Work

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
        """By name; each is a filter and a function."""
        return {
            "regex_match": self.match,
            "regex_search": self.search,
            "regex_replace": self.replace,
            "regex_findall": self.find_all,
            "regex_findall_index": self.find_one,
        }

    def match(self, value: Any, find: str = "", ignorecase: bool = False) -> bool:
        """Whether the text begins with the pattern."""
        text, pattern = self._judged(value, find, ignorecase, from_start=True)
        return pattern.match(text) is not None

    def search(self, value: Any, find: Any = "", ignorecase: bool = False) -> bool:
        """Whether the pattern is anywhere in the text."""
        find = _LEADING_ANYTHING.sub("", find) if isinstance(find, str) else find
        text, pattern = self._judged(value, find, ignorecase)
        return pattern.search(text) is not None

    def replace(
        self,
        value: Any = "",
        find: str = "",
        replace: str = "",
        ignorecase: bool = False,
    ) -> str:
        """The text with every place of the pattern replaced; groups go by number in the replacement."""
        text, pattern = self._judged(value, find, ignorecase)
        if len(replace) > PATTERN_CHARS:
            raise BoundReached(f"a replacement has more than {PATTERN_CHARS} characters")
        work, chars = self._work(), len(text)

        def counted(match: re.Match[str]) -> str:
            nonlocal chars
            work.step()
            new = match.expand(replace)
            chars += len(new)
            work.room_for(chars)
            return new

        return pattern.sub(counted, text)

    def find_all(self, value: Any, find: str = "", ignorecase: bool = False) -> list[Any]:
        """All places of the pattern: the text of each, or of its groups."""
        text, pattern = self._judged(value, find, ignorecase)
        work = self._work()
        found: list[Any] = []
        for match in pattern.finditer(text):
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

    def _judged(
        self,
        value: Any,
        find: str,
        ignorecase: bool,
        *,
        from_start: bool = False,
    ) -> tuple[str, re.Pattern[str]]:
        text = self._text(value)
        pattern = judged(find, text, ignorecase=ignorecase, from_start=from_start)
        self._work().step(1 + len(text) // 16)
        self._work().check()
        return text, pattern
