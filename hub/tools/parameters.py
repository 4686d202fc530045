"""Parameters of tools: from a voluptuous schema of ours, or from JSON Schema of others."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from hub.core.errors import InvalidRequest
from hub.core.json_schema import to_json_schema
from hub.core.schema import REQUIRED_MESSAGE, Schema, SchemaError, describe_error, each_error
from hub.tools.contract import Parameters
from hub.tools.json_check import check_schema, find_problems

PROBLEMS_SHOWN = 5
_EXTRA = "extra keys not allowed"
_OBJECT = re.compile(r"expected (a dictionary|dict)$")


def from_schema(schema: Schema | Mapping[Any, Any]) -> Parameters:
    """Return the parameters that a voluptuous schema of a mapping describes."""
    checked = schema if isinstance(schema, Schema) else Schema(dict(schema))
    shown = to_json_schema(checked)

    def validate(arguments: Mapping[str, Any]) -> dict[str, Any]:
        try:
            valid: dict[str, Any] = checked(dict(arguments))
        except SchemaError as error:
            problems = sorted(_problem(each, shown) for each in each_error(error))
            raise _invalid("; ".join(problems[:PROBLEMS_SHOWN]), shown) from error
        return valid

    return Parameters(shown, validate)


def from_json_schema(schema: Mapping[str, Any]) -> Parameters:
    """Return the parameters that a JSON Schema of an object describes.

    Raises:
        InvalidRequest: It is not a schema of an object, or is nested too deeply.
    """
    shown = dict(schema)
    if shown.setdefault("type", "object") != "object":
        raise InvalidRequest("the parameters of a tool are a JSON Schema of type object")
    check_schema(shown)

    def validate(arguments: Mapping[str, Any]) -> dict[str, Any]:
        valid = dict(arguments)
        problems = find_problems(valid, shown)
        if problems:
            raise _invalid("; ".join(problems[:PROBLEMS_SHOWN]), shown)
        return valid

    return Parameters(shown, validate)


def _problem(error: SchemaError, schema: Mapping[str, Any]) -> str:
    """Return the error of one argument, and the expected value."""
    said = _OBJECT.sub("expected an object", describe_error(error))
    if error.msg == REQUIRED_MESSAGE:
        expected = _described(schema, error.path)
        kind = ", ".join(map(str, expected.get("enum", ()))) or expected.get("type")
        return f"{said} ({kind})" if kind else said
    if said.endswith(_EXTRA) and len(error.path) > 1:
        return f"{said}; there can be {', '.join(_described(schema, error.path[:-1]).get('properties', ()))}"
    return said


def _described(schema: Mapping[str, Any], path: Sequence[Any]) -> Mapping[str, Any]:
    """Return the subschema of a place; empty where there are alternatives."""
    here = schema
    for part in path:
        found = here.get("items") if isinstance(part, int) else here.get("properties", {}).get(str(part))
        if not isinstance(found, Mapping):
            return {}
        here = found
    return here


def _invalid(problems: str, schema: Mapping[str, Any]) -> InvalidRequest:
    properties = schema.get("properties")
    names = ", ".join(sorted(properties)) if isinstance(properties, Mapping) and properties else "none"
    return InvalidRequest(f"invalid arguments: {problems}. The parameters are: {names}")
