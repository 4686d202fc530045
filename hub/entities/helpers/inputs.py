"""`input_boolean`, `input_button`, `input_number`, `input_select`, `input_text` and `counter`: values that people set.

Source: the documentation of these integrations of Home Assistant, and the answers of its core.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from hub.core.errors import InvalidRequest
from hub.core.phrases import phrase
from hub.core.schema import (
    All,
    AnyOf,
    In,
    Invalid,
    Length,
    Optional,
    Range,
    Required,
    boolean,
    integer,
    number,
    numeric,
    string,
)
from hub.entities.helpers.contract import Held, HelperHome, HelperKind, HelperService, Settings

TEXT_LIMIT = 255
OPTIONS_LIMIT = 1_000
_WHOLE = All(integer, Range(min=0))
_OPTION = All(string, Length(max=TEXT_LIMIT))
_OPTIONS = All([_OPTION], Length(min=1, max=OPTIONS_LIMIT))
_CYCLE = {Optional("cycle", default=True): boolean}


def _to(change: Callable[[Settings, Held, Mapping[str, Any]], str]) -> HelperService:
    """Return a service without data that makes a state of the present one."""
    return HelperService(lambda settings, held, data, home: Held(change(settings, held, data)))


def _only(settings: Settings, *names: str) -> dict[str, Any]:
    """Return the settings that are attributes too."""
    return {name: settings[name] for name in names if settings.get(name) is not None}


# --- input_boolean, input_button ---


def _boolean(settings: Settings, kept: Held | None, home: HelperHome) -> Held:
    if home.starting and "initial" in settings:
        return Held("on" if settings["initial"] else "off")
    return Held("on" if kept is not None and kept.state == "on" else "off")


BOOLEAN = HelperKind(
    "input_boolean",
    "Switches that people and automations turn, by name",
    {Optional("initial", description="Whether it is on after each start; what it was without it"): boolean},
    _boolean,
    {
        "turn_on": _to(lambda settings, held, data: "on"),
        "turn_off": _to(lambda settings, held, data: "off"),
        "toggle": _to(lambda settings, held, data: "off" if held.state == "on" else "on"),
    },
)
BUTTON = HelperKind(
    "input_button",
    "Buttons that automations wait for, by name",
    {},
    lambda settings, kept, home: Held(kept.state if kept is not None else None),
    {"press": HelperService(lambda settings, held, data, home: Held(_stamp(home)))},
)


def _stamp(home: HelperHome) -> str:
    return datetime.fromtimestamp(home.now, UTC).isoformat()


# --- input_number ---


def _number(settings: Settings, kept: Held | None, home: HelperHome) -> Held:
    if home.starting and "initial" in settings:
        return Held(str(float(settings["initial"])))
    value = _as_float(kept.state if kept is not None else None)
    if value is None or (home.starting and not settings["min"] <= value <= settings["max"]):
        value = settings["min"]
    return Held(str(float(max(settings["min"], min(settings["max"], value)))))


def _as_float(text: str | None) -> float | None:
    try:
        return float(text or "")
    except ValueError:
        return None


def _set_number(settings: Settings, held: Held, data: Mapping[str, Any], home: HelperHome) -> Held:
    value = float(data["value"])
    if not settings["min"] <= value <= settings["max"]:
        raise InvalidRequest(
            phrase(
                "{key} is from {low} to {high}, not {value}",
                key="value",
                low=settings["min"],
                high=settings["max"],
                value=f"{value:g}",
            )
        )
    return Held(str(value))


def _step(settings: Settings, held: Held, sign: int) -> str:
    value = (_as_float(held.state) or 0.0) + sign * settings["step"]
    return str(float(max(settings["min"], min(settings["max"], value))))


def _number_rule(settings: dict[str, Any]) -> dict[str, Any]:
    if settings["min"] >= settings["max"]:
        raise Invalid(phrase("expected a number above min"), path=["max"])
    if "initial" in settings and not settings["min"] <= settings["initial"] <= settings["max"]:
        raise Invalid(phrase("expected a number from min to max"), path=["initial"])
    return settings


NUMBER = HelperKind(
    "input_number",
    "Numbers that people and automations set, by name",
    {
        Required("min", description="The least"): number,
        Required("max", description="The greatest"): number,
        Optional("initial", description="What it is after each start; what it was without it"): number,
        Optional("step", default=1.0, description="How far one step goes"): All(number, Range(min=0.000001)),
        Optional("mode", default="slider", description="How it is shown: slider or box"): In(("slider", "box")),
        Optional("unit_of_measurement", description="Its unit"): string,
    },
    _number,
    {
        "set_value": HelperService(_set_number, {Required("value"): numeric}),
        "increment": _to(lambda settings, held, data: _step(settings, held, 1)),
        "decrement": _to(lambda settings, held, data: _step(settings, held, -1)),
    },
    _number_rule,
    lambda settings: {
        "initial": settings.get("initial"),
        **{key: float(settings[key]) for key in ("min", "max", "step")},
        "mode": settings["mode"],
    },
)


# --- input_select ---


def _select(settings: Settings, kept: Held | None, home: HelperHome) -> Held:
    options = settings["options"]
    if home.starting and "initial" in settings:
        return _chosen(settings["initial"], options)
    if kept is not None and kept.state in options:
        return _chosen(kept.state, options)
    return _chosen(options[0] if home.starting else None, options)


def _chosen(option: str | None, options: list[str]) -> Held:
    return Held(option, {"options": options})


def _choose(settings: Settings, held: Held, data: Mapping[str, Any], home: HelperHome) -> Held:
    options, option = held.attributes["options"], data["option"]
    if option not in options:
        raise InvalidRequest(
            phrase("{key} is one of {choices}, not {value}", key="option", choices=options, value=option)
        )
    return _chosen(option, options)


def _move(step: int) -> HelperService:
    def move(settings: Settings, held: Held, data: Mapping[str, Any], home: HelperHome) -> Held:
        options = held.attributes["options"]
        place = (options.index(held.state) if held.state in options else 0) + step
        if not data.get("cycle", True):
            place = max(0, min(len(options) - 1, place))
        return _chosen(options[place % len(options)], options)

    return HelperService(move, _CYCLE)


def _end(place: int) -> HelperService:
    return HelperService(
        lambda settings, held, data, home: _chosen(held.attributes["options"][place], held.attributes["options"])
    )


def _set_options(settings: Settings, held: Held, data: Mapping[str, Any], home: HelperHome) -> Held:
    options = list(data["options"])
    return _chosen(held.state if held.state in options else options[0], options)


def _select_rule(settings: dict[str, Any]) -> dict[str, Any]:
    settings["options"] = list(dict.fromkeys(settings["options"]))
    if "initial" in settings and settings["initial"] not in settings["options"]:
        raise Invalid(phrase("expected one of the options"), path=["initial"])
    return settings


SELECT = HelperKind(
    "input_select",
    "Lists of which one word is chosen, by name",
    {
        Required("options", description="What can be chosen"): _OPTIONS,
        Optional("initial", description="What is chosen after each start; what it was without it"): _OPTION,
    },
    _select,
    {
        "select_option": HelperService(_choose, {Required("option"): _OPTION}),
        "select_first": _end(0),
        "select_last": _end(-1),
        "select_next": _move(1),
        "select_previous": _move(-1),
        "set_options": HelperService(_set_options, {Required("options"): _OPTIONS}),
    },
    _select_rule,
)


# --- input_text ---


def _text(settings: Settings, kept: Held | None, home: HelperHome) -> Held:
    if home.starting and "initial" in settings:
        return Held(settings["initial"])
    value = kept.state if kept is not None else None
    is_fit = value is not None and settings["min"] <= len(value) <= settings["max"]
    return Held(value if is_fit else None)


def _set_text(settings: Settings, held: Held, data: Mapping[str, Any], home: HelperHome) -> Held:
    value = data["value"]
    if not settings["min"] <= len(value) <= settings["max"]:
        raise InvalidRequest(
            phrase(
                "{key} has from {low} to {high} characters, not {count}",
                key="value",
                low=settings["min"],
                high=settings["max"],
                count=len(value),
            )
        )
    return Held(value)


def _pattern(value: Any) -> str:
    text: str = string(value)
    try:
        re.compile(text)
    except re.error as error:
        raise Invalid(phrase("expected a regular expression ({problem})", problem=str(error))) from None
    return text


def _text_rule(settings: dict[str, Any]) -> dict[str, Any]:
    if settings["min"] > settings["max"]:
        raise Invalid(phrase("expected a number not below min"), path=["max"])
    if "initial" in settings and not settings["min"] <= len(settings["initial"]) <= settings["max"]:
        raise Invalid(phrase("expected text of min to max characters"), path=["initial"])
    return settings


TEXT = HelperKind(
    "input_text",
    "Texts that people and automations set, by name",
    {
        Optional("min", default=0, description="The fewest characters"): All(integer, Range(min=0, max=TEXT_LIMIT)),
        Optional("max", default=100, description="The most characters"): All(integer, Range(min=1, max=TEXT_LIMIT)),
        Optional("initial", description="What it is after each start; what it was without it"): AnyOf(None, string),
        Optional("pattern", description="A regular expression that the field of the dashboard asks for"): _pattern,
        Optional("mode", default="text", description="How it is shown: text or password"): In(("text", "password")),
        Optional("unit_of_measurement", description="Its unit"): string,
    },
    _text,
    {"set_value": HelperService(_set_text, {Required("value"): All(string, Length(max=1_000))})},
    _text_rule,
    lambda settings: {**_only(settings, "min", "max"), "pattern": settings.get("pattern"), "mode": settings["mode"]},
)


# --- counter ---


def _counter(settings: Settings, kept: Held | None, home: HelperHome) -> Held:
    value = _as_float(kept.state if kept is not None else None)
    if value is None or (home.starting and not settings["restore"]):
        return Held(str(settings["initial"]))
    return Held(_within(settings, int(value)))


def _within(settings: Settings, value: int) -> str:
    if (least := settings.get("minimum")) is not None:
        value = max(least, value)
    if (most := settings.get("maximum")) is not None:
        value = min(most, value)
    return str(value)


def _count(settings: Settings, held: Held, sign: int) -> str:
    return _within(settings, int(held.state or 0) + sign * settings["step"])


def _set_count(settings: Settings, held: Held, data: Mapping[str, Any], home: HelperHome) -> Held:
    value = data["value"]
    if _within(settings, value) != str(value):
        raise InvalidRequest(
            phrase(
                "{key} is from {low} to {high}, not {value}",
                key="value",
                low=settings.get("minimum", "−∞"),
                high=settings.get("maximum", "∞"),
                value=value,
            )
        )
    return Held(str(value))


COUNTER = HelperKind(
    "counter",
    "Counters, by name",
    {
        Optional("initial", default=0, description="Where it begins"): _WHOLE,
        Optional("step", default=1, description="How far one step goes"): All(integer, Range(min=1)),
        Optional("minimum", description="The least"): AnyOf(None, integer),
        Optional("maximum", description="The greatest"): AnyOf(None, integer),
        Optional("restore", default=True, description="Whether it is kept over a restart"): boolean,
    },
    _counter,
    {
        "increment": _to(lambda settings, held, data: _count(settings, held, 1)),
        "decrement": _to(lambda settings, held, data: _count(settings, held, -1)),
        "reset": _to(lambda settings, held, data: _within(settings, settings["initial"])),
        "set_value": HelperService(_set_count, {Required("value"): _WHOLE}),
    },
    shown=lambda settings: _only(settings, "initial", "step", "minimum", "maximum"),
)
