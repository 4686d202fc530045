"""Plain data of configuration files: values at a path of keys, and whether two are the same."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from hub.config.paths import KeyPath
from hub.config.spans import Tagged
from hub.core.errors import InvalidRequest
from hub.core.secret import Secret


def nest(keys: KeyPath, value: Any) -> Any:
    """Return the value at a path of mappings and lists."""
    for key in reversed(keys):
        if isinstance(key, int):
            if key != 0:
                raise InvalidRequest(f"expected the index 0 for the first item of a new list, got {key}")
            value = [value]
        else:
            value = {key: value}
    return value


def at(data: Any, keys: KeyPath) -> Any:
    """Return the value at `keys`; raises `LookupError` when there is none."""
    for key in keys:
        data = data[key]
    return data


def plain(value: Any, key_of: Callable[[Any], Any] = lambda key: key) -> Any:
    """Return a value as read back from a file: secrets as their tags.

    Args:
        key_of: What is written as a key of a mapping.
    """
    if isinstance(value, Mapping):
        return {key_of(key): plain(each, key_of) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(each, key_of) for each in value]
    if isinstance(value, Secret) and value.source is not None:
        tag, _, name = value.source.partition(" ")
        return Tagged(tag, name)
    return value


def same(one: Any, other: Any) -> bool:
    """Return whether two values are equal, with true different from 1 and keys in the same order."""
    if isinstance(one, dict) and isinstance(other, dict):
        return list(one) == list(other) and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    return bool(one == other) and isinstance(one, str) == isinstance(other, str)
