"""Fields of cards: which one a value gets, and what people may type into it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from hub.core.errors import InvalidRequest
from web.automations.card_fields import card_value, is_unchanged, posted_text, read_duration, read_time
from web.automations.draft import read_draft, read_item
from web.automations.form import form_of
from web.automations.form_kinds import ACTION, LISTS, fresh, kind_names
from web.automations.service_data import ServiceFields
from web.core.form_fields import MISSING, Control

NOTIFY = {
    "service": "notify.notify",
    "description": "Notify the owner",
    "response": "none",
    "fields": {"message": {"required": False}, "text": {"required": False}, "title": {"required": False}},
    "schema": {"properties": {key: {"type": "string"} for key in ("message", "text", "title")}},
}
LIGHT = {
    "service": "light.turn_on",
    "description": "",
    "response": "none",
    "fields": {key: {"required": False} for key in ("entity_id", "brightness_pct", "flash", "rgb_color", "params")},
    "schema": {
        "properties": {
            "entity_id": {},
            "brightness_pct": {"type": "integer", "minimum": 0, "maximum": 100},
            "flash": {"enum": ["short", "long"]},
            "rgb_color": {"type": "array"},
            "params": {"type": "object"},
        }
    },
}


class NoNames:
    """Suggests nothing."""

    def options(self, selector: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
        return ()


SERVICES = ServiceFields({"notify.notify": NOTIFY, "light.turn_on": LIGHT}.get, NoNames())


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("7:30am", "07:30"), ("7.30", "07:30"), ("730", "07:30"), ("0730", "07:30"), ("7 pm", "19:00"),
        ("12am", "00:00"), ("12:15 p.m.", "12:15"), ("19h30", "19:30"), ("7", "07:00"), ("07:30:15", "07:30:15"),
        ("07:30:00", "07:30"), ("25:00", None), ("7:61", None), ("13pm", None), ("noon", None), ("", None),
    ],
)  # fmt: skip
def test_a_time_is_read_as_people_write_it(typed: str, meant: str | None) -> None:
    assert read_time(typed) == meant


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("5 min", "00:05:00"), ("1h 30m", "01:30:00"), ("90", "00:01:30"), ("1:30:00", "01:30:00"),
        ("2 hours and 5 minutes", "02:05:00"), ("-20 min", "-00:20:00"), ("2 天", "48:00:00"), ("半小时", "半小时"),
        ("now and then", "now and then"), ("5 min or so", "5 min or so"), ("{{ x }}", "{{ x }}"), ("0.5", "0.5"),
    ],
)  # fmt: skip
def test_a_duration_is_read_as_people_write_it(typed: str, meant: str) -> None:
    assert read_duration(typed) == meant


def fields(kind: str, what: str, **given: Any) -> dict[str, Control]:
    item = {LISTS[what][0]: [{**fresh(what, kind), **given}]}
    (card,) = [each for each in form_of(item, SERVICES).cards() if each.path.count(".") == 1]
    return {each.key: each for each in (*card.fields, *card.more) if isinstance(each, Control)}


@pytest.mark.parametrize(
    ("what", "kind", "key", "value", "expected"),
    [
        ("trigger", "time", "at", "07:30", ("time", "07:30")),
        ("trigger", "time", "at", ["07:30", "08:00"], ("lines", "07:30\n08:00")),
        ("trigger", "time", "at", "sensor.a", ("lines", "sensor.a")),
        ("trigger", "at", "at", "2026-05-12 18:00", ("datetime", "2026-05-12T18:00")),
        ("trigger", "at", "at", "20m", ("text", "20m")),
        ("trigger", "every", "every", {"minutes": 90}, ("duration", "01:30:00")),
        ("trigger", "sun", "offset", "-00:20:00", ("duration", "-00:20:00")),
        ("trigger", "every", "every", "{{ x }}", ("text", "{{ x }}")),
        ("condition", "time", "after", "7:30", ("time", "07:30")),
        ("trigger", "state", "entity_id", ["light.a", "light.b"], ("entity", "light.a, light.b")),
        ("trigger", "state", "to", "on", ("text", "on")),
        ("trigger", "state", "to", ["on", "off"], ("lines", "on\noff")),
        ("trigger", "agent", "agent", "main", ("pick", "main")),
        ("trigger", "event", "event_data", {"a": 1, "b": "x"}, ("pairs", "a: 1\nb: x")),
        ("trigger", "event", "event_data", {"a": {"b": 1}}, ("yaml", "a:\n  b: 1")),
        ("trigger", "command", "command", ["ls", "-l"], ("lines", "ls\n-l")),
        ("action", "delay", "delay", 5, ("duration", "00:00:05")),
    ],
)
def test_a_value_gets_the_field_that_can_show_it(
    what: str, kind: str, key: str, value: Any, expected: tuple[str, str]
) -> None:
    control = fields(kind, what, **{key: value})[key]

    assert (control.kind, control.shown) == expected
    assert is_unchanged(control, control.shown)


@pytest.mark.parametrize("what", LISTS)
def test_no_kind_needs_yaml_for_a_time_an_entity_or_the_data_of_a_service(what: str) -> None:
    cards = [(kind, fresh(what, kind)) for kind in kind_names(what)]
    cards += (
        [("action", {"action": "notify.notify"}), ("action", {"action": "light.turn_on"})] if what == ACTION else []
    )
    seen = set()
    for kind, item in cards:
        if kind == "action" and not item["action"]:
            continue
        (card, *_) = form_of({LISTS[what][0]: [item]}, SERVICES).cards()
        seen |= {(kind, each.key) for each in (*card.fields, *card.more) if each.kind == "yaml"}

    assert {key for _, key in seen} & {
        "at",
        "after",
        "before",
        "for",
        "every",
        "offset",
        "entity_id",
        "data",
        "target",
    } == set()


def test_a_service_has_fields_and_those_that_are_seldom_needed_are_folded() -> None:
    item = {"actions": [{"action": "light.turn_on", "data": {"brightness_pct": 40, "mood": "calm"}}]}

    (card,) = form_of(item, SERVICES).cards()

    assert [each.key for each in card.fields] == ["entity_id", "brightness_pct", "mood"]
    assert {"flash", "area_id", "device_id", "action"} <= {each.key for each in card.more}
    assert "rgb_color" not in {each.key for each in (*card.fields, *card.more)}
    assert getattr(card.fields[0], "domain", "") == "light"


def test_data_is_written_where_it_stands_and_taken_out_when_it_is_emptied() -> None:
    text = "actions:\n  - action: notify.notify  # keep\n    data: {message: Hello}\n"
    changed = read_draft(text, {"actions.0.data.message": ["Good night"], "actions.0.data.title": ["Hi"]}, SERVICES)
    emptied = read_draft(text, {"actions.0.data.message": [""]}, SERVICES)

    assert changed.item["actions"][0]["data"] == {"message": "Good night", "title": "Hi"}
    assert "# keep" in changed.text
    assert emptied.item["actions"] == [{"action": "notify.notify"}]


def test_pairs_keep_the_values_that_were_not_changed() -> None:
    control = fields("event", "trigger", event_data={"a": "5", "b": 2})["event_data"]
    text = posted_text(
        control, {f"{control.name}:key": ["a", "b", "", "c"], f"{control.name}:value": ["5", "3", "", "{{ x }}"]}
    )

    assert text == "a: 5\nb: 3\nc: {{ x }}"
    assert card_value(control, text, {"a": "5", "b": 2}) == {"a": "5", "b": 3, "c": "{{ x }}"}
    assert card_value(control, "", {}) is MISSING
    with pytest.raises(InvalidRequest, match="not a name"):
        card_value(control, "a b: 1", {})


def test_what_is_no_time_is_told_at_its_field() -> None:
    draft = read_draft("triggers:\n  - trigger: time\n", {"triggers.0.at": ["noon"]})

    assert draft.errors == {"triggers.0.at": "expected a time of day such as 7:30, got noon"}
    assert read_item(draft.text) == {"triggers": [{"trigger": "time"}]}
