"""JSONPath, as far as it only points: `$.a.b[0]['c d'][*]..e`; filters and expressions are refused."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, TypeAlias

from hub.core.phrases import phrase
from hub.core.schema import Described, Invalid, show, string

Step: TypeAlias = tuple[bool, str | int]
"""Whether it is looked for at any depth, and a name, an index, or `*`."""
_STEP = re.compile(
    r"(?P<deep>\.\.)?(?:\[\s*(?:(?P<index>-?\d+)|(?P<any>\*)|'(?P<one>[^']*)'|\"(?P<two>[^\"]*)\")\s*\]"
    r"|\.?(?P<name>[^.\[\]'\"*?()@\s]+)|\.?(?P<all>\*))"
)


def steps(path: str) -> list[Step]:
    """Return the steps of a path.

    Raises:
        Invalid: It is none, or one that does more than point.
    """
    found: list[Step] = []
    rest = path.strip().removeprefix("$")
    while rest:
        match = _STEP.match(rest)
        if match is None:
            raise Invalid(phrase("expected a path such as $.a[0].b, without filters; got {value}", value=show(path)))
        names = match.groupdict()
        index = names["index"]
        name = next((names[each] for each in ("one", "two", "name") if names[each] is not None), "*")
        found.append((names["deep"] is not None, int(index) if index is not None else name))
        rest = rest[match.end() :]
    return found


def _checked(value: Any) -> str:
    text: str = string(value)
    steps(text)
    return text


checked_path = Described(_checked, {"type": "string"}, "JSON path")


def first_at(data: Any, path: str) -> Any:
    """Return the first of what is there in data; None where nothing is."""
    found: Iterator[Any] = iter([data])
    for deep, key in steps(path):
        found = _next(found, key, deep=deep)
    return next(found, None)


def _next(found: Iterator[Any], key: str | int, *, deep: bool) -> Iterator[Any]:
    for each in found:
        for place in _within(each) if deep else (each,):
            yield from _at(place, key)


def _within(data: Any) -> Iterator[Any]:
    """Yield data, and everything inside it."""
    yield data
    for each in data.values() if isinstance(data, dict) else data if isinstance(data, list) else ():
        yield from _within(each)


def _at(data: Any, key: str | int) -> Iterator[Any]:
    if isinstance(data, dict):
        if key == "*":
            yield from data.values()
        elif str(key) in data:
            yield data[str(key)]
    elif isinstance(data, list):
        if key == "*":
            yield from data
        elif isinstance(key, int) and -len(data) <= key < len(data):
            yield data[key]
