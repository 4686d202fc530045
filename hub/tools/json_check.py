"""Checks values against JSON Schema as MCP servers and nodes send it: the subset for tool parameters.

The schema comes from outside, so the work is counted and stops at a limit: a few lines of choices inside choices take
a validator without one (jsonschema, jsonschema-rs) for ever. `pattern` and `format` are not evaluated: a pattern from
outside could stall the hub, and the sender of the schema checks its own. Unknown keywords are ignored, as the
specification says.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

from hub.core.errors import InvalidRequest

DEPTH_LIMIT = 64
NODE_LIMIT = 20_000
PROBLEM_LIMIT = 20
STEP_LIMIT = 50_000
"""The most schemas applied to one value: choices inside choices multiply."""

_TYPES: Mapping[str, type | tuple[type, ...]] = {
    "object": Mapping,
    "array": (list, tuple),
    "string": str,
    "boolean": bool,
    "null": type(None),
}
_BOUNDS: Mapping[str, str] = {
    "minimum": "at least",
    "maximum": "at most",
    "exclusiveMinimum": "more than",
    "exclusiveMaximum": "less than",
}


def check_schema(schema: Mapping[str, Any]) -> None:
    """Check that a schema is small and shallow enough to be used.

    Raises:
        InvalidRequest: It is too large or too deep.
    """
    count = 0
    waiting: list[tuple[Any, int]] = [(schema, 0)]
    while waiting:
        value, depth = waiting.pop()
        count += 1
        if depth > DEPTH_LIMIT or count > NODE_LIMIT:
            raise InvalidRequest(
                f"the schema of a tool is nested over {DEPTH_LIMIT} deep or has over {NODE_LIMIT} parts"
            )
        if isinstance(value, Mapping):
            waiting.extend((item, depth + 1) for item in value.values())
        elif isinstance(value, (list, tuple)):
            waiting.extend((item, depth + 1) for item in value)


class _Work(Struct):
    """The whole schema, for its references, and the number of schemas applied so far."""

    root: Mapping[str, Any]
    steps: int = 0


def find_problems(value: Any, schema: Mapping[str, Any]) -> list[str]:
    """Return the problems of `value`, each as `path: what was expected`; empty if it is valid."""
    found: list[str] = []
    for problem in _problems(value, schema, _Work(schema), "", 0):
        found.append(problem)
        if len(found) >= PROBLEM_LIMIT:
            break
    return found


def _problems(value: Any, schema: Any, work: _Work, path: str, depth: int) -> Iterator[str]:
    if schema is True or not isinstance(schema, Mapping):
        if schema is False:
            yield _at(path, "nothing is allowed here")
        return
    work.steps += 1
    if depth > DEPTH_LIMIT or work.steps > STEP_LIMIT:
        yield _at(path, "the schema is too complicated to check this against")
        return
    if "$ref" in schema:
        target = _resolve(str(schema["$ref"]), work.root)
        if target is None:
            yield _at(path, f"the schema refers to {schema['$ref']!r}, which it does not have")
            return
        yield from _problems(value, target, work, path, depth + 1)
    if "type" in schema and not _is_type(value, schema["type"]):
        yield _at(path, f"expected {_words(schema['type'])}, got {_show(value)}")
        return
    choices = _list(schema.get("enum"))
    if choices and not any(_same(value, choice) for choice in choices):
        allowed = ", ".join(_show(each) for each in choices[:20])
        yield _at(path, f"expected one of {allowed}, got {_show(value)}")
    if "const" in schema and not _same(value, schema["const"]):
        yield _at(path, f"expected {_show(schema['const'])}, got {_show(value)}")
    yield from _combined(value, schema, work, path, depth)
    if isinstance(value, Mapping):
        yield from _object(value, schema, work, path, depth)
    elif isinstance(value, (list, tuple)):
        yield from _array(value, schema, work, path, depth)
    elif isinstance(value, str):
        yield from _length(len(value), schema, "minLength", "maxLength", "characters", path)
    elif _is_type(value, "number"):
        yield from _number(value, schema, path)


def _combined(value: Any, schema: Mapping[str, Any], work: _Work, path: str, depth: int) -> Iterator[str]:
    for part in _list(schema.get("allOf")):
        yield from _problems(value, part, work, path, depth + 1)
    for keyword in ("anyOf", "oneOf"):
        choices = _list(schema.get(keyword))
        if not choices:
            continue
        attempts = [list(_problems(value, choice, work, path, depth + 1)) for choice in choices]
        fitting = sum(not attempt for attempt in attempts)
        if fitting == 0:
            yield (
                min(attempts, key=len)[0]
                if len(choices) == 1
                else _at(path, "fits none of the choices: " + " / ".join(attempt[0] for attempt in attempts[:5]))
            )
        elif keyword == "oneOf" and fitting > 1:
            yield _at(path, f"fits {fitting} of the choices, expected one")
    if "not" in schema and not list(_problems(value, schema["not"], work, path, depth + 1)):
        yield _at(path, "is what the schema rules out")


def _object(value: Mapping[Any, Any], schema: Mapping[str, Any], work: _Work, path: str, depth: int) -> Iterator[str]:
    properties = schema.get("properties")
    properties = properties if isinstance(properties, Mapping) else {}
    for name in _list(schema.get("required")):
        if isinstance(name, str) and name not in value:
            yield _at(_join(path, name), "required")
    extra = schema.get("additionalProperties", True)
    for name, item in value.items():
        if name in properties:
            yield from _problems(item, properties[name], work, _join(path, name), depth + 1)
        elif extra is False and "patternProperties" not in schema:
            yield _at(_join(path, name), "not a parameter")
        elif isinstance(extra, Mapping):
            yield from _problems(item, extra, work, _join(path, name), depth + 1)
    yield from _length(len(value), schema, "minProperties", "maxProperties", "keys", path)


def _array(
    value: list[Any] | tuple[Any, ...], schema: Mapping[str, Any], work: _Work, path: str, depth: int
) -> Iterator[str]:
    first = _list(schema.get("prefixItems"))
    rest = schema.get("items", True)
    for number, item in enumerate(value):
        yield from _problems(item, first[number] if number < len(first) else rest, work, f"{path}[{number}]", depth + 1)
    yield from _length(len(value), schema, "minItems", "maxItems", "items", path)
    if schema.get("uniqueItems") is True and any(
        _same(item, other) for number, item in enumerate(value[:1_000]) for other in value[:number]
    ):
        yield _at(path, "an item occurs twice")


def _number(value: float, schema: Mapping[str, Any], path: str) -> Iterator[str]:
    fits: bool
    for keyword, words in _BOUNDS.items():
        bound: Any = schema.get(keyword)
        if not _is_type(bound, "number"):
            continue
        match keyword:
            case "minimum":
                fits = value >= bound
            case "maximum":
                fits = value <= bound
            case "exclusiveMinimum":
                fits = value > bound
            case _:
                fits = value < bound
        if not fits:
            yield _at(path, f"expected {words} {bound}, got {value}")
    step: Any = schema.get("multipleOf")
    if _is_type(step, "number") and not _is_multiple(value, step):
        yield _at(path, f"expected a multiple of {step}, got {value}")


def _is_multiple(value: float, step: float) -> bool:
    try:
        return abs(value / step - round(value / step)) < 1e-9
    except (ArithmeticError, ValueError):
        return False


def _length(size: int, schema: Mapping[str, Any], at_least: str, at_most: str, unit: str, path: str) -> Iterator[str]:
    least, most = schema.get(at_least), schema.get(at_most)
    if isinstance(least, int) and size < least:
        yield _at(path, f"expected at least {least} {unit}, got {size}")
    if isinstance(most, int) and size > most:
        yield _at(path, f"expected at most {most} {unit}, got {size}")


def _resolve(reference: str, root: Mapping[str, Any]) -> Any:
    if reference == "#":
        return root
    if not reference.startswith("#/"):
        return None
    at: Any = root
    for part in reference[2:].split("/"):
        key = part.replace("~1", "/").replace("~0", "~")
        if not isinstance(at, Mapping) or key not in at:
            return None
        at = at[key]
    return at


def _is_type(value: Any, wanted: Any) -> bool:
    if isinstance(wanted, (list, tuple)):
        return any(_is_type(value, each) for each in wanted)
    if wanted == "integer":
        return (isinstance(value, int) and not isinstance(value, bool)) or (
            isinstance(value, float) and value.is_integer()
        )
    if wanted == "number":
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    known = _TYPES.get(str(wanted))
    return known is None or isinstance(value, known)


def _same(value: Any, other: Any) -> bool:
    return isinstance(value, bool) == isinstance(other, bool) and bool(value == other)


def _list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else []


def _words(wanted: Any) -> str:
    names = wanted if isinstance(wanted, (list, tuple)) else [wanted]
    return " or ".join(str(name) for name in names)


def _join(path: str, name: Any) -> str:
    return f"{path}.{name}" if path else str(name)


def _at(path: str, problem: str) -> str:
    return f"{path}: {problem}" if path else problem


def _show(value: Any) -> str:
    if isinstance(value, Mapping):
        return "an object"
    if isinstance(value, (list, tuple)):
        return "a list"
    if value is None:
        return "null"
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
