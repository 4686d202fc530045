"""Inputs, counters and timers."""

from __future__ import annotations

from typing import Any

from tests.entities.helpers.questions.steps import advance, call, each_of, reload, restart

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
            *each_of("input_boolean", "turn_on", to="bare"),
            *each_of("input_boolean", "toggle", to="guests"),
            *each_of("input_boolean", "turn_off", to="starts_on"),
            *each_of("input_boolean", "turn_on", to="starts_off"),
            restart(),
            *each_of("input_boolean", "turn_off", to="bare"),
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
            *each_of("input_button", "press", to="bell"),
            advance(5),
            *each_of("input_button", "press", to="bell"),
            restart(),
        ],
    },
    {
        "name": "input_number",
        "config": {"input_number": _NUMBER},
        "steps": [
            *each_of(
                "input_number", "set_value", {"value": 4}, {"value": 11}, {"value": 10}, {"value": "7.5"}, to="plain"
            ),
            *each_of("input_number", "increment", to="half"),
            *each_of("input_number", "set_value", {"value": 30.2}, to="half"),
            *each_of("input_number", "increment", to="half"),
            *each_of("input_number", "decrement", to="half"),
            *each_of("input_number", "decrement", to="fixed"),
            restart(),
            *each_of("input_number", "set_value", {"value": 0}, to="plain"),
            *each_of("input_number", "decrement", to="plain"),
            reload({"input_number": {**_NUMBER, "plain": {"min": 2, "max": 4}, "half": {"min": 5, "max": 20}}}),
            restart(),
        ],
    },
    {
        "name": "input_select",
        "config": {"input_select": _SELECT},
        "steps": [
            *each_of("input_select", "select_option", {"option": "Away"}, {"option": "Nowhere"}, to="mode"),
            *each_of("input_select", "select_next", {}, {}, {"cycle": False}, to="mode"),
            *each_of("input_select", "select_last", to="mode"),
            *each_of("input_select", "select_next", {"cycle": False}, {"cycle": True}, to="mode"),
            *each_of("input_select", "select_previous", {}, {}, to="mode"),
            *each_of("input_select", "select_first", to="fixed"),
            *each_of("input_select", "select_previous", {"cycle": False}, to="fixed"),
            *each_of("input_select", "set_options", {"options": ["Away", "Night", "Day"]}, to="mode"),
            *each_of("input_select", "set_options", {"options": ["x", "y"]}, to="fixed"),
            *each_of("input_select", "set_options", {"options": []}, to="fixed"),
            restart(),
            reload(
                {"input_select": {**_SELECT, "mode": {"options": ["One", "Two"]}, "fixed": {"options": ["b", "c"]}}}
            ),
            *each_of("input_select", "select_next", {}, {}, to="mode"),
            restart(),
        ],
    },
    {
        "name": "input_text",
        "config": {"input_text": _TEXT},
        "steps": [
            *each_of("input_text", "set_value", {"value": "hello"}, {"value": ""}, {"value": "x" * 101}, to="plain"),
            *each_of("input_text", "set_value", {"value": "abc"}, {"value": "a"}, {"value": "abcdef"}, to="short"),
            *each_of("input_text", "set_value", {"value": "other"}, {"value": "UPPER"}, {"value": 12}, to="fixed"),
            restart(),
            *each_of("input_text", "set_value", {"value": "kept over"}, to="plain"),
            restart(),
        ],
    },
    {
        "name": "input_datetime",
        "config": {"input_datetime": _DATETIME},
        "steps": [
            *each_of(
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
            *each_of("input_datetime", "set_datetime", {"date": "2026-03-29"}, {"time": "10:00"}, to="day"),
            *each_of(
                "input_datetime",
                "set_datetime",
                {"time": "00:00"},
                {"datetime": "2026-10-25 02:30:00"},
                {"date": "2026-01-01"},
                {"timestamp": 1_790_000_000},
                to="clock",
            ),
            *each_of("input_datetime", "set_datetime", {"date": "2026-01-01"}, to="first"),
            restart(),
            *each_of("input_datetime", "set_datetime", {"datetime": "2027-01-01 00:00:00"}, to="first_day"),
        ],
    },
    {
        "name": "counter",
        "config": {"counter": _COUNTER},
        "steps": [
            *each_of("counter", "increment", {}, to="plain"),
            *each_of("counter", "increment", {}, to="plain"),
            *each_of("counter", "decrement", {}, {}, {}, to="plain"),
            *each_of("counter", "set_value", {"value": 40}, {"value": -1}, to="plain"),
            *each_of("counter", "increment", {}, {}, to="bound"),
            *each_of("counter", "decrement", {}, {}, {}, to="bound"),
            *each_of("counter", "set_value", {"value": 8}, {"value": 9}, {"value": 2}, to="bound"),
            *each_of("counter", "reset", to="bound"),
            *each_of("counter", "increment", to="anew"),
            *each_of("counter", "decrement", to="bound"),
            restart(),
            *each_of("counter", "reset", to="plain"),
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
            *each_of("timer", "start", to="short"),
            advance(20),
            *each_of("timer", "pause", to="short"),
            advance(100),
            *each_of("timer", "pause", to="short"),
            *each_of("timer", "start", to="short"),
            advance(10),
            *each_of("timer", "start", to="short"),
            advance(39),
            advance(61),
            *each_of("timer", "start", {"duration": "00:02:00"}, to="short"),
            *each_of(
                "timer",
                "change",
                {"duration": -30},
                {"duration": "-00:00:15"},
                {"duration": 10},
                {"duration": 100},
                to="short",
            ),
            *each_of("timer", "change", {"duration": {"seconds": -10}}, {"duration": -1000}, to="short"),
            *each_of("timer", "cancel", {}, {}, to="short"),
            *each_of("timer", "change", {"duration": 10}, to="short"),
            *each_of("timer", "finish", to="short"),
            *each_of("timer", "start", {"duration": 30}, to="short"),
            *each_of("timer", "start", {"duration": 90}, to="short"),
            *each_of("timer", "finish", to="short"),
            *each_of("timer", "pause", to="short"),
            *each_of("timer", "start", {"duration": {"minutes": 1}}, to="open"),
            *each_of("timer", "start", to="kept"),
            *each_of("timer", "start", to="short"),
            restart(100),
            advance(150),
            *each_of("timer", "pause", to="kept"),
            restart(1_000),
            *each_of("timer", "start", to="kept"),
            restart(1_000),
            *each_of("timer", "start", {"duration": 600}, to="kept"),
            advance(60),
            reload({"timer": {**_TIMER, "kept": {"duration": 120, "restore": True}, "short": {"duration": 10}}}),
            *each_of("timer", "cancel", to="kept"),
            *each_of("timer", "start", to="short"),
            advance(11),
        ],
    },
]
