"""Selectors: which there are, and which values fit."""

from __future__ import annotations

from typing import Any

import pytest

from hub.automation.blueprints.selectors import KINDS, check_value, read_selector
from hub.core.schema import Invalid


def check(selector: Any, value: Any) -> Any:
    return check_value(value, *read_selector(selector))


FITS: list[tuple[Any, Any]] = [
    (None, "text"),
    ("text", "one"),
    ({"text": None}, 5),
    ({"text": {"multiple": True}}, ["a", "b"]),
    ({"action": {}}, [{"delay": 5}]),
    ({"action": None}, {"action": "light.turn_on"}),
    ({"agent": {}}, "main"),
    ({"attribute": {"entity_id": "light.a"}}, "brightness"),
    ({"boolean": {}}, True),
    ({"boolean": {}}, "on"),
    ({"channel": {}}, "telegram"),
    ({"channel": {"address": True}}, "last"),
    ({"channel": {"address": True}}, {"channel": "telegram", "to": "1"}),
    ({"choose": {"choices": {"n": {"selector": {"number": {}}}, "e": {"selector": {"entity": {}}}}}}, "sensor.a"),
    ({"choose": {"choices": {"n": {"selector": {"number": {}}}}}}, {"active_choice": "n", "n": 5}),
    ({"color_rgb": {}}, [0, 128, 255]),
    ({"color_temp": {"unit": "kelvin", "min": 2000, "max": 6500}}, 4000),
    ({"color_temp": {"min_mireds": 150, "max_mireds": 500}}, 300),
    ({"condition": {}}, [{"condition": "state"}]),
    ({"condition": {}}, "{{ true }}"),
    ({"constant": {"value": 5, "label": "Five"}}, 5),
    ({"conversation_agent": {"language": "en"}}, "main"),
    ({"country": {"countries": ["DE"]}}, "DE"),
    ({"date": {}}, "2026-12-24"),
    ({"datetime": {}}, "2026-12-24 18:00:00"),
    ({"duration": {"enable_day": True}}, {"hours": 1, "minutes": 30}),
    ({"duration": {}}, "00:05:00"),
    ({"duration": {"allow_negative": True}}, {"minutes": -5}),
    ({"entity": {}}, "light.kitchen"),
    ({"entity": {"domain": ["light", "switch"], "multiple": True}}, ["light.a", "switch.b"]),
    ({"entity": {"filter": [{"domain": "sensor", "device_class": "battery"}, {"domain": "light"}]}}, "light.a"),
    ({"entity": {"filter": [{"domain": "sensor"}, {"integration": "hue"}]}}, "light.a"),
    ({"icon": {}}, "mdi:lightbulb"),
    ({"language": {}}, "de"),
    ({"location": {"radius": True}}, {"latitude": 52.5, "longitude": 13.4, "radius": 100}),
    ({"model": {}}, "anthropic/claude-opus-4-6"),
    ({"number": {"min": 0, "max": 10, "step": "any", "mode": "box"}}, 2.5),
    ({"object": {}}, {"anything": [1]}),
    ({"person": {"multiple": True}}, []),
    ({"select": {"options": ["a", "b"]}}, "a"),
    ({"select": {"options": [{"label": "A", "value": "a"}], "multiple": True}}, ["a"]),
    ({"select": {"options": ["a"], "custom_value": True}}, "z"),
    ({"select": {"options": [True, 5]}}, True),
    ({"session": {}}, "agent:main:cron:x"),
    ({"state": {"entity_id": "light.a"}}, "on"),
    ({"target": {"entity": [{"domain": "light"}]}}, {"entity_id": ["light.a"]}),
    ({"target": {}}, {"entity_id": "light.a", "area_id": []}),
    ({"target": {}}, {"area_id": "kitchen", "label_id": ["party"]}),
    ({"area": {"multiple": True, "entity": {"domain": "light"}}}, ["kitchen"]),
    ({"device": {"integration": "mqtt", "filter": [{"manufacturer": "IKEA", "model": "Remote"}]}}, "5f1c"),
    ({"floor": {}}, "ground_floor"),
    ({"label": {"multiple": True}}, ["party"]),
    ({"template": {}}, "{{ states('light.a') }}"),
    ({"time": {}}, "07:30:00"),
    ({"tool": {"multiple": True}}, ["memory_search"]),
    ({"trigger": {}}, [{"trigger": "time"}]),
]

DOES_NOT: list[tuple[Any, Any, str]] = [
    ({"text": {}}, ["a"], "expected text"),
    ({"text": {}}, True, "put quotes around it"),
    ({"text": {"multiple": True}}, "a", "expected a list"),
    ({"action": {}}, "light.turn_on", "expected actions"),
    ({"agent": {}}, "My Agent!", "expected an identifier"),
    ({"boolean": {}}, "perhaps", "expected true or false"),
    ({"channel": {}}, "last ", "expected an identifier"),
    ({"channel": {"address": True}}, "telegram", "expected last, none, or a channel"),
    ({"choose": {"choices": {"n": {"selector": {"number": {}}}}}}, "x", "expected a number"),
    ({"color_rgb": {}}, [0, 0, 256], "from 0 to 255"),
    ({"color_rgb": {}}, [True, 0, 0], "from 0 to 255"),
    ({"color_temp": {"min": 2000}}, 100, "at least 2000"),
    ({"condition": {}}, 5, "expected conditions"),
    ({"constant": {"value": True}}, 1, "the only value there is"),
    ({"date": {}}, "24.12.2026", "expected a date"),
    ({"date": {}}, 2026, "expected a date"),
    ({"datetime": {}}, "2026-12-24", "expected a date and time"),
    ({"duration": {}}, "soon", "expected a duration"),
    ({"duration": {}}, {"weeks": 1}, "expected days"),
    ({"entity": {}}, "kitchen", "expected an entity id"),
    ({"entity": {"domain": "light"}}, "switch.a", "expected an entity of light"),
    ({"entity": {"filter": {"domain": ["light", "fan"]}}}, "switch.a", "expected an entity of light, fan"),
    ({"entity": {"exclude_entities": ["light.a"]}}, "light.a", "cannot be chosen"),
    ({"entity": {"include_entities": ["light.a"]}}, "light.b", "cannot be chosen"),
    ({"icon": {}}, "lightbulb", "such as mdi:lightbulb"),
    ({"location": {}}, {"latitude": 99, "longitude": 0}, "latitude from -90"),
    ({"location": {}}, {"latitude": 9}, "latitude and longitude"),
    ({"number": {"min": 0, "max": 10}}, 11, "from 0 to 10"),
    ({"number": {"max": 10}}, 11, "at most 10"),
    ({"number": {}}, "5", "expected a number"),
    ({"number": {}}, True, "expected a number"),
    ({"person": {}}, "Anna B", "expected an identifier"),
    ({"select": {"options": ["a", "b"]}}, "c", "expected one of a, b"),
    ({"session": {}}, "my session", "main, isolated or the key"),
    ({"target": {}}, {"room_id": "kitchen"}, "expected one of entity_id, device_id"),
    ({"area": {"multiple": True}}, "kitchen", "expected a list"),
    ({"device": {}}, ["x"], "expected text"),
    ({"target": {}}, "light.a", "expected a target"),
    ({"template": {}}, "{{ broken", "template is not valid"),
    ({"time": {}}, "25:00", "time"),
    ({"trigger": {}}, "time", "expected triggers"),
]


@pytest.mark.parametrize(("selector", "value"), FITS)
def test_a_value_fits(selector: Any, value: Any) -> None:
    check(selector, value)


@pytest.mark.parametrize(("selector", "value", "told"), DOES_NOT)
def test_a_value_does_not_fit(selector: Any, value: Any, told: str) -> None:
    with pytest.raises(Invalid) as caught:
        check(selector, value)

    assert told in str(caught.value)


def test_each_kind_has_a_value_that_fits() -> None:
    assert {next(iter(selector)) for selector, _ in FITS if isinstance(selector, dict)} == set(KINDS)


@pytest.mark.parametrize("name", ["addon", "assist_pipeline", "media", "theme"])
def test_what_is_nothing_here_is_refused_by_name(name: str) -> None:
    kind, options = read_selector({name: {"integration": "zha"}})

    assert check_value([], kind, options) == []
    with pytest.raises(Invalid, match=r"there are no .* here; leave it empty"):
        check_value("abc", kind, options)


@pytest.mark.parametrize(
    "selector", [[], 5, {}, {"text": {}, "number": {}}, {"select": {}}, {"constant": {}}, {"number": {"mode": "dial"}}]
)
def test_what_is_no_selector_is_refused(selector: Any) -> None:
    with pytest.raises(Invalid):
        read_selector(selector)


def test_a_value_in_a_list_is_told_with_its_place() -> None:
    with pytest.raises(Invalid) as caught:
        check({"entity": {"multiple": True}}, ["light.a", "b"])

    assert list(caught.value.path) == [1]
