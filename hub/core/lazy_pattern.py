"""A regular expression that is compiled when it is first used, so that starting the hub does not wait for it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, Protocol

_METHODS = ("search", "match", "fullmatch", "finditer", "findall", "split", "sub")


class _Sub(Protocol):
    def __call__(self, replacement: str | Callable[[re.Match[str]], str], text: str, count: int = 0) -> str: ...


class LazyPattern:
    """A lazy `re.compile(source, flags)`: compiled on first use, with the methods of a compiled expression.

    Args:
        source: The regular expression; `findall` is for those with one group at most.
        flags: As for `re.compile`.

    Attributes:
        compiled: The compiled expression.
    """

    compiled: re.Pattern[str]
    search: Callable[[str], re.Match[str] | None]
    match: Callable[[str], re.Match[str] | None]
    fullmatch: Callable[[str], re.Match[str] | None]
    finditer: Callable[[str], Iterator[re.Match[str]]]
    findall: Callable[[str], list[str]]
    split: Callable[[str], list[str]]
    sub: _Sub

    def __init__(self, source: str, flags: int = 0) -> None:
        self._source = source
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        if name != "compiled" and name not in _METHODS:
            raise AttributeError(name)
        self.compiled = re.compile(self._source, self._flags)
        for method in _METHODS:
            setattr(self, method, getattr(self.compiled, method))
        return getattr(self, name)
