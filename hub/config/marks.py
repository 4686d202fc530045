"""Mappings and lists that know their source positions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from hub.config.paths import Key


class MarkOrigin:
    """The text that marks count from: a file, or a part of one that may move when lines are added above it."""

    __slots__ = ("file", "first_line")

    def __init__(self, file: str, first_line: int = 1) -> None:
        self.file = file
        self.first_line = first_line


Mark = tuple[MarkOrigin, int, int]
"""Origin, line and column from 0."""


def place(mark: Mark) -> tuple[str, int, int]:
    """Return file relative to the home directory, line and column from 1."""
    origin, line, column = mark
    return origin.file, origin.first_line + line, column + 1


def start_of(file: str) -> Mark:
    """Return the mark of a file's beginning."""
    return (MarkOrigin(file), 0, 0)


class _Broken:
    """The placeholder of a value that could not be read; an error says why."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "BROKEN"

    def __bool__(self) -> bool:
        return False


BROKEN = _Broken()


class ConfigMapping(dict[str, Any]):
    """A mapping with the marks of itself, its keys and its values."""

    __slots__ = ("key_marks", "mark", "size", "value_marks")

    def __init__(self, mark: Mark) -> None:
        super().__init__()
        self.mark = mark
        self.key_marks: dict[str, Mark] = {}
        self.value_marks: dict[str, Mark] = {}
        self.size = 1

    def put(self, key: str, value: Any, key_mark: Mark, value_mark: Mark) -> None:
        """Set a key and its place."""
        self[key] = value
        self.key_marks[key] = key_mark
        self.value_marks[key] = value_mark

    def drop(self, key: str) -> None:
        """Remove a key and its marks."""
        del self[key]
        del self.key_marks[key]
        del self.value_marks[key]


class ConfigList(list[Any]):
    """A list with the marks of itself and its items."""

    __slots__ = ("mark", "marks", "size")

    def __init__(self, mark: Mark) -> None:
        super().__init__()
        self.mark = mark
        self.marks: list[Mark] = []
        self.size = 1

    def put(self, value: Any, mark: Mark) -> None:
        """Append an item and its place."""
        self.append(value)
        self.marks.append(mark)


def mark_of(root: Any, keys: Iterable[Key], start: Mark) -> Mark:
    """Return the position of a value: its own, or that of its key if the value spans the lines below.

    Keys that are not there give the place of the nearest value around them.

    Args:
        root: The parsed content.
        keys: The path to it.
        start: The place of `root` itself.
    """
    mark, value = start, root
    for key in keys:
        if isinstance(value, ConfigMapping) and isinstance(key, str) and key in value.value_marks:
            mark = _shown_mark(value.key_marks[key], value.value_marks[key], value[key])
            value = value[key]
        elif isinstance(value, ConfigList) and isinstance(key, int) and 0 <= key < len(value):
            mark, value = value.marks[key], value[key]
        else:
            break
    return mark


def key_mark_of(root: Any, keys: Iterable[Key], start: Mark) -> Mark:
    """Return the position of the last key itself; like `mark_of` for a list index or a missing key."""
    way = tuple(keys)
    if not way:
        return start
    holder = value_at(root, way[:-1])
    if isinstance(holder, ConfigMapping) and isinstance(way[-1], str) and way[-1] in holder.key_marks:
        return holder.key_marks[way[-1]]
    return mark_of(root, way, start)


def value_at(root: Any, keys: Iterable[Key]) -> Any:
    """Return the value at a path, or None when there is nothing."""
    value = root
    for key in keys:
        if isinstance(value, dict):
            value = value.get(key)
        elif isinstance(value, list) and isinstance(key, int) and -len(value) <= key < len(value):
            value = value[key]
        else:
            return None
    return value


def plain(value: Any) -> Any:
    """Return the same data as ordinary dicts and lists, which schemas may change freely."""
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, list):
        return [plain(each) for each in value]
    return value


def has_broken(value: Any) -> bool:
    """Whether some part could not be read."""
    if value is BROKEN:
        return True
    if isinstance(value, dict):
        return any(has_broken(each) for each in value.values())
    if isinstance(value, list):
        return any(has_broken(each) for each in value)
    return False


def _shown_mark(key_mark: Mark, value_mark: Mark, value: Any) -> Mark:
    if isinstance(value, (ConfigMapping, ConfigList)):
        if value.mark[0].file != key_mark[0].file:
            return value.mark
        return key_mark if place(value_mark)[1] != place(key_mark)[1] else value_mark
    return key_mark if value is None else value_mark
