"""Scenes of a Home Assistant as scripts: the services that bring about the states they name. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from hub.config.marks import ConfigList, ConfigMapping
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


def script_of(name: str, entities: Mapping[str, Any]) -> tuple[dict[str, Any] | None, list[str]]:
    """Return a scene as a script, None when nothing of it can be; and the entities that no service sets.

    Args:
        entities: What it says of each entity: a state, or a mapping of the state and attributes.
    """
    steps: list[dict[str, Any]] = []
    left: list[str] = []
    for entity, given in entities.items():
        wanted = given if isinstance(given, Mapping) else {"state": given}
        state = wanted.get("state")
        text = {True: "on", False: "off"}.get(state, str(state)) if isinstance(state, bool) else str(state)
        made = [] if state in _NO_VALUE else [*_steps(str(entity), text, wanted)]
        steps += made
        if not made:
            left.append(str(entity))
    return ({"alias": name, "sequence": steps} if steps else None), left


def _steps(entity: str, state: str, wanted: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    domain = entity.partition(".")[0]
    services = DOMAINS.get(domain, {})

    def step(service: str, **data: Any) -> dict[str, Any]:
        made: dict[str, Any] = {"action": f"{domain}.{service}", "target": {"entity_id": entity}}
        return {**made, "data": data} if data else made

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


def with_scripts(value: Any, scripts: Mapping[str, str]) -> Any:
    """Return actions that call scripts where they turned on the scenes these were made of; the same where none did.

    Args:
        scripts: The script of each scene, by the scene's entity id.
    """
    if isinstance(value, Mapping):
        scenes = _turned_on(value)
        if scenes and all(each in scripts for each in scenes):
            return _call(value, [scripts[each] for each in scenes])
        fresh = {key: with_scripts(each, scripts) for key, each in value.items()}
        if all(fresh[key] is value[key] for key in fresh) or not isinstance(value, ConfigMapping):
            return value if all(fresh[key] is value[key] for key in fresh) else fresh
        mapping = ConfigMapping(value.mark)
        for key, each in fresh.items():
            mapping.put(key, each, value.key_marks[key], value.value_marks[key])
        return mapping
    if isinstance(value, list):
        found = [with_scripts(each, scripts) for each in value]
        if all(one is other for one, other in zip(found, value, strict=True)):
            return value
        if not isinstance(value, ConfigList):
            return found
        whole = ConfigList(value.mark)
        for each, mark in zip(found, value.marks, strict=True):
            whole.put(each, mark)
        return whole
    return value


def _turned_on(step: Mapping[str, Any]) -> list[str]:
    """Return the scenes that a step turns on."""
    if isinstance(step.get("scene"), str):
        return [step["scene"]]
    if "scene.turn_on" not in (step.get("action"), step.get("service")):
        return []
    target, data = step.get("target"), step.get("data")
    for place in (step, target, data):
        found = place.get("entity_id") if isinstance(place, Mapping) else None
        if found:
            return [str(each) for each in (found if isinstance(found, list) else str(found).split(","))]
    return []


def _call(step: Mapping[str, Any], scripts: list[str]) -> Mapping[str, Any]:
    kept = {key: each for key, each in step.items() if key in ("alias", "enabled", "continue_on_error")}
    calls = [{"action": f"script.{each}"} for each in scripts]
    made = {**kept, **(calls[0] if len(calls) == 1 else {"sequence": calls})}
    if not isinstance(step, ConfigMapping):
        return made
    mapping = ConfigMapping(step.mark)
    for key, each in made.items():
        mapping.put(key, each, step.key_marks.get(key, step.mark), step.value_marks.get(key, step.mark))
    return mapping
