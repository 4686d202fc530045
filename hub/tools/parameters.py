"""Parameters of tools: from a voluptuous schema of ours, or from JSON Schema as others bring it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hub.core.errors import InvalidRequest
from hub.core.json_schema import to_json_schema
from hub.core.schema import Schema, SchemaError, describe_error
from hub.tools.contract import Parameters
from hub.tools.json_check import check_schema, find_problems

PROBLEMS_SHOWN = 5


def from_schema(schema: Schema | Mapping[Any, Any]) -> Parameters:
    """Return the parameters that a voluptuous schema of a mapping describes."""
    checked = schema if isinstance(schema, Schema) else Schema(dict(schema))
    shown = to_json_schema(checked)

    def validate(arguments: Mapping[str, Any]) -> dict[str, Any]:
        try:
            valid: dict[str, Any] = checked(dict(arguments))
        except SchemaError as error:
            raise _invalid(describe_error(error), shown) from error
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


def _invalid(problems: str, schema: Mapping[str, Any]) -> InvalidRequest:
    properties = schema.get("properties")
    names = ", ".join(sorted(properties)) if isinstance(properties, Mapping) and properties else "none"
    return InvalidRequest(f"invalid arguments: {problems}. The parameters are: {names}")
