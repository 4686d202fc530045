"""The paths a jail accepts, judged by their text alone, before anything is opened."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from functools import lru_cache

from hub.core.errors import Forbidden

COMPONENT_BYTES_LIMIT = 255
PATH_BYTES_LIMIT = 4_096
DEPTH_LIMIT = 64
TEMPORARY_PREFIX = ".homarus-"
TEMPORARY_SUFFIX = ".tmp"
PATHS_KNOWN = 256
"""Paths that were found to be acceptable are known again: most turns read the same files."""


class PathRefused(Forbidden):
    """A path leads, or may lead, out of the directory it belongs in; `details.path` is the path."""

    code = "PATH_REFUSED"

    def __init__(self, path: object, reason: str) -> None:
        shown = path if isinstance(path, str) else repr(path)
        shown = ascii(shown)[1:-1] if not shown.isprintable() else shown
        if len(shown) > 200:
            shown = f"{shown[:197]}..."
        super().__init__(f"the path {shown!r} is refused: {reason}", details={"path": shown, "reason": reason})


def components(path: str) -> tuple[str, ...]:
    """Return the components of a relative path; empty for the jail's own directory (`.` or nothing).

    Raises:
        PathRefused: It is absolute, climbs, or holds what no name of a file should.
    """
    if not isinstance(path, str):
        raise PathRefused(path, "expected text")
    return _components(path)


@lru_cache(maxsize=PATHS_KNOWN)
def _components(path: str) -> tuple[str, ...]:
    if path.startswith("/"):
        raise PathRefused(path, "it is absolute; give it relative to the directory")
    try:
        size_bytes = len(path.encode())
    except UnicodeEncodeError:
        raise PathRefused(path, "it is not valid text") from None
    if size_bytes > PATH_BYTES_LIMIT:
        raise PathRefused(path, f"it is longer than {PATH_BYTES_LIMIT} bytes")
    names = tuple([name for name in path.split("/") if name not in ("", ".")])
    if len(names) > DEPTH_LIMIT:
        raise PathRefused(path, f"it is deeper than {DEPTH_LIMIT} directories")
    if names and names[0] == "~":
        raise PathRefused(path, "it begins with ~; give it relative to the directory")
    for name in names:
        _check(name, path)
    return names


def is_safe_name(name: str) -> bool:
    """Whether a name found on disk is one this jail would open; others are left out of listings."""
    try:
        return components(name) == (name,)
    except PathRefused:
        return False


class Hidden:
    """Names hidden from a view: files, and directories with their contents.

    They are compared without regard to case, to forms of the same letter and to invisible characters, so that the
    answer is the same on file systems that treat such names as one.

    Args:
        paths: Relative paths.
    """

    def __init__(self, paths: Iterable[str]) -> None:
        self.paths = frozenset(paths)
        self._folded = frozenset([_folded(components(path)) for path in self.paths])
        if not all(self._folded):
            raise ValueError("a view cannot hide its own directory")

    def __bool__(self) -> bool:
        return bool(self._folded)

    def covers(self, names: tuple[str, ...]) -> bool:
        """Whether a path is hidden, or in a hidden directory."""
        if not self._folded:
            return False
        folded = _folded(names)
        return not self._folded.isdisjoint([folded[:depth] for depth in range(1, len(folded) + 1)])


@lru_cache(maxsize=PATHS_KNOWN)
def _folded(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(map(folded_name, names))


def folded_name(name: str) -> str:
    """Return a name as the least strict file system compares it: without invisible characters, case-folded."""
    if name.isascii():
        return name.casefold()
    seen = "".join([each for each in name if unicodedata.category(each) != "Cf"])
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", seen).casefold())


def _check(name: str, path: str) -> None:
    if name == "..":
        raise PathRefused(path, "it climbs with `..`")
    if len(name.encode()) > COMPONENT_BYTES_LIMIT:
        raise PathRefused(path, f"a name in it is longer than {COMPONENT_BYTES_LIMIT} bytes")
    if not name.isprintable() and any(unicodedata.category(symbol) == "Cc" for symbol in name):
        raise PathRefused(path, "it holds a control character")
    if name.startswith(TEMPORARY_PREFIX) and name.endswith(TEMPORARY_SUFFIX):
        raise PathRefused(path, "names of this form are reserved for files that are being written")
