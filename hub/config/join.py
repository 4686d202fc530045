"""Merges two pieces of configuration: lists are joined, mappings merged key by key."""

from __future__ import annotations

from typing import Any

from hub.config.errors import ConfigError
from hub.config.marks import BROKEN, ConfigList, ConfigMapping, Mark, place
from hub.config.paths import KeyPath
from hub.core.phrases import phrase


def merge_values(base: Any, extra: Any, base_mark: Mark, mark: Mark, keys: KeyPath, errors: list[ConfigError]) -> Any:
    """Return two values as one: lists joined, mappings key by key; what is set twice keeps its first value.

    Neither is changed.

    Args:
        base_mark: The place of the first key.
        mark: The place of the second key, named in errors.
        keys: The path of the second.
    """
    if extra is None or base is BROKEN:
        return base
    if base is None or extra is BROKEN:
        return extra
    if isinstance(base, ConfigList) or isinstance(extra, ConfigList):
        if isinstance(base, (ConfigList, ConfigMapping)) and isinstance(extra, (ConfigList, ConfigMapping)):
            return join_lists(base, extra)
    elif isinstance(base, ConfigMapping) and isinstance(extra, ConfigMapping):
        return _merged_mapping(base, extra, keys, errors)
    if base == extra:
        return base
    file, line, _ = place(base_mark)
    errors.append(
        ConfigError.at(
            mark,
            keys,
            phrase("{key} is set in {file} line {line} already", key=keys[-1], file=file, line=line),
            phrase("remove one of the two"),
        )
    )
    return base


def _merged_mapping(
    base: ConfigMapping, extra: ConfigMapping, keys: KeyPath, errors: list[ConfigError]
) -> ConfigMapping:
    found = shell_of(base)
    for key, value in extra.items():
        at = extra.key_marks[key]
        if key in found:
            found[key] = merge_values(found[key], value, found.key_marks[key], at, (*keys, key), errors)
        else:
            found.put(key, value, at, extra.value_marks[key])
    return found


def join_lists(base: ConfigList | ConfigMapping, extra: ConfigList | ConfigMapping) -> ConfigList:
    """Return the items of both as one list; a mapping counts as one item."""
    found = ConfigList(base.mark)
    for part in (base, extra):
        if isinstance(part, ConfigMapping):
            found.put(part, part.mark)
            continue
        for item, mark in zip(part, part.marks, strict=True):
            found.put(item, mark)
    return found


def shell_of(mapping: ConfigMapping) -> ConfigMapping:
    """Return a shallow copy of a mapping."""
    copy = ConfigMapping(mapping.mark)
    copy.update(mapping)
    copy.key_marks = dict(mapping.key_marks)
    copy.value_marks = dict(mapping.value_marks)
    return copy
