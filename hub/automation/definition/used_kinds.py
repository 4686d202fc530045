"""The kinds of triggers, conditions and actions that an automation or a script uses."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hub.automation.definition.kinds import Kinds

Keys = tuple[str | int, ...]

_NAMED = ("trigger", "condition")
_DATA = frozenset({"data", "event_data", "fields", "target", "trigger_variables", "use_blueprint", "variables"})
"""Keys below which nothing is a trigger, a condition or a step."""


def used_kinds(value: Any, kinds: Kinds, keys: Keys = ()) -> Iterator[tuple[Keys, str]]:
    """Yield the name of each kind in a valid item, with the keys that lead to it."""
    if isinstance(value, dict):
        for key in _NAMED:
            if isinstance(value.get(key), str):
                yield (*keys, key), value[key]
        step = kinds.step_key(value)
        if step is not None and step not in _NAMED:
            yield (*keys, step), step
        for key, each in value.items():
            if key not in _DATA:
                yield from used_kinds(each, kinds, (*keys, key))
    elif isinstance(value, list):
        for index, each in enumerate(value):
            yield from used_kinds(each, kinds, (*keys, index))
