"""The validators that the hub's schemas share, and how their errors are chosen."""

from __future__ import annotations

from typing import Any

import pytest

from hub.core.schema import (
    ALLOW_EXTRA,
    REMOVE_EXTRA,
    AnyOf,
    Invalid,
    MultipleInvalid,
    Required,
    Schema,
    SchemaError,
    boolean,
    describe_error,
    each_error,
    entity_id,
    integer,
    number,
    port,
    positive_seconds,
    secret,
    slug,
    string,
    time_zone,
    url,
)
from hub.core.schema_bounds import ERRORS_LIMIT, MESSAGE_LIMIT_BYTES, UNKNOWN_KEYS_LIMIT
from hub.core.secret import Secret


def paths(schema: Any, value: Any) -> list[list[Any]]:
    with pytest.raises(SchemaError) as raised:
        Schema(schema)(value)
    return [list(map(str, error.path)) for error in each_error(raised.value)]


@pytest.mark.parametrize(
    ("validator", "value", "valid"),
    [
        (boolean, "yes", True),
        (boolean, "Off", False),
        (string, 5, "5"),
        (integer, -3, -3),
        (number, 1.5, 1.5),
        (port, 0, 0),
        (positive_seconds, "1h 30m", 5400),
        (positive_seconds, "00:10:00", 600),
        (positive_seconds, 5, 5),
        (slug, "a-b_1", "a-b_1"),
        (entity_id, "light.kitchen", "light.kitchen"),
        (time_zone, "Europe/Berlin", "Europe/Berlin"),
        (url, "http://x/v1/", "http://x/v1"),
    ],
)
def test_what_is_meant_is_accepted(validator: Any, value: Any, valid: Any) -> None:
    assert validator(value) == valid


@pytest.mark.parametrize(
    ("validator", "value"),
    [
        (boolean, "maybe"),
        (boolean, 1),
        (string, True),
        (string, None),
        (string, []),
        (integer, True),
        (integer, 1.0),
        (number, float("nan")),
        (number, float("inf")),
        (number, "5"),
        (port, 65536),
        (port, True),
        (positive_seconds, 0),
        (positive_seconds, "soon"),
        (positive_seconds, ""),
        (slug, "A"),
        (slug, "anna\n"),
        (entity_id, "light.kitchen\n"),
        (slug, "a" * 65),
        (entity_id, "kitchen"),
        (time_zone, "Mars/Olympus"),
        (time_zone, "../../etc/passwd"),
        (url, "ftp://x"),
        (url, "http://user@x"),
        (secret, ""),
        (secret, 5),
    ],
)
def test_what_is_not_meant_is_refused(validator: Any, value: Any) -> None:
    with pytest.raises(Invalid, match="expected"):
        validator(value)


def test_a_secret_is_wrapped_and_never_shown() -> None:
    assert secret("abc") == Secret("abc")
    with pytest.raises(Invalid) as raised:
        Schema(url)(Secret("http://token"))
    assert "token" not in str(raised.value)


def test_all_items_of_a_list_are_told() -> None:
    schema = [{Required("id"): slug, "inner": [{"n": integer}]}]

    found = paths(schema, [{"id": "A"}, {"id": "ok"}, {"inner": [{"n": "x"}, {"n": 1}, {"n": "y"}]}])

    assert sorted(found) == [["0", "id"], ["2", "id"], ["2", "inner", "0", "n"], ["2", "inner", "2", "n"]]


def test_the_alternative_whose_constant_fits_is_explained() -> None:
    alternatives = AnyOf({Required("type"): "time", Required("at"): string}, {Required("type"): "event", "name": slug})

    assert paths(alternatives, {"type": "event", "name": "A B"}) == [["name"]]
    assert paths(alternatives, {"type": "event", "nmae": "x"}) == [["nmae"]]
    assert paths([alternatives], [{"type": "time"}]) == [["0", "at"]]


def test_the_first_alternative_that_fits_is_taken() -> None:
    assert Schema(AnyOf(integer, string))("5") == "5"
    assert Schema(AnyOf(string, integer))(5) == "5"


def test_a_schema_error_fits_on_a_line() -> None:
    with pytest.raises(SchemaError) as raised:
        Schema({"a": [integer], "b": integer})({"a": ["x"], "b": "y"})

    assert describe_error(raised.value).count("expected a whole number") == 2
    assert "\n" not in describe_error(raised.value)


class Counted:
    """A validator that counts what it is asked."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, value: Any) -> Any:
        self.count += 1
        return integer(value)


def many(count: int, value: Any) -> dict[str, Any]:
    return {f"k{number}": value for number in range(count)}


@pytest.mark.parametrize("data", [many(100_000, "x"), {"list": ["x"] * 100_000}, {"a": many(100_000, "x")}])
def test_a_check_stops_after_twenty_errors(data: dict[str, Any]) -> None:
    counted = Counted()
    schema = Schema({"list": [counted], "a": {str: counted}, str: counted})

    with pytest.raises(SchemaError) as raised:
        schema(data)

    assert len(list(each_error(raised.value))) == ERRORS_LIMIT
    assert counted.count <= ERRORS_LIMIT + UNKNOWN_KEYS_LIMIT


def test_more_than_64_unknown_keys_are_one_error() -> None:
    schema = Schema({"a": integer, "b": {"c": integer}})

    assert len(paths(schema, many(UNKNOWN_KEYS_LIMIT, 1))) == ERRORS_LIMIT
    assert paths(schema, many(100_000, 1)) == [[]]
    assert paths(schema, {"b": many(100_000, 1)}) == [["b"]]


def test_a_mapping_of_many_keys_is_valid_where_they_are_allowed() -> None:
    data = {"a": 1, **many(1_000, 2)}

    assert Schema({"a": integer, str: integer})(data) == data
    assert Schema({"a": integer}, extra=ALLOW_EXTRA)(data) == data
    assert Schema({"a": integer}, extra=REMOVE_EXTRA)(data) == {"a": 1}
    assert paths(Schema({Required("z"): integer, str: integer}), data) == [["z"]]


def test_a_described_error_has_at_most_2_kb() -> None:
    with pytest.raises(SchemaError) as raised:
        Schema({"a": integer})({"ü" * 100_000 + str(number): 1 for number in range(30)})

    assert 1_000 < len(describe_error(raised.value).encode()) <= MESSAGE_LIMIT_BYTES


class Compiled:
    """A validator that counts how often it is compiled."""

    def __init__(self) -> None:
        self.count = 0

    def __voluptuous_compile__(self, schema: Any) -> Any:
        self.count += 1
        return lambda path, value: value


def test_a_schema_is_compiled_once_and_not_before_it_judges() -> None:
    validator = Compiled()

    schema = Schema({Required("a"): validator})
    before = validator.count
    schema({"a": 1})
    schema({"a": 2})

    assert (before, validator.count) == (0, 1)


def test_a_schema_keeps_what_it_was_told_of_keys_that_are_not_in_it() -> None:
    assert Schema({"a": integer}, extra=ALLOW_EXTRA)({"b": 1}) == {"b": 1}
    assert Schema({"a": integer}, required=True).extend({"b": integer}).required


def test_keys_that_are_missing_are_told_in_one_order() -> None:
    wanted = Schema({Required(key): string for key in "qwertyuiop"})

    with pytest.raises(MultipleInvalid) as refused:
        wanted({"q": "a", "x": 1})

    assert [error.path for error in refused.value.errors] == [["x"], *([key] for key in "eioprtuwy")]
