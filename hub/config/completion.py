"""Completions at a place of a YAML text that is being written: keys, values, tags and names of secrets."""

from __future__ import annotations

import re
from typing import Any

from hub.config.files import ROOT_FILE
from hub.config.marks import ConfigList, ConfigMapping
from hub.config.paths import Key, KeyPath
from hub.config.render import inline
from hub.config.schema_walk import keys_at, schemas_at, values_at
from hub.config.tags import TAGS
from hub.core.errors import InvalidRequest
from hub.core.json_schema import JsonSchema

COMPLETION_LIMIT = 200
DEPTH_LIMIT = 64

_LINE = re.compile(r"^(?P<indent> *)(?P<dashes>(?:- +)*)(?:(?P<key>[^\s:#'\"\[{][^:#]*?)\s*:(?P<colon>\s|$))?")


def completions(
    schema: JsonSchema, prefix: KeyPath, text: str, line: int, column: int, secrets: list[str]
) -> list[dict[str, Any]]:
    """Return completions at a place, each with label, kind (key, value, tag or secret), insert and description.

    Args:
        schema: JSON Schema of the whole configuration.
        prefix: The keys that lead to the text's root, when it is an included file.
        text: The text, complete or not.
        line, column: Counted from 1.
        secrets: Names in secrets.yaml.
    """
    lines = text.split("\n")
    if not 1 <= line <= len(lines):
        return []
    before = lines[line - 1][: max(0, column - 1)]
    if before.lstrip().startswith("#"):
        return []
    match = _LINE.match(before)
    way, present = _way(lines, line - 1, before)
    keys = (*prefix, *way)
    if match is not None and match["key"] is not None:
        value = before[match.end() :].lstrip()
        return _values(schema, (*keys, match["key"]), value, secrets)[:COMPLETION_LIMIT]
    return _keys(schema, keys, present)[:COMPLETION_LIMIT]


def keys_of_file(raw: ConfigMapping, name: str) -> KeyPath:
    """Return the keys that lead to the content of an included file; empty for the root file and unknown ones."""
    waiting: list[tuple[KeyPath, Any]] = [((), raw)] if name != ROOT_FILE else []
    while waiting:
        keys, value = waiting.pop()
        if isinstance(value, (ConfigMapping, ConfigList)) and keys and value.mark[0].file == name:
            return keys
        if len(keys) >= DEPTH_LIMIT:
            continue
        if isinstance(value, ConfigMapping):
            waiting.extend(((*keys, key), each) for key, each in value.items())
        elif isinstance(value, ConfigList):
            waiting.extend(((*keys, index), each) for index, each in enumerate(value[:1]))
    return ()


def _keys(schema: JsonSchema, keys: KeyPath, present: dict[str, Any]) -> list[dict[str, Any]]:
    data: Any = present
    for key in reversed(keys):
        data = [data] if isinstance(key, int) else {key: data}
    found = []
    for name, inner in keys_at(schema, keys, data).items():
        if name in present:
            continue
        entry = {"label": name, "kind": "key", "insert": f"{name}: ", "description": inner.get("description", "")}
        found.append(entry)
    return found


def _values(schema: JsonSchema, keys: KeyPath, begun: str, secrets: list[str]) -> list[dict[str, Any]]:
    if begun.startswith("!secret"):
        return [_entry(name, "secret", f"!secret {name}") for name in secrets]
    if begun.startswith("!"):
        return [_entry(tag, "tag", f"{tag} ") for tag in TAGS]
    found = []
    for value in values_at(schema, keys):
        try:
            shown = inline(value)
        except InvalidRequest:
            continue
        found.append(_entry(shown, "value", shown))
    if any(each.get("writeOnly") for each in schemas_at(schema, keys)):
        found += [_entry(f"!secret {name}", "secret", f"!secret {name}") for name in secrets]
    return found


def _entry(label: str, kind: str, insert: str) -> dict[str, Any]:
    return {"label": label, "kind": kind, "insert": insert, "description": ""}


def _way(lines: list[str], number: int, before: str) -> tuple[KeyPath, dict[str, Any]]:
    """Return the keys above a line by indentation, and the sibling keys."""
    match = _LINE.match(before)
    assert match is not None  # noqa: S101  the pattern matches every text
    level = len(match["indent"]) + len(match["dashes"])
    way: list[Key] = [0] * match["dashes"].count("-")
    present: dict[str, Any] = {}
    floor = len(match["indent"]) if way else level
    beside = not way
    for above in range(number - 1, -1, -1):
        found = _LINE.match(lines[above])
        if found is None or not lines[above].strip() or lines[above].lstrip().startswith("#"):
            continue
        start = len(found["indent"])
        inner = start + len(found["dashes"])
        if beside and inner == level and found["key"] is not None:
            present.setdefault(found["key"], lines[above][found.end() :].strip())
        if found["dashes"] and inner == floor and start < floor:
            way[:0] = [0] * found["dashes"].count("-")
            floor, beside = start, False
        elif found["key"] is not None and (
            inner < floor or (inner == floor and way[:1] == [0] and not found["dashes"])
        ):
            way.insert(0, found["key"])
            floor, beside = inner, False
            if found["dashes"]:
                way[:0] = [0] * found["dashes"].count("-")
                floor = start
        if floor == 0 and way and isinstance(way[0], str):
            break
    return tuple(way), _below(lines, number, level, present)


def _below(lines: list[str], number: int, level: int, present: dict[str, Any]) -> dict[str, Any]:
    """Add the sibling keys below a line."""
    for below in lines[number + 1 :]:
        found = _LINE.match(below)
        if found is None or not below.strip():
            continue
        if len(found["indent"]) < level or (found["dashes"] and len(found["indent"]) <= level):
            break
        if len(found["indent"]) == level and found["key"] is not None:
            present.setdefault(found["key"], below[found.end() :].strip())
    return present
