"""JSON Schema from the schemas that validate."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import pytest

from hub.core.json_schema import to_json_schema
from hub.core.schema import (
    ALLOW_EXTRA,
    All,
    AnyOf,
    Coerce,
    Exclusive,
    Extra,
    In,
    Inclusive,
    Length,
    Match,
    Optional,
    Range,
    Remove,
    Required,
    Schema,
    boolean,
    ensure_list,
    integer,
    number,
    port,
    positive_seconds,
    secret,
    slug,
    string,
    url,
)


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        (str, {"type": "string"}),
        (int, {"type": "integer"}),
        (None, {"const": None}),
        ("exactly", {"const": "exactly"}),
        (True, {"const": True}),
        (object, {}),
        ([str], {"type": "array", "items": {"type": "string"}}),
        ([str, int], {"type": "array", "items": {"anyOf": [{"type": "string"}, {"type": "integer"}]}}),
        ([], {"type": "array", "maxItems": 0}),
        (In(["a", "b"]), {"enum": ["a", "b"]}),
        (In({"b", "a"}), {"enum": ["a", "b"]}),
        (Coerce(int), {"type": "integer"}),
        (Coerce(Colour), {"enum": ["red", "blue"]}),
        (AnyOf("a", "b"), {"enum": ["a", "b"]}),
        (AnyOf(None, int), {"anyOf": [{"const": None}, {"type": "integer"}]}),
        (AnyOf(str, lambda value: value), {}),
        (Match("ab+"), {"type": "string", "pattern": "^(?:ab+)"}),
        (All(integer, Range(min=1, max=9)), {"type": "integer", "minimum": 1, "maximum": 9}),
        (All(number, Range(min=0, min_included=False)), {"type": "number", "exclusiveMinimum": 0}),
        (All(string, Length(min=1, max=5)), {"type": "string", "minLength": 1, "maxLength": 5}),
        (All([int], Length(max=2)), {"type": "array", "items": {"type": "integer"}, "maxItems": 2}),
        (All(dict, Length(min=1)), {"type": "object", "minProperties": 1}),
        (ensure_list(int), {"anyOf": [{"type": "array", "items": {"type": "integer"}}, {"type": "integer"}]}),
        (secret, {"type": "string", "writeOnly": True}),
        (boolean, {"type": "boolean"}),
        (lambda value: value, {}),
    ],
)  # fmt: skip
def test_each_form_has_its_json_schema(schema: Any, expected: dict[str, Any]) -> None:
    assert to_json_schema(schema) == expected
    assert to_json_schema(Schema(schema)) == expected


def test_keys_have_descriptions_defaults_and_are_required_as_stated() -> None:
    schema = Schema(
        {
            Required("host", description="Where"): url,
            Required("port", default=80): port,
            Optional("tags", default=list): [string],
            Optional("wait"): positive_seconds,
            Remove("old"): str,
        }
    )

    assert to_json_schema(schema) == {
        "type": "object",
        "properties": {
            "host": {"type": "string", "format": "uri", "description": "Where"},
            "port": {"type": "integer", "minimum": 0, "maximum": 65535, "default": 80},
            "tags": {"type": "array", "items": {"type": "string"}, "default": []},
            "wait": {"type": ["number", "string"]},
            "old": {},
        },
        "required": ["host"],
        "additionalProperties": False,
    }


def test_other_keys_are_open_closed_or_described() -> None:
    assert to_json_schema(Schema({"a": int}, extra=ALLOW_EXTRA))["additionalProperties"] == {}
    assert to_json_schema({"a": int, Extra: str})["additionalProperties"] == {"type": "string"}
    assert to_json_schema({slug: int})["propertyNames"]["pattern"].startswith("^[a-z0-9]")
    assert to_json_schema({})["additionalProperties"] is False


def test_groups_of_keys_that_exclude_or_need_each_other_are_kept() -> None:
    found = to_json_schema(
        {Exclusive("a", "x"): int, Exclusive("b", "x"): int, Inclusive("c", "y"): int, Inclusive("d", "y"): int}
    )

    assert found["allOf"] == [{"not": {"required": ["a", "b"]}}]
    assert found["dependentRequired"] == {"c": ["d"], "d": ["c"]}


def test_a_schema_without_end_is_cut() -> None:
    endless: dict[str, Any] = {}
    endless["again"] = endless

    assert "properties" in to_json_schema(endless)


def test_what_is_made_is_json_schema() -> None:
    validator = pytest.importorskip("jsonschema").Draft202012Validator
    schema = to_json_schema({"a": ensure_list({Required("b"): AnyOf(All(integer, Range(min=1)), In(["x"]))})})

    validator.check_schema(schema)

    assert validator(schema).is_valid({"a": [{"b": 5}, {"b": "x"}]})
    assert not validator(schema).is_valid({"a": [{"b": 0}]})
