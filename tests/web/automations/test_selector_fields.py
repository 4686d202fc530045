from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from hub.automation.blueprints.document import read_blueprint
from hub.automation.blueprints.selectors import KINDS, read_selector
from hub.automation.blueprints.store import bundled_folder
from hub.config.edit import parse_value
from hub.core.errors import InvalidRequest
from web.automations.blueprint_form import PREFIX, blueprint_form
from web.automations.selector_fields import InputControl, input_control, parse_texts
from web.core.form_fields import MISSING
from web.core.i18n import catalogue
from web.core.suggestions import Option
from web.settings.yaml_view import to_yaml

LIKE_HOME_ASSISTANT = Path(__file__).parents[2] / "automation" / "blueprints" / "like_home_assistant"
BLUEPRINTS = sorted([*bundled_folder().rglob("*.yaml"), *LIKE_HOME_ASSISTANT.rglob("*.yaml")])


class Nothing:
    """A home in which there is nothing to suggest."""

    def options(self, selector: Mapping[str, Any]) -> tuple[Option, ...]:
        found = selector.get("options", ()) if selector["type"] == "select" else ()
        return tuple((each["value"], each["label"]) if isinstance(each, dict) else (each, each) for each in found)


def field(selector: Any, default: Any = MISSING) -> dict[str, Any]:
    """An input as a blueprint shows it."""
    kind, options = read_selector(selector)
    shown = {"key": "x", "name": "X", "description": "", "required": default is MISSING}
    return {**shown, "default": default, "selector": {**options, "type": kind}}


def control(selector: Any, value: Any = MISSING, default: Any = MISSING) -> InputControl:
    return input_control("input.", field(selector, default), Nothing(), value)


VALUES = [
    ({"text": {}}, "two words", "text"),
    ({"text": {"multiline": True}}, "one\n\ntwo", "long"),
    ({"text": {"multiple": True}}, ["a", "b c"], "many"),
    ({"number": {"min": 1, "max": 9}}, 3, "number"),
    ({"number": {}}, -1.5, "number"),
    ({"boolean": {}}, False, "boolean"),
    ({"select": {"options": ["a", "b"]}}, "b", "choice"),
    ({"select": {"options": ["a", "b"], "multiple": True}}, ["a", "b"], "choices"),
    ({"select": {"options": ["a"], "custom_value": True}}, "else", "suggest"),
    ({"entity": {}}, "light.hall", "suggest"),
    ({"entity": {"multiple": True}}, ["light.hall", "light.attic"], "many"),
    ({"time": {}}, "07:30:00", "time"),
    ({"date": {}}, "2026-12-24", "date"),
    ({"datetime": {}}, "2026-12-24 18:00:00", "datetime"),
    ({"duration": {}}, "1h 30m", "duration"),
    ({"agent": {}}, "main", "choice"),
    ({"agent": {"multiple": True}}, ["main"], "choices"),
    ({"channel": {"address": True}}, {"channel": "telegram", "to": "123"}, "suggest"),
    ({"channel": {}}, "telegram", "suggest"),
    ({"session": {}}, "isolated", "suggest"),
    ({"model": {}}, "openai/gpt-5-mini", "suggest"),
    ({"tool": {"multiple": True}}, ["read"], "many"),
    ({"person": {}}, "me", "choice"),
    ({"template": {}}, "{{ 1 }}\n{{ 2 }}", "template"),
    ({"color_rgb": {}}, [255, 136, 0], "colour"),
    ({"constant": {"value": 7}}, 7, "constant"),
    ({"object": {}}, {"a": [1, {"b": None}]}, "yaml"),
    ({"action": {}}, [{"delay": 5}], "yaml"),
    ({"condition": {}}, [{"condition": "state", "entity_id": "a.b", "state": "on"}], "yaml"),
    ({"trigger": {}}, [{"trigger": "time", "at": "07:00"}], "yaml"),
    ({"target": {}}, {"entity_id": "light.hall"}, "yaml"),
    ({"number": {}}, "{{ 3 }}", "yaml"),
    ({"text": {}}, {"not": "text"}, "yaml"),
    ({"time": {}}, "sunset", "yaml"),
]


@pytest.mark.parametrize(("selector", "value", "kind"), VALUES)
def test_a_value_is_shown_and_means_the_same_again(selector: Any, value: Any, kind: str) -> None:
    shown = control(selector, value)

    again = parse_texts(shown, shown.shown)

    assert shown.kind == kind
    assert again == value


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_selector_has_a_field_that_may_be_empty(kind: str) -> None:
    options = {"select": {"options": ["a"]}, "constant": {"value": 1}, "choose": {"choices": {}}}

    empty = control({kind: options.get(kind, {})})

    assert empty.shown == ()
    assert parse_texts(empty, [""]) is MISSING


@pytest.mark.parametrize("path", BLUEPRINTS, ids=lambda path: path.stem)
def test_a_form_that_is_sent_as_it_was_shown_changes_no_input(path: Path) -> None:
    sections = [section.as_dict() for section in read_blueprint(path.read_text(), path.name).metadata.sections]
    form = blueprint_form(sections, Nothing())
    sent = {each.name: list(each.shown) for each in form.controls() if each.shown or not each.required}

    taken = form.take(sent, catalogue("en"))

    needed = {each.key for each in form.controls() if each.required}
    assert taken == {}
    assert {each.key for each in form.controls() if each.error} == needed


@pytest.mark.parametrize(
    ("selector", "text"),
    [
        ({"number": {}}, "many"),
        ({"number": {}}, "nan"),
        ({"number": {}}, "1e999"),
        ({"object": {}}, "a: [1"),
        ({"color_rgb": {}}, "red"),
        ({"channel": {"address": True}}, "{channel: "),
    ],
)
def test_a_text_that_means_nothing_is_refused_and_shown_again(selector: Any, text: str) -> None:
    with pytest.raises(InvalidRequest):
        parse_texts(control(selector), [text])
    form = blueprint_form([{"name": "", "description": "", "collapsed": True, "inputs": [field(selector)]}], Nothing())

    form.take({f"{PREFIX}x": [text]}, catalogue("en"))

    (section,) = form.as_list()
    assert section["fields"][0]["shown"] == text
    assert section["fields"][0]["error"]
    assert not section["collapsed"]


def test_an_emptied_field_means_empty_where_something_else_would_stand_in_its_place() -> None:
    assert parse_texts(control({"text": {}}, default="hello"), [""]) == ""
    assert parse_texts(control({"text": {}}, default=""), [""]) is MISSING
    assert parse_texts(control({"entity": {"multiple": True}}, default=["light.a"]), ["", ""]) == []
    assert parse_texts(control({"number": {}}, default=5), [""]) is MISSING


def test_a_time_without_its_seconds_is_the_same_time() -> None:
    asked = field({"time": {"no_second": True}}, "18:00:00")
    form = blueprint_form([{"name": "", "description": "", "collapsed": True, "inputs": [asked]}], Nothing())

    assert form.take({f"{PREFIX}x": ["18:00"]}, catalogue("en")) == {}
    assert form.take({f"{PREFIX}x": ["18:05"]}, catalogue("en")) == {"x": "18:05"}


def test_a_secret_is_named_and_nothing_else_is_read_in() -> None:
    anything = control({"object": {}})

    assert parse_texts(anything, ["key: !secret some_key"]) == {"key": "!secret some_key"}
    with pytest.raises(InvalidRequest, match="!include"):
        parse_texts(anything, ["key: !include secrets.yaml"])


def test_a_choice_that_is_gone_stays_chosen_until_somebody_changes_it() -> None:
    shown = control({"select": {"options": ["a"]}}, "gone").as_dict()

    assert [each["value"] for each in shown["options"]] == ["a", "gone"]


SCALARS = st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=40) | st.floats(-1e6, 1e6)
LINES = st.lists(st.text("ab :#-'\"{}\t", max_size=8), max_size=4).map("\n".join)
DATA = st.recursive(
    SCALARS | LINES,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text("abc_", min_size=1), inner, max_size=4),
)


@given(st.dictionaries(st.text("abcxyz", min_size=1), DATA, max_size=4))
def test_yaml_for_reading_means_the_data_it_shows(data: dict[str, Any]) -> None:
    assert parse_value(to_yaml(data)) == data
