"""Numbers, selects, switches, buttons, covers, fans, locks, alarms and vacuum cleaners."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from hub.core.phrases import phrase
from hub.core.schema import All, In, Invalid, Optional, Range, as_list, boolean, integer, string
from integrations.devices.template.contract import Serve, Settings, Shown, Step, TemplateField, TemplateKind, Values
from integrations.devices.template.reading import (
    OPTIMISTIC,
    assumes,
    choice,
    field,
    is_on,
    number,
    text,
    texts,
    within,
    wrong,
)
from integrations.devices.template.sensors import DEVICE_CLASS, UNIT


def run(action: str, assumed: Values | None = None, *given: str, at_once: bool = False) -> Serve:
    """Return a service that does one action, which sees these keys of its data."""

    def serve(settings: Settings, values: Values, data: Mapping[str, Any]) -> Step:
        return Step(((action, {key: data.get(key) for key in given}),), assumed or {}, at_once)

    return serve


def _assumed(settings: Settings) -> dict[str, Any]:
    return {"assumed_state": True} if assumes(settings) else {}


def _on_off(values: Values) -> str | None:
    state = values.get("state")
    return None if state is None else "on" if state else "off"


def _set_number(settings: Settings, values: Values, data: Mapping[str, Any]) -> Step:
    value = float(data["value"])
    return Step((("set_value", {"value": value}),), {"state": value} if assumes(settings) else {}, at_once=True)


NUMBER = TemplateKind(
    domain="number",
    name="Template Number",
    description="A number to set.",
    templates={
        "state": field("state", number),
        "step": field("step", number, default="1"),
        "min": field("min", number, default="0"),
        "max": field("max", number, default="100"),
    },
    show=lambda settings, values: Shown(
        None if values.get("state") is None else str(values["state"]),
        {**{key: values.get(key) for key in ("min", "max", "step")}, "mode": "auto", **_assumed(settings)},
    ),
    actions={"set_value": True},
    fields={**UNIT, **DEVICE_CLASS, **OPTIMISTIC},
    services=lambda settings: {"set_value": _set_number},
    begin={"min": 0.0, "max": 100.0, "step": 1.0},
)


def _select(settings: Settings, values: Values, data: Mapping[str, Any]) -> Step:
    option = data["option"]
    return Step((("select_option", {"option": option}),), {"state": option} if assumes(settings) else {}, at_once=True)


def _show_select(settings: Settings, values: Values) -> Shown:
    state, options = values.get("state"), values.get("options")
    return Shown(state if state in (options or ()) else None, {"options": options, **_assumed(settings)})


SELECT = TemplateKind(
    domain="select",
    name="Template Select",
    description="A list to choose from.",
    templates={"options": field("options", texts, required=True), "state": field("state", text)},
    show=_show_select,
    actions={"select_option": True},
    fields=OPTIMISTIC,
    services=lambda settings: {"select_option": _select},
    begin={"options": []},
)
SWITCH = TemplateKind(
    domain="switch",
    name="Template Switch",
    description="A switch.",
    templates={"state": field("state", is_on, is_state=True)},
    show=lambda settings, values: Shown(_on_off(values), _assumed(settings)),
    actions={"turn_on": True, "turn_off": True},
    fields={**DEVICE_CLASS, **OPTIMISTIC},
    services=lambda settings: {
        "turn_on": run("turn_on", {"state": True} if assumes(settings) else {}),
        "turn_off": run("turn_off", {"state": False} if assumes(settings) else {}),
    },
    begin={"state": False},
    restores=lambda settings, triggered: "state" not in settings,
    legacy="switches",
    renamed={"value_template": "state"},
)


def _press(settings: Settings, values: Values, data: Mapping[str, Any]) -> Step:
    return Step((("press", {}),), {"state": data["now"]}, at_once=True)


BUTTON = TemplateKind(
    domain="button",
    name="Template Button",
    description="A button.",
    templates={},
    show=lambda settings, values: Shown(values.get("state")),
    actions={"press": True},
    fields=DEVICE_CLASS,
    services=lambda settings: {"press": _press},
    restores=lambda settings, triggered: True,
)

# --- covers ---

_OPEN_OR_CLOSED = ("open", "closed", "opening", "closing")
_STOP, _POSITION, _TILT = 8, 4, 16 | 32 | 64 | 128


def _read_cover(result: Any, settings: Settings, values: Values) -> Values:
    state = str(result).lower()
    if state not in (*_OPEN_OR_CLOSED, "true", "false", "none"):
        raise wrong(phrase("one of {names}", names=[*_OPEN_OR_CLOSED]), result)
    moving = state if state in ("opening", "closing") else None
    if "position" in settings:
        return {"moving": moving}
    return {"moving": moving, "position": 100 if state in ("open", "true") else 0}


def _cover_moves(position: int, action: str) -> Serve:
    def serve(settings: Settings, values: Values, data: Mapping[str, Any]) -> Step:
        known = bool(settings.get("optimistic", not {"state", "position"} & settings.keys()))
        step = (action, {}) if action in settings else ("set_cover_position", {"position": position})
        return Step((step,), {"position": position} if known else {})

    return serve


def _set_position(settings: Settings, values: Values, data: Mapping[str, Any]) -> Step:
    position = int(data["position"])
    known = settings.get("optimistic", not {"state", "position"} & settings.keys())
    return Step((("set_cover_position", {"position": position}),), {"position": position} if known else {})


def _set_tilt(tilt: int | None) -> Serve:
    def serve(settings: Settings, values: Values, data: Mapping[str, Any]) -> Step:
        value = int(data["tilt_position"]) if tilt is None else tilt
        known = settings.get("tilt_optimistic") or "tilt" not in settings
        return Step((("set_cover_tilt_position", {"tilt": value}),), {"tilt": value} if known else {})

    return serve


def _cover_services(settings: Settings) -> Mapping[str, Serve]:
    found: dict[str, Serve] = {
        "open_cover": _cover_moves(100, "open_cover"),
        "close_cover": _cover_moves(0, "close_cover"),
    }
    if "stop_cover" in settings:
        found["stop_cover"] = run("stop_cover")
    if "set_cover_position" in settings:
        found["set_cover_position"] = _set_position
    if "set_cover_tilt_position" in settings:
        found |= {"open_cover_tilt": _set_tilt(100), "close_cover_tilt": _set_tilt(0)}
        found["set_cover_tilt_position"] = _set_tilt(None)
    return found


def _show_cover(settings: Settings, values: Values) -> Shown:
    position = values.get("position")
    state = values.get("moving") or (None if position is None else "closed" if position == 0 else "open")
    features = 3 | sum(
        feature
        for action, feature in (
            ("stop_cover", _STOP),
            ("set_cover_position", _POSITION),
            ("set_cover_tilt_position", _TILT),
        )
        if action in settings
    )
    attributes: dict[str, Any] = {}
    if position is not None and ("position" in settings or "set_cover_position" in settings):
        attributes["current_position"] = position
    if values.get("tilt") is not None:
        attributes["current_tilt_position"] = values["tilt"]
    return Shown(state, {"supported_features": features}, attributes)


def _cover_rule(settings: dict[str, Any]) -> dict[str, Any]:
    if ("open_cover" in settings) != ("close_cover" in settings):
        raise Invalid(phrase("open_cover and close_cover go together"))
    if not {"open_cover", "set_cover_position"} & settings.keys():
        raise Invalid(phrase("expected one of {keys}", keys=["open_cover", "set_cover_position"]))
    return settings


_PERCENT = within(0, 100)
COVER = TemplateKind(
    domain="cover",
    description="A blind, a gate, a window.",
    templates={
        "state": TemplateField(_read_cover, {"position": None, "moving": None}, is_state=True),
        "position": field("position", _PERCENT),
        "tilt": field("tilt", _PERCENT),
    },
    show=_show_cover,
    actions=dict.fromkeys(
        ("open_cover", "close_cover", "stop_cover", "set_cover_position", "set_cover_tilt_position"), False
    ),
    fields={
        **DEVICE_CLASS,
        **OPTIMISTIC,
        Optional("tilt_optimistic", description="Whether it is at once tilted as it was set."): boolean,
    },
    services=_cover_services,
    rule=_cover_rule,
    legacy="covers",
    renamed={"value_template": "state", "position_template": "position", "tilt_template": "tilt"},
)

# --- fans ---

_FAN_FEATURES = {"percentage": 1, "oscillating": 2, "direction": 4}


def _read_percentage(result: Any) -> int:
    try:
        return int(_PERCENT(result) or 0)
    except ValueError:
        raise wrong(phrase("a number from {low} to {high}", low="0", high="100"), result) from None


def _bool_or_none(result: Any) -> bool | None:
    if isinstance(result, bool):
        return result
    if result in ("True", "False"):
        return bool(result == "True")
    if result in ("unknown", "unavailable"):
        return None
    raise wrong("True, False", result)


def _read_preset(result: Any, settings: Settings, values: Values) -> Values:
    return {"preset_mode": choice(*settings.get("preset_modes", ()))(str(result))}


def _fan_sets(action: str, key: str, given: str) -> Serve:
    def serve(settings: Settings, values: Values, data: Mapping[str, Any]) -> Step:
        value = data[given]
        steps = ((action, {key: value}),) if action in settings else ()
        on: dict[str, Any] = {}
        if key in ("percentage", "preset_mode") and assumes(settings):
            on = {"state": value != 0}
        return Step(steps, {**({} if key in settings else {key: value}), **on})

    return serve


def _fan_on(settings: Settings, values: Values, data: Mapping[str, Any]) -> Step:
    steps: list[tuple[str, Mapping[str, Any]]] = [
        ("turn_on", {"percentage": data.get("percentage"), "preset_mode": data.get("preset_mode")})
    ]
    assumed: dict[str, Any] = {"state": True} if assumes(settings) else {}
    for key in ("preset_mode", "percentage"):
        if data.get(key) is not None:
            if f"set_{key}" in settings:
                steps.append((f"set_{key}", {key: data[key]}))
            assumed |= {} if key in settings else {key: data[key]}
            break
    return Step(tuple(steps), assumed)


def _fan_services(settings: Settings) -> Mapping[str, Serve]:
    found: dict[str, Serve] = {
        "turn_on": _fan_on,
        "turn_off": run("turn_off", {"state": False} if assumes(settings) else {}),
        "set_percentage": _fan_sets("set_percentage", "percentage", "percentage"),
        "set_preset_mode": _fan_sets("set_preset_mode", "preset_mode", "preset_mode"),
    }
    if "set_oscillating" in settings:
        found["oscillate"] = _fan_sets("set_oscillating", "oscillating", "oscillating")
    if "set_direction" in settings:
        found["set_direction"] = _fan_sets("set_direction", "direction", "direction")
    needs = {"set_percentage": "percentage", "set_preset_mode": "preset_mode"}
    return {key: serve for key, serve in found.items() if needs.get(key, "turn_on") in settings}


def _show_fan(settings: Settings, values: Values) -> Shown:
    has_preset = "preset_mode" in settings and bool(settings.get("preset_modes"))
    features = 16 | 32 | (8 if has_preset else 0)
    features |= sum(feature for key, feature in _FAN_FEATURES.items() if key in settings)
    attributes = {key: values.get(key) for key in ("direction", "oscillating", "percentage") if key in settings}
    if "percentage" in settings:
        attributes["percentage_step"] = 100 / (settings.get("speed_count") or 100)
    if has_preset or "percentage" in settings:
        attributes["preset_mode"] = values.get("preset_mode")
    presets = {"preset_modes": settings.get("preset_modes")} if has_preset or "percentage" in settings else {}
    return Shown(_on_off(values), {**presets, "supported_features": features, **_assumed(settings)}, attributes)


FAN = TemplateKind(
    domain="fan",
    description="A fan.",
    templates={
        "state": field("state", is_on, is_state=True),
        "percentage": field("percentage", _read_percentage, failed=0),
        "preset_mode": TemplateField(_read_preset, {"preset_mode": None}),
        "oscillating": field("oscillating", _bool_or_none),
        "direction": field("direction", choice("forward", "reverse")),
    },
    show=_show_fan,
    actions={
        **dict.fromkeys(("turn_on", "turn_off"), True),
        **dict.fromkeys(("set_percentage", "set_preset_mode", "set_oscillating", "set_direction"), False),
    },
    fields={
        **OPTIMISTIC,
        Optional("speed_count", description="How many speeds it has."): All(integer, Range(min=1, max=1_000)),
        Optional("preset_modes", description="Its modes."): All(as_list, [string]),
    },
    services=_fan_services,
    begin={"state": False},
    legacy="fans",
    renamed={
        "value_template": "state",
        **{f"{key}_template": key for key in ("percentage", "preset_mode", "oscillating", "direction")},
    },
)


# --- locks, alarms, vacuum cleaners ---

_LOCK_STATES = ("locked", "unlocked", "locking", "unlocking", "jammed", "open", "opening")


def _read_lock(result: Any) -> str | None:
    word = ("true" if result else "false") if isinstance(result, bool) else str(result).lower()
    if word in ("true", "on"):
        return "locked"
    if word in ("false", "off"):
        return "unlocked"
    return word if word in _LOCK_STATES else None


def _lock(action: str, state: str) -> Callable[[Settings], Mapping[str, Serve]]:
    def services(settings: Settings) -> Mapping[str, Serve]:
        if action not in settings:
            return {}
        return {action: run(action, {"state": state} if assumes(settings) else {}, "code", at_once=True)}

    return services


def _show_lock(settings: Settings, values: Values) -> Shown:
    code = {"code_format": values["code_format"]} if values.get("code_format") else {}
    features = 1 if "open" in settings else 0
    state = values.get("state")
    return Shown(state, {"supported_features": features, **_assumed(settings)}, code)


LOCK = TemplateKind(
    domain="lock",
    name="Template Lock",
    description="A lock.",
    templates={
        "state": field("state", _read_lock, is_state=True),
        "code_format": field("code_format", lambda result: None if result in (None, "None", "") else str(result)),
    },
    show=_show_lock,
    actions={"lock": True, "unlock": True, "open": False},
    fields=OPTIMISTIC,
    services=lambda settings: {
        **_lock("lock", "locked")(settings),
        **_lock("unlock", "unlocked")(settings),
        **_lock("open", "open")(settings),
    },
    legacy="lock",
    renamed={"value_template": "state", "code_format_template": "code_format"},
)
_ARM = {"arm_away": ("armed_away", 2), "arm_home": ("armed_home", 1), "arm_night": ("armed_night", 4)}
_ARM |= {"arm_vacation": ("armed_vacation", 32), "arm_custom_bypass": ("armed_custom_bypass", 16)}
_ALARM = {**_ARM, "disarm": ("disarmed", 0), "trigger": ("triggered", 8)}
_ALARM_STATES = (*(state for state, _ in _ALARM.values()), "arming", "pending", "disarming")


def _show_alarm(settings: Settings, values: Values) -> Shown:
    features = sum(feature for action, (_, feature) in _ALARM.items() if action in settings)
    code = None if settings["code_format"] == "no_code" else settings["code_format"]
    attributes = {"code_format": code, "changed_by": None, "code_arm_required": settings["code_arm_required"]}
    return Shown(values.get("state"), {"supported_features": features}, attributes)


ALARM = TemplateKind(
    domain="alarm_control_panel",
    description="An alarm.",
    templates={"state": field("state", choice(*_ALARM_STATES))},
    show=_show_alarm,
    actions=dict.fromkeys(_ALARM, False),
    fields={
        **OPTIMISTIC,
        Optional("code_arm_required", default=True, description="Whether arming needs a code."): boolean,
        Optional("code_format", default="number", description="What its code looks like."): In(
            ("number", "text", "no_code")
        ),
    },
    services=lambda settings: {
        f"alarm_{action}": run(action, {"state": state} if assumes(settings) else {}, "code")
        for action, (state, _) in _ALARM.items()
        if action in settings
    },
    restores=lambda settings, triggered: True,
    legacy="panels",
    renamed={"value_template": "state"},
)
_VACUUM = {"pause": 4, "stop": 8, "return_to_base": 16, "clean_spot": 1024, "locate": 512, "set_fan_speed": 32}
_VACUUM_STATES = ("cleaning", "docked", "paused", "idle", "returning", "error")


def _read_fan_speed(result: Any, settings: Settings, values: Values) -> Values:
    return {"fan_speed": choice(*settings["fan_speeds"])(result)}


def _show_vacuum(settings: Settings, values: Values) -> Shown:
    features = 8192 | 4096 | (64 if "battery_level" in settings else 0)
    features |= sum(feature for action, feature in _VACUUM.items() if action in settings)
    speeds = "set_fan_speed" in settings
    attributes: dict[str, Any] = {"fan_speed": values.get("fan_speed")} if speeds else {}
    if "battery_level" in settings:
        attributes["battery_level"] = values.get("battery_level")
    fixed = {"fan_speed_list": settings["fan_speeds"]} if speeds else {}
    return Shown(values.get("state"), {**fixed, "supported_features": features}, attributes)


VACUUM = TemplateKind(
    domain="vacuum",
    description="A vacuum cleaner.",
    templates={
        "state": field("state", choice(*_VACUUM_STATES)),
        "battery_level": field("battery_level", lambda result: int(within(0, 100)(result) or 0)),
        "fan_speed": TemplateField(_read_fan_speed, {"fan_speed": None}),
    },
    show=_show_vacuum,
    actions={"start": True, **dict.fromkeys(_VACUUM, False)},
    fields={Optional("fan_speeds", default=list, description="Its speeds."): All(as_list, [string])},
    services=lambda settings: {
        action: run(action, {}, *(("fan_speed",) if action == "set_fan_speed" else ()))
        for action in ("start", *_VACUUM)
        if action in settings
    },
    legacy="vacuums",
    renamed={f"{key}_template": key for key in ("battery_level", "fan_speed")} | {"value_template": "state"},
)
