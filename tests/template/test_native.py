"""Rendered texts become the values that they stand for, and nothing becomes a number that only looks like one."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, strategies as st

from hub.template.native import PARSED_CHARS, as_bool, parse_result


@pytest.mark.parametrize(
    ("text", "value"),
    [
        *[("1", 1), ("-1", -1), ("0", 0), ("1.0", 1.0), (".5", 0.5), ("5.", 5.0), ("0.50", 0.5), ("-0.5", -0.5)],
        *[("True", True), ("False", False), ("None", None), ("[1, 'a']", [1, "a"]), ("{'a': 1}", {"a": 1})],
        *[("(1, 2)", (1, 2)), ("120,50", (120, 50)), ("{1}", {1}), ("[[], {}]", [[], {}]), ("b'x'", b"x")],
    ],
)
def test_a_literal_becomes_its_value(text: str, value: Any) -> None:
    result = parse_result(text)

    assert result == value
    assert type(result) is type(value)


@pytest.mark.parametrize(
    "text",
    [
        *["", "x", "0x1f", "0b1", "0o7", "007", "00", "+5", "+49301234", "1_000", "1e3", "1E5", "1j", "-", ".", "-."],
        *["1.2.3", "2026-03-14", "12:30", "true", "yes", "nan", "inf", "'quoted'", '"quoted"', "[1", "{'a'", "[x]"],
        *["f'x'", "[f()]", "1 2", "--1", "٣", "1" * 80, "(" * 500, "[" * 500, "{[]: 1}", "...", "None "],
    ],
)
def test_anything_else_stays_text(text: str) -> None:
    assert parse_result(text) == text
    assert isinstance(parse_result(text), str)


def test_a_long_result_stays_text() -> None:
    text = f"[{'1,' * PARSED_CHARS}]"

    assert parse_result(text) == text


@given(st.text(alphabet="0123456789+-._eExXjJ()[]{}'\",: abTrueFalsNon\\", max_size=40))
def test_no_text_breaks_the_reading(text: str) -> None:
    value = parse_result(text)

    assert not isinstance(value, complex)
    assert not isinstance(value, str) or value == text


@given(st.integers(-(10**15), 10**15))
def test_whole_numbers_survive(number: int) -> None:
    assert parse_result(str(number)) == number


@pytest.mark.parametrize("value", [True, "true", "True", " YES ", "on", "enable", "1", 1, -2, 0.5, "3", "0.1"])
def test_a_condition_says_yes(value: Any) -> None:
    assert as_bool(value) is True


@pytest.mark.parametrize(
    "value", [False, "false", "no", "off", "", "0", 0, 0.0, None, "maybe", [], [1], {"a": 1}, "None"]
)
def test_a_condition_says_no(value: Any) -> None:
    assert as_bool(value) is False
