"""Carries changes of plain data into the YAML text it was read from: only differences are written, comments stay."""

from __future__ import annotations

from typing import Any

from hub.config import edit
from hub.config.paths import KeyPath
from hub.config.render import block


def with_changes(text: str, old: Any, new: Any) -> str:
    """Return the text of a mapping with the changes from `old` to `new`.

    Args:
        text: YAML whose data is `old`; tags are `Tagged` in both.

    Raises:
        EditRefused: It is written in a way that only a person should change.
        InvalidRequest: A value cannot be written.
    """
    if not old:
        return "\n".join(block(new, 0)) + "\n" if new else text
    return _changed(text, (), old, new)


def _changed(text: str, keys: KeyPath, old: Any, new: Any) -> str:
    if _same(old, new):
        return text
    if isinstance(old, dict) and isinstance(new, dict) and (not keys or old.keys() & new.keys()):
        return _changed_mapping(text, keys, old, new)
    if isinstance(old, list) and isinstance(new, list) and old and new:
        return _changed_list(text, keys, old, new)
    return edit.set_value(text, keys, new)


def _changed_mapping(text: str, keys: KeyPath, old: dict[str, Any], new: dict[str, Any]) -> str:
    for key, value in old.items():
        if key in new:
            text = _changed(text, (*keys, key), value, new[key])
    for key, value in new.items():
        if key not in old:
            text = edit.set_value(text, (*keys, key), value)
    for key in old.keys() - new.keys():
        text = edit.remove(text, (*keys, key))
    return text


def _changed_list(text: str, keys: KeyPath, old: list[Any], new: list[Any]) -> str:
    """The items before and after the difference stay untouched, with their comments."""
    most = min(len(old), len(new))
    head = next((at for at in range(most) if not _same(old[at], new[at])), most)
    tail = next((at for at in range(most - head) if not _same(old[-1 - at], new[-1 - at])), most - head)
    paired = most - head - tail
    for at in range(head, head + paired):
        text = _changed(text, (*keys, at), old[at], new[at])
    for at in range(head + paired, len(new) - tail):
        text = edit.insert(text, (*keys, at), new[at])
    for at in reversed(range(head + paired, len(old) - tail)):
        text = edit.remove(text, (*keys, at))
    return text


def _same(one: Any, other: Any) -> bool:
    """Return whether two values are equal, with true different from 1; the order of keys does not count."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    return bool(one == other) and isinstance(one, str) == isinstance(other, str)
