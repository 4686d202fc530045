"""The services that bring an entity into a state that a scene names. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from hub.entities.domains import DOMAINS

_COLORS = ("color_temp_kelvin", "color_temp", "hs_color", "rgb_color", "rgbw_color", "rgbww_color", "xy_color")
_COLOR_OF = {"color_temp": ("color_temp_kelvin", "color_temp"), **{each[:-6]: (each,) for each in _COLORS[2:]}}
_NO_VALUE = (None, "", "unknown", "unavailable")
_STATES: Mapping[str, Mapping[str, str]] = {
    "cover": {"open": "open_cover", "closed": "close_cover"},
    "lock": {"locked": "lock", "unlocked": "unlock"},
    "valve": {"open": "open_valve", "closed": "close_valve"},
    "media_player": {"playing": "media_play", "paused": "media_pause", "on": "turn_on", "off": "turn_off"},
    "vacuum": {"cleaning": "start", "docked": "return_to_base"},
}
_VALUES = {"select": "option", "input_select": "option"}
_SET: Mapping[str, tuple[tuple[str, str, str], ...]] = {
    "cover": (("position", "set_cover_position", "position"), ("current_position", "set_cover_position", "position")),
    "fan": (("percentage", "set_percentage", "percentage"), ("preset_mode", "set_preset_mode", "preset_mode")),
    "media_player": (("volume_level", "volume_set", "volume_level"), ("source", "select_source", "source")),
    "climate": (("preset_mode", "set_preset_mode", "preset_mode"), ("fan_mode", "set_fan_mode", "fan_mode")),
    "humidifier": (("humidity", "set_humidity", "humidity"), ("mode", "set_mode", "mode")),
}
"""Attributes that a service of their own sets: the attribute, the service, the field of its data."""


def steps_to(entity: str, wanted: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the services of its domain, with their data, that bring an entity into a state; none where none does."""
    domain, state = entity.partition(".")[0], str(wanted["state"])
    services = DOMAINS.get(domain, {})

    def step(service: str, **data: Any) -> tuple[str, dict[str, Any]]:
        return service, data

    if state in _NO_VALUE:
        return

    if domain == "light" and state == "on":
        yield step("turn_on", **_light(wanted))
    elif domain == "climate" and state != "off":
        given = {key: wanted.get(key) for key in ("temperature", "target_temp_low", "target_temp_high")}
        kept = {key: value for key, value in given.items() if value not in _NO_VALUE}
        yield step("set_temperature", hvac_mode=state, **kept) if kept else step("set_hvac_mode", hvac_mode=state)
    elif state in ("on", "off") and f"turn_{state}" in services:
        yield step(f"turn_{state}")
    elif service := _STATES.get(domain, {}).get(state):
        yield step(service)
    elif "set_value" in services or "select_option" in services:
        key = _VALUES.get(domain) or next(str(each) for each in services["set_value"])
        value: Any = state
        if domain in ("number", "input_number"):
            try:
                value = float(state)
            except ValueError:
                return
        yield step("select_option" if domain in _VALUES else "set_value", **{key: value})
    else:
        return
    if state not in ("off", "closed"):
        said = set()
        for attribute, service, field in _SET.get(domain, ()):
            if service not in said and wanted.get(attribute) not in _NO_VALUE:
                said.add(service)
                yield step(service, **{field: wanted[attribute]})


def _light(wanted: Mapping[str, Any]) -> dict[str, Any]:
    """Return the brightness, the effect and the one colour that its mode names."""
    data: dict[str, Any] = {}
    if wanted.get("brightness") not in _NO_VALUE:
        data["brightness"] = wanted["brightness"]
    for key in _COLOR_OF.get(str(wanted.get("color_mode")), () if wanted.get("color_mode") else _COLORS):
        value = wanted.get(key)
        if value not in _NO_VALUE:
            data[key] = list(value) if isinstance(value, (list, tuple)) else value
            break
    if str(wanted.get("effect") or "none").lower() not in ("none", "off"):
        data["effect"] = wanted["effect"]
    return data
