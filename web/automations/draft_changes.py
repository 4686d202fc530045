"""Counts how many cards and settings of an automation or a script a draft changes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from difflib import SequenceMatcher
from typing import Any

from hub.config.spans import as_written
from web.automations.form_kinds import AUTOMATION_SHAPE, FIELD, Shape


def count_changes(old: Mapping[str, Any], new: Mapping[str, Any], shape: Shape = AUTOMATION_SHAPE) -> int:
    """Return how many cards and settings are new, removed or different."""
    before, after = as_written(old), as_written(new)
    keys = before.keys() | after.keys()
    lists = {key for names in shape.lists.values() for key in names}
    changed: int = sum(before.get(key) != after.get(key) for key in keys - lists)
    return changed + sum(
        _cards(_all(before, what, names), _all(after, what, names))
        for what, names in shape.lists.items()
        if keys.intersection(names)
    )


def _all(item: Mapping[str, Any], what: str, names: tuple[str, str]) -> list[Any]:
    found = next((item[name] for name in names if name in item), None)
    if what == FIELD and isinstance(found, Mapping):
        return list(found.items())
    return found if isinstance(found, list) else [] if found is None else [found]


def _cards(old: list[Any], new: list[Any]) -> int:
    """Return how many cards changed; one that only moved is one change."""
    before, after = [repr(each) for each in old], [repr(each) for each in new]
    gone: Counter[str] = Counter()
    come: Counter[str] = Counter()
    for kind, a, b, c, d in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if kind != "equal":
            gone.update(before[a:b])
            come.update(after[c:d])
    moved = (gone & come).total()
    return moved + max(gone.total() - moved, come.total() - moved)
