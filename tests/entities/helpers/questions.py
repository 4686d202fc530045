"""What a Home Assistant core and this hub are asked about helpers: configurations, and what is done to them in turn.

After each step every entity of the scene is asked for its state and attributes. `ask-home-assistant`, run with a Python
that has `homeassistant`, puts the answers of a real core into `answers.json`, and `test_answers.py` compares ours.
Only plain data is here, for either of the two.
"""

from __future__ import annotations

from typing import Any

START = 1_772_442_000.0
"""Monday, 2 March 2026, 10:00 in Berlin."""
PLACE = {"latitude": 52.52, "longitude": 13.405, "elevation": 34, "time_zone": "Europe/Berlin"}


def call(service: str, **data: Any) -> list[Any]:
    return ["call", service, data]


def advance(seconds: float) -> list[Any]:
    return ["advance", seconds]


def restart(seconds: float = 60) -> list[Any]:
    return ["restart", seconds]


def reload(config: dict[str, Any]) -> list[Any]:
    return ["reload", config]


def outside(entity_id: str, state: str, **attributes: Any) -> list[Any]:
    return ["set", entity_id, state, attributes]


def _each(domain: str, service: str, *data: dict[str, Any], to: str) -> list[list[Any]]:
    return [call(f"{domain}.{service}", entity_id=f"{domain}.{to}", **each) for each in data or ({},)]


_BOOLEAN = {
    "bare": None,
    "guests": {"name": "Guests", "icon": "mdi:account"},
    "starts_on": {"initial": True},
    "starts_off": {"initial": False},
}
_NUMBER = {
    "plain": {"min": 0, "max": 10},
    "half": {"name": "Target", "min": 5, "max": 30.5, "step": 0.5, "unit_of_measurement": "°C", "mode": "box"},
    "fixed": {"min": -10, "max": 10, "initial": 3, "icon": "mdi:fan"},
}
_SELECT = {
    "mode": {"options": ["Home", "Away", "Night"]},
    "fixed": {"name": "Fixed", "options": ["a", "b", "c"], "initial": "b", "icon": "mdi:star"},
    "double": {"options": ["a", "b", "a"]},
}
_TEXT = {
    "plain": None,
    "short": {"name": "Short", "min": 2, "max": 5, "mode": "password"},
    "fixed": {"initial": "hello", "pattern": "[a-z]*"},
}
_DATETIME = {
    "both": {"has_date": True, "has_time": True, "name": "Both"},
    "day": {"has_date": True},
    "clock": {"has_time": True},
    "first": {"has_date": True, "has_time": True, "initial": "2026-05-01 07:30"},
    "first_day": {"has_date": True, "initial": "2026-12-24"},
    "first_clock": {"has_time": True, "initial": "06:15:30"},
}
_COUNTER = {
    "plain": None,
    "bound": {"name": "Bound", "initial": 5, "minimum": 3, "maximum": 8, "step": 2, "icon": "mdi:gauge"},
    "anew": {"restore": False, "initial": 7},
}
_TIMER = {
    "short": {"duration": 60},
    "kept": {"duration": "00:05:00", "restore": True, "name": "Kept", "icon": "mdi:clock"},
    "open": None,
}

SCENES: list[dict[str, Any]] = [
    {
        "name": "input_boolean",
        "config": {"input_boolean": _BOOLEAN},
        "steps": [
            *_each("input_boolean", "turn_on", to="bare"),
            *_each("input_boolean", "toggle", to="guests"),
            *_each("input_boolean", "turn_off", to="starts_on"),
            *_each("input_boolean", "turn_on", to="starts_off"),
            restart(),
            *_each("input_boolean", "turn_off", to="bare"),
            call("input_boolean.toggle", entity_id="all"),
            call("homeassistant.turn_off", entity_id=["input_boolean.bare", "input_boolean.guests"]),
            restart(),
            reload({"input_boolean": {**_BOOLEAN, "starts_off": {"initial": True}, "new": {"initial": True}}}),
        ],
    },
    {
        "name": "input_button",
        "config": {"input_button": {"bell": {"name": "Bell", "icon": "mdi:bell"}, "bare": None}},
        "steps": [
            *_each("input_button", "press", to="bell"),
            advance(5),
            *_each("input_button", "press", to="bell"),
            restart(),
        ],
    },
    {
        "name": "input_number",
        "config": {"input_number": _NUMBER},
        "steps": [
            *_each(
                "input_number", "set_value", {"value": 4}, {"value": 11}, {"value": 10}, {"value": "7.5"}, to="plain"
            ),
            *_each("input_number", "increment", to="half"),
            *_each("input_number", "set_value", {"value": 30.2}, to="half"),
            *_each("input_number", "increment", to="half"),
            *_each("input_number", "decrement", to="half"),
            *_each("input_number", "decrement", to="fixed"),
            restart(),
            *_each("input_number", "set_value", {"value": 0}, to="plain"),
            *_each("input_number", "decrement", to="plain"),
            reload({"input_number": {**_NUMBER, "plain": {"min": 2, "max": 4}, "half": {"min": 5, "max": 20}}}),
            restart(),
        ],
    },
    {
        "name": "input_select",
        "config": {"input_select": _SELECT},
        "steps": [
            *_each("input_select", "select_option", {"option": "Away"}, {"option": "Nowhere"}, to="mode"),
            *_each("input_select", "select_next", {}, {}, {"cycle": False}, to="mode"),
            *_each("input_select", "select_last", to="mode"),
            *_each("input_select", "select_next", {"cycle": False}, {"cycle": True}, to="mode"),
            *_each("input_select", "select_previous", {}, {}, to="mode"),
            *_each("input_select", "select_first", to="fixed"),
            *_each("input_select", "select_previous", {"cycle": False}, to="fixed"),
            *_each("input_select", "set_options", {"options": ["Away", "Night", "Day"]}, to="mode"),
            *_each("input_select", "set_options", {"options": ["x", "y"]}, to="fixed"),
            *_each("input_select", "set_options", {"options": []}, to="fixed"),
            restart(),
            reload(
                {"input_select": {**_SELECT, "mode": {"options": ["One", "Two"]}, "fixed": {"options": ["b", "c"]}}}
            ),
            *_each("input_select", "select_next", {}, {}, to="mode"),
            restart(),
        ],
    },
    {
        "name": "input_text",
        "config": {"input_text": _TEXT},
        "steps": [
            *_each("input_text", "set_value", {"value": "hello"}, {"value": ""}, {"value": "x" * 101}, to="plain"),
            *_each("input_text", "set_value", {"value": "abc"}, {"value": "a"}, {"value": "abcdef"}, to="short"),
            *_each("input_text", "set_value", {"value": "other"}, {"value": "UPPER"}, {"value": 12}, to="fixed"),
            restart(),
            *_each("input_text", "set_value", {"value": "kept over"}, to="plain"),
            restart(),
        ],
    },
    {
        "name": "input_datetime",
        "config": {"input_datetime": _DATETIME},
        "steps": [
            *_each(
                "input_datetime",
                "set_datetime",
                {"date": "2026-07-14"},
                {"time": "08:15"},
                {"datetime": "2026-10-25 02:30:00"},
                {"timestamp": 1_790_000_000},
                {"date": "2026-02-28", "time": "23:59:59"},
                {},
                to="both",
            ),
            *_each("input_datetime", "set_datetime", {"date": "2026-03-29"}, {"time": "10:00"}, to="day"),
            *_each(
                "input_datetime",
                "set_datetime",
                {"time": "00:00"},
                {"datetime": "2026-10-25 02:30:00"},
                {"date": "2026-01-01"},
                {"timestamp": 1_790_000_000},
                to="clock",
            ),
            *_each("input_datetime", "set_datetime", {"date": "2026-01-01"}, to="first"),
            restart(),
            *_each("input_datetime", "set_datetime", {"datetime": "2027-01-01 00:00:00"}, to="first_day"),
        ],
    },
    {
        "name": "counter",
        "config": {"counter": _COUNTER},
        "steps": [
            *_each("counter", "increment", {}, to="plain"),
            *_each("counter", "increment", {}, to="plain"),
            *_each("counter", "decrement", {}, {}, {}, to="plain"),
            *_each("counter", "set_value", {"value": 40}, {"value": -1}, to="plain"),
            *_each("counter", "increment", {}, {}, to="bound"),
            *_each("counter", "decrement", {}, {}, {}, to="bound"),
            *_each("counter", "set_value", {"value": 8}, {"value": 9}, {"value": 2}, to="bound"),
            *_each("counter", "reset", to="bound"),
            *_each("counter", "increment", to="anew"),
            *_each("counter", "decrement", to="bound"),
            restart(),
            *_each("counter", "reset", to="plain"),
            restart(),
        ],
    },
    {
        "name": "timer",
        "config": {"timer": _TIMER},
        "events": [
            "timer.started",
            "timer.restarted",
            "timer.paused",
            "timer.cancelled",
            "timer.finished",
            "timer.changed",
        ],
        "steps": [
            *_each("timer", "start", to="short"),
            advance(20),
            *_each("timer", "pause", to="short"),
            advance(100),
            *_each("timer", "pause", to="short"),
            *_each("timer", "start", to="short"),
            advance(10),
            *_each("timer", "start", to="short"),
            advance(39),
            advance(61),
            *_each("timer", "start", {"duration": "00:02:00"}, to="short"),
            *_each(
                "timer",
                "change",
                {"duration": -30},
                {"duration": "-00:00:15"},
                {"duration": 10},
                {"duration": 100},
                to="short",
            ),
            *_each("timer", "change", {"duration": {"seconds": -10}}, {"duration": -1000}, to="short"),
            *_each("timer", "cancel", {}, {}, to="short"),
            *_each("timer", "change", {"duration": 10}, to="short"),
            *_each("timer", "finish", to="short"),
            *_each("timer", "start", {"duration": 30}, to="short"),
            *_each("timer", "start", {"duration": 90}, to="short"),
            *_each("timer", "finish", to="short"),
            *_each("timer", "pause", to="short"),
            *_each("timer", "start", {"duration": {"minutes": 1}}, to="open"),
            *_each("timer", "start", to="kept"),
            *_each("timer", "start", to="short"),
            restart(100),
            advance(150),
            *_each("timer", "pause", to="kept"),
            restart(1_000),
            *_each("timer", "start", to="kept"),
            restart(1_000),
            *_each("timer", "start", {"duration": 600}, to="kept"),
            advance(60),
            reload({"timer": {**_TIMER, "kept": {"duration": 120, "restore": True}, "short": {"duration": 10}}}),
            *_each("timer", "cancel", to="kept"),
            *_each("timer", "start", to="short"),
            advance(11),
        ],
    },
]
_SCHEDULE = {
    "work": {
        "name": "Work",
        "monday": [{"from": "08:00:00", "to": "12:00:00"}, {"from": "13:00:00", "to": "17:00:00"}],
        "friday": [{"from": "08:00:00", "to": "24:00:00", "data": {"mode": "short", "level": 3}}],
        "saturday": [{"from": "00:00:00", "to": "01:00:00"}],
    },
    "never": {"name": "Never", "icon": "mdi:clock"},
}
_ZONES = [
    {"name": "School", "latitude": 52.5, "longitude": 13.4, "radius": 250, "icon": "mdi:school"},
    {"name": "Far away", "latitude": 48.1, "longitude": 11.5, "passive": True},
]
_MEMBERS = [
    outside("light.a", "off"),
    outside("light.b", "off"),
    outside("switch.c", "on"),
    outside("cover.d", "closed"),
    outside("person.ada", "home"),
    outside("person.bo", "not_home"),
    outside("lock.e", "locked"),
    outside("sensor.f", "21.5", unit_of_measurement="°C", device_class="temperature"),
    outside("media_player.g", "off"),
    outside("binary_sensor.h", "off"),
]
_GROUPS = {
    "lights": {"name": "Lights", "entities": ["light.a", "light.b"], "icon": "mdi:lamp"},
    "every": {"entities": ["light.a", "light.b"], "all": True},
    "people": "person.ada, person.bo",
    "mixed": ["light.a", "cover.d"],
    "covers": {"entities": ["cover.d"]},
    "locks": {"entities": ["lock.e"]},
    "sensors": {"entities": ["sensor.f"]},
    "nested": {"entities": ["group.lights", "switch.c"]},
    "gone": {"entities": ["light.gone"]},
    "some_gone": {"entities": ["light.gone", "binary_sensor.h"]},
    "players": {"entities": ["media_player.g", "binary_sensor.h"]},
    "helpers": {"entities": ["input_boolean.one", "input_boolean.two"]},
    "empty": {"entities": []},
}
_GROUPED = {"group": _GROUPS, "input_boolean": {"one": None, "two": None}}

SCENES += [
    {
        "name": "schedule",
        "config": {"schedule": _SCHEDULE},
        "steps": [
            advance(2 * 3600 - 1),
            advance(1),
            advance(3600),
            advance(4 * 3600),
            restart(3 * 86_400),
            advance(16 * 3600),
            advance(15 * 3600),
            advance(3 * 3600),
            restart(13 * 86_400),
            restart(7 * 86_400),
            reload({"schedule": {"work": {"name": "Work", "sunday": [{"from": "00:00:00", "to": "24:00:00"}]}}}),
        ],
    },
    {
        "name": "sun",
        "config": {"sun": {}},
        "watch": ["sun.sun"],
        "steps": [restart(each * 3600) for each in (2, 3, 4, 5, 6, 24 * 27, 24 * 90, 7)],
    },
    {
        "name": "zone",
        "config": {"zone": _ZONES},
        "first": [outside("person.ada", "home"), outside("person.bo", "not_home")],
        "steps": [
            outside("person.ada", "School"),
            outside("person.bo", "school"),
            outside("person.bo", "home"),
            outside("person.ada", "Far away"),
            outside("person.ada", "unknown"),
            outside("person.cy", "home"),
        ],
    },
    {
        "name": "group",
        "config": _GROUPED,
        "watch": ["group.", "input_boolean."],
        "first": _MEMBERS,
        "steps": [
            outside("light.a", "on"),
            outside("light.b", "on"),
            outside("light.a", "unavailable"),
            outside("light.b", "off"),
            outside("cover.d", "open"),
            outside("cover.d", "opening"),
            outside("person.ada", "not_home"),
            outside("person.bo", "School"),
            outside("person.bo", "home"),
            outside("lock.e", "unlocked"),
            outside("lock.e", "jammed"),
            outside("switch.c", "off"),
            outside("media_player.g", "playing"),
            outside("binary_sensor.h", "on"),
            outside("light.gone", "on"),
            call("homeassistant.turn_on", entity_id="group.helpers"),
            call("input_boolean.turn_off", entity_id="group.helpers"),
            call("homeassistant.toggle", entity_id=["group.helpers", "input_boolean.one"]),
            call("group.set", object_id="made", name="Made", entities=["light.a", "light.b"]),
            call("group.set", object_id="made", add_entities=["switch.c"]),
            call("group.set", object_id="made", remove_entities=["light.a"], icon="mdi:star"),
            call("group.set", object_id="made", all=True, entities=["light.a", "switch.c"]),
            call("group.remove", object_id="made"),
        ],
    },
]
_SCENES = [
    {
        "id": "evening",
        "name": "Evening",
        "icon": "mdi:moon",
        "entities": {
            "input_boolean.one": "on",
            "input_boolean.two": {"state": "off"},
            "input_number.level": "7",
            "input_select.mode": "Night",
        },
    },
    {
        "name": "Over",
        "entities": {"input_boolean.one": "off", "input_text.note": "all off", "input_boolean.gone": "on"},
    },
]
SCENES += [
    {
        "name": "scene",
        "config": {
            "input_boolean": {"one": None, "two": {"initial": True}},
            "input_number": {"level": {"min": 0, "max": 10}},
            "input_select": {"mode": {"options": ["Day", "Night"]}},
            "input_text": {"note": None},
            "scene": _SCENES,
        },
        "steps": [
            call("scene.turn_on", entity_id="scene.evening"),
            advance(5),
            call("scene.turn_on", entity_id="scene.over"),
            call("scene.create", scene_id="before", snapshot_entities=["input_boolean.one", "input_number.level"]),
            call("scene.turn_on", entity_id="scene.evening"),
            call("scene.turn_on", entity_id="scene.before"),
            call("scene.apply", entities={"input_boolean.two": "on", "input_number.level": {"state": "3.5"}}),
            call("scene.create", scene_id="before", entities={"input_boolean.two": "off"}),
            call("scene.turn_on", entity_id="scene.before"),
            call("homeassistant.turn_on", entity_id="scene.evening"),
            call("scene.delete", entity_id="scene.before"),
            call("scene.delete", entity_id="scene.evening"),
            restart(),
        ],
    },
]
