"""Converts validation schemas to JSON Schema, for models, the editor and the documentation.

What a plain function accepts cannot be known: it becomes the empty schema, which accepts everything. A validator that
should be described carries an attribute `json_schema` (see `hub.core.schema.Described`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Any

from hub.core.schema import (
    ALLOW_EXTRA,
    PREVENT_EXTRA,
    UNDEFINED,
    All,
    AnyOf,
    Coerce,
    Exclusive,
    Extra,
    In,
    Inclusive,
    Length,
    Marker,
    Match,
    Range,
    Remove,
    Required,
    Schema,
    as_list,
)

JsonSchema = dict[str, Any]

DEPTH_LIMIT = 32

_TYPES: dict[Any, JsonSchema] = {
    str: {"type": "string"},
    bytes: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    dict: {"type": "object"},
    list: {"type": "array"},
    tuple: {"type": "array"},
    type(None): {"type": "null"},
    object: {},
}


def to_json_schema(schema: Any) -> JsonSchema:
    """Return the JSON Schema of what a voluptuous schema or validator accepts.

    Args:
        schema: A `Schema`, a mapping, list, type, literal or validator.

    Returns:
        Valid JSON Schema (2020-12) without references; at most 32 levels deep, below which everything is accepted.
    """
    return _convert(schema, PREVENT_EXTRA, 0)


def _convert(schema: Any, extra: int, depth: int) -> JsonSchema:
    if depth > DEPTH_LIMIT:
        return {}
    described = getattr(schema, "json_schema", None)
    if isinstance(described, Mapping):
        return dict(described)
    match schema:
        case Schema():
            return _convert(schema.schema, schema.extra, depth)
        case Mapping():
            return _object(schema, extra, depth)
        case list() | tuple() | set() | frozenset():
            return _array(schema, extra, depth)
        case All():
            return _all(schema.validators, extra, depth)
        case AnyOf():
            return _any(schema.validators, extra, depth)
        case In():
            return _choices(schema.container)
        case Range():
            return _range(schema)
        case Length():
            return _length(schema, None)
        case Match():
            return {"type": "string", "pattern": _pattern(schema.pattern)}
        case Coerce():
            return _type(schema.type)
        case type():
            return _type(schema)
        case None | str() | int() | float():
            return {"const": schema}
        case _:
            return {}


def _type(kind: Any) -> JsonSchema:
    if isinstance(kind, type) and issubclass(kind, Enum):
        return _choices([each.value for each in kind])
    return dict(_TYPES.get(kind, {}))


def _object(schema: Mapping[Any, Any], extra: int, depth: int) -> JsonSchema:
    properties: dict[str, JsonSchema] = {}
    required: list[str] = []
    others: list[JsonSchema] = [{}] if extra != PREVENT_EXTRA else []
    names: JsonSchema | None = None
    exclusive: dict[str, list[str]] = {}
    inclusive: dict[str, list[str]] = {}
    for marker, value in schema.items():
        key = marker.schema if isinstance(marker, Marker) else marker
        converted = {} if isinstance(marker, Remove) else _convert(value, _inner(extra), depth + 1)
        if not isinstance(key, (str, int)) or isinstance(key, bool):
            others.append(converted)
            names = names or (None if key is Extra else _name_schema(key))
            continue
        name = str(key)
        properties[name] = _annotated(converted, marker)
        if isinstance(marker, Required) and _default(marker) is UNDEFINED:
            required.append(name)
        if isinstance(marker, Exclusive):
            exclusive.setdefault(marker.group_of_exclusion, []).append(name)
        if isinstance(marker, Inclusive):
            inclusive.setdefault(marker.group_of_inclusion, []).append(name)
    found: JsonSchema = {"type": "object"}
    if properties:
        found["properties"] = properties
    if required:
        found["required"] = required
    found["additionalProperties"] = _one_of_many(others) if others else False
    if names and not properties:
        found["propertyNames"] = names
    pairs = [[one, two] for group in exclusive.values() for i, one in enumerate(group) for two in group[i + 1 :]]
    if pairs:
        found["allOf"] = [{"not": {"required": pair}} for pair in pairs]
    together = {name: [other for other in group if other != name] for group in inclusive.values() for name in group}
    if together:
        found["dependentRequired"] = together
    return found


def _inner(extra: int) -> int:
    """Yield nested mappings with their setting for extra keys, which voluptuous passes down."""
    return extra if extra in {ALLOW_EXTRA, PREVENT_EXTRA} else ALLOW_EXTRA


def _name_schema(key: Any) -> JsonSchema | None:
    converted = _convert(key, PREVENT_EXTRA, 0)
    return converted if "pattern" in converted or "enum" in converted else None


def _annotated(converted: JsonSchema, marker: Any) -> JsonSchema:
    found = dict(converted)
    description = getattr(marker, "description", None)
    if isinstance(description, str) and description:
        found["description"] = description
    if (asked := getattr(marker, "asked", None)) is not None:
        found["asked"] = asked
    default = _default(marker)
    if default is not UNDEFINED and _is_json(default):
        found["default"] = default
    return found


def _default(marker: Any) -> Any:
    factory = getattr(marker, "default", UNDEFINED)
    return factory() if callable(factory) and factory is not UNDEFINED else UNDEFINED


def _array(schema: Iterable[Any], extra: int, depth: int) -> JsonSchema:
    items = [_convert(each, extra, depth + 1) for each in schema]
    if not items:
        return {"type": "array", "maxItems": 0}
    return {"type": "array", "items": _one_of_many(items)}


def _all(validators: Iterable[Any], extra: int, depth: int) -> JsonSchema:
    found: JsonSchema = {}
    takes_one = False
    for validator in validators:
        if validator is as_list:
            takes_one = True
            continue
        part = _length(validator, found.get("type")) if isinstance(validator, Length) else None
        part = _convert(validator, extra, depth + 1) if part is None else part
        if all(key not in found or found[key] == value for key, value in part.items()):
            found.update(part)
        elif found.get("type") in {"integer", "number"} and part.keys() == {"type"}:
            continue
        else:
            found = {"allOf": [found, part]}
    if takes_one and found.get("type") == "array":
        return {"anyOf": [found, found.get("items", {})]}
    return found


def _any(validators: Iterable[Any], extra: int, depth: int) -> JsonSchema:
    return _one_of_many([_convert(each, extra, depth + 1) for each in validators])


def _one_of_many(options: list[JsonSchema]) -> JsonSchema:
    distinct: list[JsonSchema] = []
    for option in options:
        if option not in distinct:
            distinct.append(option)
    if len(distinct) == 1:
        return distinct[0]
    if {} in distinct:
        return {}
    if all(option.keys() == {"const"} for option in distinct):
        return {"enum": [option["const"] for option in distinct]}
    return {"anyOf": distinct}


def _choices(values: Any) -> JsonSchema:
    listed = [value.value if isinstance(value, Enum) else value for value in values]
    if isinstance(values, (set, frozenset)):
        listed.sort(key=str)
    return {"enum": listed} if listed and all(_is_json(value) for value in listed) else {}


def _range(schema: Any) -> JsonSchema:
    found: JsonSchema = {}
    if isinstance(schema.min, (int, float)):
        found["minimum" if schema.min_included else "exclusiveMinimum"] = schema.min
    if isinstance(schema.max, (int, float)):
        found["maximum" if schema.max_included else "exclusiveMaximum"] = schema.max
    return found


def _length(schema: Any, kind: Any) -> JsonSchema:
    noun = {"array": "Items", "object": "Properties"}.get(kind, "Length")
    limits = {f"min{noun}": schema.min, f"max{noun}": schema.max}
    return {key: value for key, value in limits.items() if isinstance(value, int)}


def _pattern(pattern: Any) -> str:
    """Return a pattern that is searched for, from one that must match from the start."""
    text: str = pattern.pattern if isinstance(pattern, re.Pattern) else str(pattern)
    return text if text.startswith("^") else f"^(?:{text})"


def _is_json(value: Any) -> bool:
    if value is None or isinstance(value, (str, bool, int)):
        return True
    if isinstance(value, float):
        return value == value and abs(value) != float("inf")
    if isinstance(value, Mapping):
        return all(isinstance(key, str) and _is_json(each) for key, each in value.items())
    return isinstance(value, list) and all(_is_json(each) for each in value)
