"""Lists, sets and mappings in templates: set operations, flattening, merging, random choice."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from jinja2 import Undefined
from jinja2.utils import Cycler, Joiner

from hub.template.texts import pick
from hub.template.work import BoundReached, Exposed

RANGE_LIMIT = 100_000
"""Most numbers of one `range`."""


def flatten(value: Any, levels: int | None = None) -> list[Any]:
    """The items of the lists in a list, down to a number of levels."""
    _need_list("flatten", value)
    found: list[Any] = []
    for item in value:
        if isinstance(item, list | tuple | set) and (levels is None or levels > 0):
            found += flatten(item, None if levels is None else levels - 1)
        else:
            found.append(item)
    return found


def intersect(value: Any, other: Any) -> list[Any]:
    """Items in both."""
    _need_list("intersect", value, other)
    both = set(other)
    return [item for item in _once(value) if item in both]


def difference(value: Any, other: Any) -> list[Any]:
    """Items in the first and not in the second."""
    _need_list("difference", value, other)
    gone = set(other)
    return [item for item in _once(value) if item not in gone]


def union(value: Any, other: Any) -> list[Any]:
    """Items in either."""
    _need_list("union", value, other)
    return _once([*value, *other])


def symmetric_difference(value: Any, other: Any) -> list[Any]:
    """Items in exactly one of them."""
    _need_list("symmetric_difference", value, other)
    first, second = set(value), set(other)
    return [item for item in _once([*value, *other]) if (item in first) != (item in second)]


def combine(*mappings: Any, recursive: bool = False) -> dict[Any, Any]:
    """The mappings as one; the last that has a key decides, or both are combined when asked."""
    if not mappings:
        raise TypeError("combine needs at least one mapping")
    result: dict[Any, Any] = {}
    for mapping in mappings:
        if not isinstance(mapping, Mapping):
            raise TypeError(f"combine takes mappings, not a value of type {type(mapping).__name__}")
        for key, value in mapping.items():
            old = result.get(key)
            both = recursive and isinstance(old, Mapping) and isinstance(value, Mapping)
            result[key] = combine(old, value, recursive=True) if both else value
    return result


def merge_response(value: Any) -> list[Any]:
    """The answers of a service for several entities as one list, each item with its `entity_id`."""
    if not isinstance(value, Mapping):
        raise TypeError("merge_response takes the response of a service")
    merged: list[Any] = []
    for entity_id, answer in value.items():
        if not isinstance(answer, Mapping):
            raise TypeError(f"the response for {entity_id} is not a mapping")
        lists = {key: items for key, items in answer.items() if isinstance(items, list)}
        if not lists and answer:
            merged.append(_marked(answer, {"entity_id": entity_id}))
        for key, items in lists.items():
            merged += [_marked(item, {"entity_id": entity_id, "value_key": key}) for item in items]
    return merged


def _marked(item: Any, marks: Mapping[str, Any]) -> dict[Any, Any]:
    if not isinstance(item, Mapping):
        raise TypeError("merge_response: expected a list of mappings for each entity")
    if taken := marks.keys() & item.keys():
        raise ValueError(f"a response has its own {', '.join(sorted(taken))}")
    return {**item, **marks}


def typeof(value: Any) -> str:
    """The kind of a value: `str`, `int`, `list`, …"""
    return type(value).__name__


def contains(value: Any, item: Any) -> bool:
    """Whether a list, mapping or text has an item."""
    return item in value


def iif(
    value: Any,
    if_true: Any = True,
    if_false: Any = False,
    if_none: Any = ...,
) -> Any:
    """One value or the other; a third, if given, for none."""
    if value is None and if_none is not ...:
        return if_none
    return if_true if value else if_false


def is_defined(value: Any) -> Any:
    """The value; an error when it is not defined."""
    if isinstance(value, Undefined):
        return value._fail_with_undefined_error()
    return value


def default_value(value: Any, default: Any = "", boolean: bool = False) -> Any:
    """The value, or another when it is not defined, or, with `boolean`, when it is empty."""
    if isinstance(value, Undefined) or (boolean and not value):
        return default
    return value


def shuffle(*args: Any, seed: Any = None) -> list[Any]:
    """A list in random order."""
    if not args:
        raise TypeError("shuffle needs a list")
    is_one = isinstance(args[0], list | tuple | set)
    values = list(args[0]) if is_one else list(args)
    seed = args[1] if seed is None and is_one and len(args) > 1 else seed
    random.Random(str(seed) if seed is not None else None).shuffle(values)  # noqa: S311 - no secret
    return values


def bounded_range(*args: Any) -> range:
    """Whole numbers."""
    numbers = range(*args)
    if not -RANGE_LIMIT <= (numbers.stop - numbers.start) // numbers.step <= RANGE_LIMIT:
        raise BoundReached(f"a range has more than {RANGE_LIMIT} numbers")
    return numbers


def batch(value: Iterable[Any], count: int, fill: Any = None) -> list[list[Any]]:
    """Lists of a number of items each; the last is padded with the filler, if there is one."""
    values = list(value)
    if not 0 < count <= RANGE_LIMIT:
        raise BoundReached(f"a batch has from 1 to {RANGE_LIMIT} items")
    rows = [values[start : start + count] for start in range(0, len(values), count)]
    if rows and fill is not None:
        rows[-1] += [fill] * (count - len(rows[-1]))
    return rows


def is_datetime(value: Any) -> bool:
    """Whether it is a moment."""
    return hasattr(value, "timetz")


def is_text_like(value: Any) -> bool:
    """Whether it is a text or bytes."""
    return isinstance(value, str | bytes)


def _need_list(function: str, *values: Any) -> None:
    for value in values:
        if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
            raise TypeError(f"{function} takes lists, not a value of type {type(value).__name__}")
        if isinstance(value, Undefined):
            value._fail_with_undefined_error()


def _once(items: Iterable[Any]) -> list[Any]:
    return list(dict.fromkeys(items))


BOTH: Mapping[str, Callable[..., Any]] = {
    "flatten": flatten,
    "intersect": intersect,
    "difference": difference,
    "union": union,
    "symmetric_difference": symmetric_difference,
    "combine": combine,
    "merge_response": merge_response,
    "typeof": typeof,
    "contains": contains,
    "iif": iif,
    "shuffle": shuffle,
    "zip": lambda *lists: list(zip(*lists, strict=False)),
    "set": lambda value=(): set(value),
    "tuple": lambda value=(): tuple(value),
    "list": lambda value=(): list(value),
}
"""Each is a function and a filter."""
FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "range": bounded_range,
    "dict": dict,
    "cycler": Cycler,
    "joiner": Joiner,
}
FILTERS: Mapping[str, Callable[..., Any]] = {
    "batch": batch,
    "default": default_value,
    "d": default_value,
    "is_defined": is_defined,
    "random": pick,
    "length": len,
    "count": len,
}
TESTS: Mapping[str, Callable[..., bool]] = {
    "datetime": is_datetime,
    "string_like": is_text_like,
    "list": lambda value: isinstance(value, list),
    "set": lambda value: isinstance(value, set),
    "tuple": lambda value: isinstance(value, tuple),
    "contains": contains,
    "callable": lambda value: isinstance(value, Exposed) and hasattr(value, "call"),
}
