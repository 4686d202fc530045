"""Whatever a file or an input holds: it is a blueprint, or the error says what is wrong; nothing else happens."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import given, settings, strategies as st

from hub.automation.blueprints.document import Blueprint, read_blueprint
from hub.automation.blueprints.errors import BlueprintInvalid
from hub.automation.blueprints.filling import fill_in
from hub.automation.blueprints.selectors import KINDS, check_value, read_selector
from hub.automation.blueprints.store import bundled_folder
from hub.automation.blueprints.substitute import Input, substitute
from hub.config.errors import ConfigError
from hub.core.schema import Invalid, each_error
from tests.automation.blueprints.test_selectors import FITS
from tests.lengths import examples

FILES = sorted((bundled_folder() / "automation").rglob("*.yaml"))
TEXTS = [file.read_text(encoding="utf-8") for file in FILES]

plain_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4),
    max_leaves=12,
)


def read(text: str) -> tuple[Blueprint | None, list[ConfigError]]:
    try:
        return read_blueprint(text, "b.yaml"), []
    except BlueprintInvalid as error:
        return None, error.errors


def told(do: Callable[[], object]) -> list[Invalid]:
    """The expected errors; anything else that is raised is a mistake."""
    try:
        do()
    except Invalid as error:
        return list(each_error(error))
    return []


@given(st.text(max_size=300))
def test_any_text_is_read_or_told(text: str) -> None:
    for each in (text, f"blueprint:\n  name: A\n  domain: automation\n{text}"):
        blueprint, errors = read(each)

        assert (blueprint is None) is bool(errors)
        assert all(error.line >= 1 and error.column >= 1 and error.message for error in errors)


@settings(max_examples=examples(150), deadline=None)
@given(st.sampled_from(TEXTS), st.integers(0, 5_000), st.integers(0, 40), st.text(max_size=8))
def test_a_damaged_blueprint_is_read_or_told(text: str, place: int, length: int, instead: str) -> None:
    at = place % len(text)
    blueprint, errors = read(text[:at] + instead + text[at + length :])
    use = {"use_blueprint": {"path": "b.yaml", "input": {}}}

    problems = [] if blueprint is None else told(lambda: fill_in(use, blueprint))

    assert (blueprint is None) is bool(errors)
    assert {problem.path[0] for problem in problems} <= {"use_blueprint"}


@settings(max_examples=examples(300), deadline=None)
@given(st.sampled_from([selector for selector, _ in FITS]), plain_values)
def test_any_value_fits_a_selector_or_is_told(selector: Any, value: Any) -> None:
    problems = told(lambda: check_value(value, *read_selector(selector)))

    assert all(problem.msg for problem in problems)


@given(st.sampled_from(sorted(KINDS)), plain_values)
def test_any_options_are_those_of_a_selector_or_are_told(name: str, options: Any) -> None:
    problems = told(lambda: read_selector({name: options}))

    assert all(problem.path[0] == name for problem in problems)


@given(plain_values)
def test_putting_values_in_leaves_no_place_empty(value: Any) -> None:
    body = {"a": [Input("x"), {"b": Input("x")}], "c": Input("y"), "d": value}

    made = substitute(body, {"x": value, "y": 1})

    assert made == {"a": [value, {"b": value}], "c": 1, "d": value}
