"""Lights: their colours in each form, and the one action that a call needs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hub.core.errors import InvalidRequest
from hub.core.phrases import phrase
from hub.core.schema import Invalid
from integrations.devices.template.colors import hs_of_kelvin, hs_of_rgb, rgb_of_hs, rgb_of_rgbw, xy_of_rgb
from integrations.devices.template.contract import Serve, Settings, Shown, Step, TemplateField, TemplateKind, Values
from integrations.devices.template.reading import (
    NOTHING,
    OPTIMISTIC,
    assumes,
    field,
    is_on,
    number,
    texts,
    within,
    wrong,
)

_COLORS: Mapping[str, tuple[str, tuple[float, ...]]] = {
    "hs": ("hs_color", (360, 100)),
    "rgb": ("rgb_color", (255,) * 3),
    "rgbw": ("rgbw_color", (255,) * 4),
    "rgbww": ("rgbww_color", (255,) * 5),
}
"""Templates of colours: the key of a call's data, and how high each part goes."""
_LETTERS = {"hs": "hs", "rgb": "rgb", "rgbw": "rgbw", "rgbww": ("r", "g", "b", "cw", "ww")}
_MODES = {"set_temperature": "color_temp", "set_hs": "hs", "set_rgb": "rgb", "set_rgbw": "rgbw", "set_rgbww": "rgbww"}
_MIN_MIREDS, _MAX_MIREDS = 153, 500
_MIN_KELVIN, _MAX_KELVIN = 2000, 6535
_EFFECT, _TRANSITION = 4, 32


def _modes(settings: Settings) -> list[str]:
    found = [mode for action, mode in _MODES.items() if action in settings]
    return found or (["brightness"] if "set_level" in settings else ["onoff"])


def _read_state(result: Any) -> bool | None:
    if isinstance(result, bool):
        return result
    if str(result).lower() not in ("on", "off", "true", "false"):
        raise wrong(phrase("one of {names}", names=["on", "off"]), result)
    return is_on(str(result))


def _read_level(result: Any) -> int | None:
    found = within(0, 255)(result)
    return None if found is None else int(found)


def _mireds(result: Any) -> int | None:
    return None if result in NOTHING else int(number(result))


def _read_temperature(result: Any, settings: Settings, values: Values) -> Values:
    low, high = values.get("min_mireds") or _MIN_MIREDS, values.get("max_mireds") or _MAX_MIREDS
    found = within(low, high)(result)
    return {"temperature": None if found is None else int(found), "mode": "color_temp"}


def _read_effect_list(result: Any) -> list[str] | None:
    if result in NOTHING or result == []:
        return None
    if not isinstance(result, list):
        raise wrong(phrase("a list of texts"), result)
    return texts(result)


def _read_effect(result: Any, settings: Settings, values: Values) -> Values:
    if result not in NOTHING and result not in (values.get("effect_list") or ()):
        raise wrong(phrase("one of {names}", names=values.get("effect_list") or []), result)
    return {"effect": None if result in NOTHING else result}


def _color(key: str) -> TemplateField:
    highest = _COLORS[key][1]

    def read(result: Any, settings: Settings, values: Values) -> Values:
        if result in NOTHING:
            return {key: None}
        given = result
        if isinstance(given, str):
            given = given.translate(str.maketrans("", "", "()[] ")).split(",")
        expected = phrase("{count} numbers up to {most}", count=len(highest), most=f"{max(highest):g}")
        if not isinstance(given, list | tuple) or len(given) != len(highest):
            raise wrong(expected, result)
        found = [number(each) for each in given]
        if not all(0 <= each <= most for each, most in zip(found, highest, strict=True)):
            raise wrong(expected, result)
        return {key: tuple(found) if key == "hs" else tuple(map(int, found)), "mode": key}

    return TemplateField(read, {key: None})


# --- what a call does ---


def _in_own_form(settings: Settings, data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the data with a colour in a form that the light has an action for.

    Raises:
        InvalidRequest: It has none, or is given in a form that is not made into others here.
    """
    found = dict(data)
    given = next((key for key, (name, _) in _COLORS.items() if name in data), None)
    if given is None or f"set_{given}" in settings:
        if "xy_color" in found:
            raise InvalidRequest(phrase("this light takes colours as hs_color or rgb_color"))
        return found
    value = found.pop(_COLORS[given][0])
    modes = _modes(settings)
    if given == "rgb" and "hs" in modes:
        found["hs_color"] = hs_of_rgb(value)
    elif given in ("hs", "rgb") and {"rgb", "rgbw", "rgbww"} & {*modes}:
        rgb = value if given == "rgb" else rgb_of_hs(value)
        mode = next(each for each in ("rgb", "rgbw", "rgbww") if each in modes)
        found[_COLORS[mode][0]] = (*rgb, 0, 0)[: len(mode)]
    return found


def _turn_on(settings: Settings, values: Values, data: Mapping[str, Any]) -> Step:
    data = _in_own_form(settings, data)
    assumed: dict[str, Any] = {"state": True} if assumes(settings) else {}
    if "brightness" in data and "level" not in settings:
        assumed["level"] = data["brightness"]
    color = _color_of(data)
    if color is not None and color[0] not in settings:
        key, value, mode = color
        others = dict.fromkeys(each for each in ("temperature", *_COLORS) if each not in settings)
        assumed |= {**others, key: value, "mode": mode}
    return Step((_action(settings, values, data),), assumed)


def _color_of(data: Mapping[str, Any]) -> tuple[str, Any, str] | None:
    """Return the template of the colour that is given, its value there, and the mode of the light with it."""
    if "color_temp_kelvin" in data:
        return "temperature", _mired(data["color_temp_kelvin"]), "color_temp"
    key = next((key for key, (name, _) in _COLORS.items() if name in data), None)
    return None if key is None else (key, data[_COLORS[key][0]], key)


def _action(settings: Settings, values: Values, data: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """Return the one action that is done, with its variables."""
    common: dict[str, Any] = {"brightness": data["brightness"]} if "brightness" in data else {}
    if "transition" in data and values.get("transition"):
        common["transition"] = float(data["transition"])
    if "color_temp_kelvin" in data and "set_temperature" in settings:
        kelvin = data["color_temp_kelvin"]
        return "set_temperature", {**common, "color_temp": _mired(kelvin), "color_temp_kelvin": kelvin}
    if "effect" in data and "set_effect" in settings:
        return "set_effect", {**common, "effect": data["effect"]}
    for key in ("hs", "rgbww", "rgbw", "rgb"):
        name = _COLORS[key][0]
        if name in data and f"set_{key}" in settings:
            value = data[name]
            parts = {letter: int(each) for letter, each in zip(_LETTERS[key], value, strict=True)}
            rgb = {} if key in ("hs", "rgb") else {"rgb": tuple(map(int, value[:3]))}
            return f"set_{key}", {**common, key: tuple(value), **parts, **rgb}
    if "brightness" in data and "set_level" in settings:
        return "set_level", common
    return "turn_on", common


def _turn_off(settings: Settings, values: Values, data: Mapping[str, Any]) -> Step:
    fade = {"transition": float(data["transition"])} if "transition" in data and values.get("transition") else {}
    return Step((("turn_off", fade),), {"state": False} if assumes(settings) else {})


# --- what it shows ---


def _mired(kelvin: float) -> int:
    return int(1_000_000 // kelvin)


def _show(settings: Settings, values: Values) -> Shown:
    state, modes = values.get("state"), _modes(settings)
    fixed: dict[str, Any] = {"supported_color_modes": sorted(modes)}
    if "color_temp" in modes:
        most, least = values.get("max_mireds"), values.get("min_mireds")
        low, high = _mired(most) if most else _MIN_KELVIN, _mired(least) if least else _MAX_KELVIN
        fixed |= {"min_color_temp_kelvin": low, "max_color_temp_kelvin": high}
        fixed |= {"min_mireds": _mired(high), "max_mireds": _mired(low)}
    if "set_effect" in settings:
        fixed["effect_list"] = values.get("effect_list")
    features = (_EFFECT if "set_effect" in settings else 0) | (_TRANSITION if values.get("transition") else 0)
    fixed["supported_features"] = features
    mode = modes[0] if len(modes) == 1 else values.get("mode", "unknown")
    attributes: dict[str, Any] = {"color_mode": mode if state else None}
    if modes != ["onoff"]:
        attributes["brightness"] = values.get("level") if state else None
    if "color_temp" in modes:
        temperature = values.get("temperature") if state and mode == "color_temp" else None
        attributes["color_temp"] = temperature
        attributes["color_temp_kelvin"] = _mired(temperature) if temperature else None
    if {*modes} & {*_COLORS, "color_temp"}:
        attributes |= _colors(values, mode if state else None, modes)
    if "set_effect" in settings:
        attributes["effect"] = values.get("effect") if state else None
    return Shown(None if state is None else "on" if state else "off", fixed, attributes)


def _colors(values: Values, mode: str | None, modes: list[str]) -> dict[str, Any]:
    """Return the colour in each form that follows from the one it has."""
    found: dict[str, Any] = dict.fromkeys(("hs_color", "rgb_color", "xy_color"))
    found |= {_COLORS[each][0]: None for each in ("rgbw", "rgbww") if each in modes}
    value = values.get("temperature" if mode == "color_temp" else mode or "")
    if not value or mode is None:
        return found
    if mode in ("hs", "color_temp"):
        hs = value if mode == "hs" else hs_of_kelvin(_mired(value))
        rgb = rgb_of_hs(hs)
    else:
        found[_COLORS[mode][0]] = tuple(value)
        if mode == "rgbww":
            return found
        rgb = tuple(value) if mode == "rgb" else rgb_of_rgbw(value)
        hs = hs_of_rgb(rgb)
    return {**found, "hs_color": tuple(hs), "rgb_color": rgb, "xy_color": xy_of_rgb(rgb)}


def _rule(settings: dict[str, Any]) -> dict[str, Any]:
    effects = {"set_effect", "effect", "effect_list"}
    if 0 < len(effects & settings.keys()) < len(effects):
        raise Invalid(phrase("{keys} go together", keys=sorted(effects)))
    return settings


def _services(settings: Settings) -> Mapping[str, Serve]:
    return {"turn_on": _turn_on, "turn_off": _turn_off}


LIGHT = TemplateKind(
    domain="light",
    name="Template Light",
    description="A light.",
    templates={
        "state": TemplateField(
            lambda result, settings, values: {"state": _read_state(result)}, {"state": None}, broken={"state": False}
        ),
        "level": field("level", _read_level),
        "max_mireds": field("max_mireds", _mireds),
        "min_mireds": field("min_mireds", _mireds),
        "temperature": TemplateField(_read_temperature, {"temperature": None, "mode": "color_temp"}),
        **{key: _color(key) for key in _COLORS},
        "effect_list": field("effect_list", _read_effect_list),
        "effect": TemplateField(_read_effect, {"effect": None}),
        "supports_transition": field("transition", lambda result: result not in NOTHING and bool(result)),
    },
    show=_show,
    actions={
        **dict.fromkeys(("turn_on", "turn_off"), True),
        **dict.fromkeys(("set_level", "set_effect", *_MODES), False),
    },
    fields=OPTIMISTIC,
    services=_services,
    begin={"state": False},
    rule=_rule,
    legacy="lights",
    renamed={
        **{f"{key}_template": key for key in ("level", "temperature", "effect", "effect_list", *_COLORS)},
        **{f"{key}_template": key for key in ("max_mireds", "min_mireds", "supports_transition")},
        "value_template": "state",
        "color_template": "hs",
        "set_color": "set_hs",
    },
)
