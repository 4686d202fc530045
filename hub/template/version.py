"""Versions that can be compared in templates: `version("2026.1.2") > "2025.12"`."""

from __future__ import annotations

import re
from functools import total_ordering
from typing import Any

from hub.template.work import BoundReached, Exposed

VERSION_CHARS = 64
_PART = re.compile(r"\d+|[a-z]+")
_BEFORE_RELEASE = {"dev": -4, "a": -3, "alpha": -3, "b": -2, "beta": -2, "rc": -1}


@total_ordering
class VersionValue(Exposed):
    """A version number."""

    __slots__ = ("parts", "text")

    def __init__(self, text: Any) -> None:
        self.text: str = text.text if isinstance(text, VersionValue) else str(text).strip()
        if len(self.text) > VERSION_CHARS:
            raise BoundReached(f"a version has more than {VERSION_CHARS} characters")
        self.parts = [
            int(part) if part.isdecimal() else _BEFORE_RELEASE.get(part, -5)
            for part in _PART.findall(self.text.lower().removeprefix("v"))
        ]
        while self.parts and self.parts[-1] == 0:
            self.parts.pop()

    def read(self, name: str) -> Any:
        place = ("major", "minor", "micro", "patch").index(name) if name in {"major", "minor", "micro", "patch"} else -1
        if name == "string":
            return self.text
        if place < 0:
            raise AttributeError(name)
        numbers = re.findall(r"\d+", self.text)
        place = min(place, 2)
        return int(numbers[place]) if place < len(numbers) else 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, str | VersionValue) and self.parts == VersionValue(other).parts

    def __lt__(self, other: object) -> bool:
        if not isinstance(other, str | VersionValue):
            return NotImplemented
        mine, theirs = self.parts, VersionValue(other).parts
        width = max(len(mine), len(theirs))
        return [*mine, *[0] * (width - len(mine))] < [*theirs, *[0] * (width - len(theirs))]

    def __hash__(self) -> int:
        return hash(tuple(self.parts))

    def __str__(self) -> str:
        return self.text

    __repr__ = __str__
