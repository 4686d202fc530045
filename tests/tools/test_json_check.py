"""Arguments against JSON Schema as MCP servers and nodes send it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from hub.core.errors import InvalidRequest
from hub.tools.json_check import find_problems
from hub.tools.parameters import from_json_schema
from tests.lengths import examples


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({}, {"anything": 1}),
        ({"type": "integer"}, 3),
        ({"type": "integer"}, 3.0),
        ({"type": ["string", "null"]}, None),
        ({"enum": ["a", 1, None]}, None),
        ({"const": True}, True),
        ({"minimum": 1, "maximum": 3, "multipleOf": 0.5}, 2.5),
        ({"minLength": 1, "maxLength": 2}, "ab"),
        ({"type": "array", "items": {"type": "string"}, "minItems": 1, "uniqueItems": True}, ["a", "b"]),
        ({"prefixItems": [{"type": "string"}], "items": {"type": "integer"}}, ["a", 1, 2]),
        ({"anyOf": [{"type": "string"}, {"type": "integer"}]}, 1),
        ({"oneOf": [{"type": "string"}, {"type": "integer"}]}, "a"),
        ({"allOf": [{"minimum": 1}, {"maximum": 3}]}, 2),
        ({"not": {"type": "string"}}, 1),
        ({"$ref": "#/$defs/x", "$defs": {"x": {"type": "string"}}}, "a"),
        ({"type": "whatever-comes-next"}, 1),
        ({"type": "string", "pattern": "(a+)+$", "format": "email"}, "a" * 50 + "!"),
        ({"additionalProperties": {"type": "integer"}}, {"a": 1}),
        (True, 1),
    ],
)
def test_what_fits_is_let_pass(schema: Any, value: Any) -> None:
    assert find_problems(value, schema if isinstance(schema, dict) else {"allOf": [schema]}) == []


@pytest.mark.parametrize(
    ("schema", "value", "problem"),
    [
        ({"type": "integer"}, True, "expected integer, got True"),
        ({"type": "integer"}, "3", "expected integer, got '3'"),
        ({"type": "number"}, False, "expected number, got False"),
        ({"enum": ["a", 1]}, True, "expected one of 'a', 1, got True"),
        ({"const": 1}, True, "expected 1, got True"),
        ({"exclusiveMinimum": 1}, 1, "expected more than 1, got 1"),
        ({"maximum": 1}, 2, "expected at most 1, got 2"),
        ({"maxLength": 1}, "ab", "expected at most 1 characters, got 2"),
        ({"properties": {"a": {"type": "string"}}}, {"a": 1}, "a: expected string, got 1"),
        ({"required": ["a"]}, {}, "a: required"),
        ({"properties": {}, "additionalProperties": False}, {"b": 1}, "b: not a parameter"),
        ({"items": {"required": ["x"]}}, [{"x": 1}, {}], "[1].x: required"),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, 1, "fits none of the choices"),
        ({"oneOf": [{"minimum": 1}, {"minimum": 2}]}, 3, "fits 2 of the choices"),
        ({"not": {"type": "string"}}, "a", "rules out"),
        ({"$ref": "#/$defs/gone"}, 1, "refers to '#/$defs/gone'"),
        ({"$ref": "https://example.org/x"}, 1, "refers to"),
        ({"$ref": "#"}, 1, "too complicated"),
        ({"uniqueItems": True}, [1, 1], "twice"),
    ],
)
def test_what_does_not_fit_says_where_and_why(schema: dict[str, Any], value: Any, problem: str) -> None:
    assert problem in "; ".join(find_problems(value, schema))


def test_choices_inside_choices_come_to_an_end() -> None:
    bomb: dict[str, Any] = {"$defs": {"x": {"anyOf": [{"$ref": "#/$defs/x"}] * 8}}, "$ref": "#/$defs/x"}

    assert find_problems(1, bomb)


def test_choices_that_multiply_come_to_an_end() -> None:
    choices = {f"x{n}": {"anyOf": [{"$ref": f"#/$defs/x{n + 1}"}] * 8} for n in range(30)}
    schema = {"$defs": {**choices, "x30": {"type": "string"}}, "$ref": "#/$defs/x0"}

    assert "too complicated" in find_problems(1, schema)[0]


def test_a_schema_too_deep_to_be_worked_with_is_refused() -> None:
    deep: dict[str, Any] = {}
    for _ in range(100):
        deep = {"properties": {"a": deep}}

    with pytest.raises(InvalidRequest, match="nested"):
        from_json_schema(deep)


def test_parameters_are_an_object() -> None:
    with pytest.raises(InvalidRequest):
        from_json_schema({"type": "string"})
    with pytest.raises(InvalidRequest, match=r"city: required.*parameters are: city"):
        from_json_schema({"properties": {"city": {"type": "string"}}, "required": ["city"]}).validate({})


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=15,
)
KEYWORDS = st.sampled_from(
    (
        *("type", "enum", "const", "properties", "required", "items", "anyOf", "oneOf", "allOf", "not", "$ref"),
        *("minimum", "additionalProperties", "maxLength", "multipleOf", "prefixItems", "minItems", "uniqueItems"),
    )
)


@settings(deadline=None, max_examples=examples(400))
@given(JSON, st.dictionaries(KEYWORDS, JSON, min_size=1, max_size=3))
def test_whatever_a_schema_says_the_check_ends_with_an_answer(value: Any, schema: dict[str, Any]) -> None:
    assert isinstance(find_problems(value, schema), list)
