"""Queries a JSON Schema about one place: the valid keys, the valid values, and how to describe them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from hub.config.marks import value_at
from hub.config.paths import Key, KeyPath
from hub.core.json_schema import JsonSchema
from hub.core.phrases import phrase

_NOUNS = {
    "string": phrase("text"),
    "integer": phrase("a whole number"),
    "number": phrase("a number"),
    "boolean": phrase("true or false"),
    "object": phrase("a mapping"),
    "array": phrase("a list"),
    "null": phrase("nothing"),
}
A_SECRET = phrase("a secret, best given as !secret NAME")
CHOICES_SHOWN = 20
OF_ANOTHER_TYPE, OF_ANOTHER_VALUE = 1_000, 10
"""What contradictions count; a key that is missing counts 1."""


def schemas_at(schema: JsonSchema, keys: KeyPath, data: Any = None) -> list[JsonSchema]:
    """Return all schemas of the place `keys`; several where there are alternatives.

    Args:
        schema: JSON Schema of the whole.
        keys: The path to it.
        data: The whole as it is now; alternatives whose constant keys (`type: time`) it contradicts are left out.
    """
    found = list(_alternatives(schema, data))
    anchors: dict[str, JsonSchema] = {}
    for index, key in enumerate(keys):
        below = value_at(data, keys[: index + 1])
        inside = [inner for one in found for inner in _inside(one, key)]
        if not anchors and any("$ref" in inner for inner in inside):
            _find_anchors(schema, anchors)
        inside = [anchors.get(inner.get("$ref", "")[1:], inner) for inner in inside]
        found = [each for inner in inside for each in _alternatives(inner, below)]
    return found


def _find_anchors(schema: Any, found: dict[str, JsonSchema]) -> None:
    """Collect recursive parts by name: `$ref` leads back to them."""
    if isinstance(schema, dict):
        if "$anchor" in schema:
            found.setdefault(schema["$anchor"], schema)
        for each in schema.values():
            _find_anchors(each, found)
    elif isinstance(schema, list):
        for each in schema:
            _find_anchors(each, found)


def keys_at(schema: JsonSchema, keys: KeyPath, data: Any = None) -> dict[str, JsonSchema]:
    """Return the valid keys of the mapping at `keys`, each with its schema."""
    found: dict[str, JsonSchema] = {}
    for each in schemas_at(schema, keys, data):
        for name, inner in each.get("properties", {}).items():
            found.setdefault(name, inner)
    return found


def values_at(schema: JsonSchema, keys: KeyPath, data: Any = None) -> list[Any]:
    """Return the valid values at `keys`, if they are a closed set or have a default."""
    found: list[Any] = []
    for each in schemas_at(schema, keys, data):
        options = [*each.get("enum", ())]
        if "const" in each:
            options.append(each["const"])
        if each.get("type") == "boolean":
            options += [True, False]
        if "default" in each and not isinstance(each["default"], (dict, list)):
            options.append(each["default"])
        for option in options:
            if not any(option == old and type(option) is type(old) for old in found):
                found.append(option)
    return found


def is_secret_at(schema: JsonSchema, keys: KeyPath) -> bool:
    """Return whether the value at `keys` may be a secret and is not shown."""
    return any(each.get("writeOnly") for each in schemas_at(schema, keys))


def places_of_format(schema: JsonSchema, data: Any, formats: Collection[str]) -> Iterator[tuple[KeyPath, JsonSchema]]:
    """Yield the places of texts in `data` whose schema has one of the formats, each with that schema."""
    anchors: dict[str, JsonSchema] = {}
    _find_anchors(schema, anchors)
    yield from _of_format([schema], data, (), formats, anchors)


def _of_format(
    schemas: Iterable[JsonSchema],
    data: Any,
    keys: KeyPath,
    formats: Collection[str],
    anchors: Mapping[str, JsonSchema],
) -> Iterator[tuple[KeyPath, JsonSchema]]:
    found = [each for one in schemas for each in _alternatives(anchors.get(one.get("$ref", "")[1:], one), data)]
    if isinstance(data, str):
        yield from ((keys, each) for each in found if each.get("format") in formats)
        return
    inner: Iterable[tuple[Key, Any]] = ()
    if isinstance(data, Mapping):
        inner = data.items()
    elif isinstance(data, list | tuple):
        inner = enumerate(data)
    for key, value in inner:
        below = [each for one in found for each in _inside(one, key)]
        yield from _of_format(below, value, (*keys, key), formats, anchors)


def describe_expected(schema: JsonSchema, keys: KeyPath, data: Any = None) -> str:
    """Return a description of the value expected at `keys`; empty if unknown."""
    words: list[str] = []
    for each in schemas_at(schema, keys, data):
        word = _words(each)
        if not word:
            return ""
        if word not in words:
            words.append(word)
    return _or(words)


def choices_in_words(values: Iterable[Any]) -> str:
    """Return values as written in YAML: `a, b or c`."""
    shown = [_shown(value) for value in values]
    if len(shown) > CHOICES_SHOWN:
        return phrase("{choices}, …", choices=shown[:CHOICES_SHOWN])
    return shown[0] if len(shown) == 1 else phrase("{choices} or {last}", choices=shown[:-1], last=shown[-1])


def _or(words: list[str]) -> str:
    if len(words) > 1:
        return phrase("{choices} or {last}", choices=words[:-1], last=words[-1])
    return words[0] if words else ""


def _words(schema: JsonSchema) -> str:
    if schema.get("writeOnly"):
        return A_SECRET
    if "enum" in schema:
        return choices_in_words(schema["enum"])
    if "const" in schema:
        return _shown(schema["const"])
    kind = schema.get("type")
    if isinstance(kind, list):
        return _or([_NOUNS.get(each, str(each)) for each in kind])
    return _NOUNS.get(kind or "", "")


def _shown(value: Any) -> str:
    if value is None:
        return phrase("nothing")
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def _alternatives(schema: JsonSchema, data: Any) -> Iterable[JsonSchema]:
    options = schema.get("anyOf")
    if options is None:
        together = schema.get("allOf")
        if together and not any("not" in each for each in together):
            for each in together:
                yield from _alternatives(each, data)
            return
        yield schema
        return
    against = [_contradictions(option, data) for option in options]
    for option, count in zip(options, against, strict=True):
        if count == min(against):
            yield from _alternatives(option, data)


def _contradictions(schema: JsonSchema, data: Any) -> int:
    """Return the number of contradictions between data and an alternative: its type, or its constants."""
    kind = schema.get("type")
    kinds = kind if isinstance(kind, list) else [] if kind is None else [kind]
    if kinds and isinstance(data, (dict, list)) and ("object" if isinstance(data, dict) else "array") not in kinds:
        return OF_ANOTHER_TYPE
    if not kinds and isinstance(data, (dict, list)) and schema.keys() & {"enum", "const"}:
        return OF_ANOTHER_TYPE
    if kinds and data is not None and not isinstance(data, (dict, list)) and not set(kinds) - {"object", "array"}:
        return OF_ANOTHER_TYPE
    if not isinstance(data, dict):
        return 0
    count = sum(name not in data and "platform" not in data for name in schema.get("required", ()))
    if any(name in data for name in schema.get("not", {}).get("required", ())):
        return OF_ANOTHER_TYPE
    for name, inner in schema.get("properties", {}).items():
        allowed = [inner["const"]] if "const" in inner else inner.get("enum")
        count += OF_ANOTHER_VALUE * (allowed is not None and name in data and data[name] not in allowed)
    return count


def _inside(schema: JsonSchema, key: str | int) -> Iterable[JsonSchema]:
    if isinstance(key, int):
        items = schema.get("items")
        if isinstance(items, dict):
            yield items
        return
    properties = schema.get("properties", {})
    if key in properties:
        yield properties[key]
        return
    others = schema.get("additionalProperties")
    if isinstance(others, dict):
        yield others
