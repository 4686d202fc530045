"""Verbs for entities, mapped to services of their domains and the data these take."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from hub.entities.domains import DOMAINS, GENERIC

SET = "set"
LOOK = "look"
VALUE = "value"
"""What `set` takes in place of a service's own field: the field follows from the entity."""
_BRIGHTER, _WARMER = 51, 1.0
_VERBS: Mapping[str, tuple[str, ...]] = {
    "turn_on": ("turn_on", "open_{domain}", "press", "start"),
    "turn_off": ("turn_off", "close_{domain}", "return_to_base", "dock", "cancel"),
    "toggle": ("toggle",),
    "open": ("open_{domain}", "open"),
    "close": ("close_{domain}",),
    "stop": ("stop_{domain}", "stop", "media_stop", "cancel"),
    "lock": ("lock",),
    "unlock": ("unlock",),
    "press": ("press",),
    "start": ("start", "start_mowing", "media_play"),
    "resume": ("media_play", "start"),
    "play": ("play_media", "media_play"),
    "pause": ("pause", "media_pause"),
    "cancel": ("cancel",),
    "next": ("media_next_track", "select_next"),
    "previous": ("media_previous_track", "select_previous"),
    "increase": ("increment", "increase_speed", "volume_up", "change"),
    "decrease": ("decrement", "decrease_speed", "volume_down", "change"),
    "reset": ("reset",),
    "mute": ("volume_mute",),
    "unmute": ("volume_mute",),
    "brighter": ("turn_on",),
    "dimmer": ("turn_on",),
    "warmer": ("set_temperature",),
    "cooler": ("set_temperature",),
    "arm_home": ("alarm_arm_home",),
    "arm_away": ("alarm_arm_away",),
    "arm_night": ("alarm_arm_night",),
    "disarm": ("alarm_disarm",),
    "dock": ("return_to_base", "dock"),
    LOOK: ("snapshot",),
}
VERBS = (*_VERBS, SET)
_WITH: Mapping[str, Mapping[str, Any]] = {
    "mute": {"is_volume_muted": True},
    "unmute": {"is_volume_muted": False},
}
_NUMBERS: Mapping[str, tuple[str, str]] = {
    "light": ("turn_on", "brightness_pct"),
    "cover": ("set_cover_position", "position"),
    "valve": ("set_valve_position", "position"),
    "fan": ("set_percentage", "percentage"),
    "climate": ("set_temperature", "temperature"),
    "water_heater": ("set_temperature", "temperature"),
    "humidifier": ("set_humidity", "humidity"),
    "number": ("set_value", "value"),
    "input_number": ("set_value", "value"),
    "counter": ("set_value", "value"),
    "input_text": ("set_value", "value"),
    "text": ("set_value", "value"),
}
_CHOICES: Mapping[str, tuple[tuple[str, str, str], ...]] = {
    "select": (("select_option", "option", "options"),),
    "input_select": (("select_option", "option", "options"),),
    "climate": (
        ("set_hvac_mode", "hvac_mode", "hvac_modes"),
        ("set_preset_mode", "preset_mode", "preset_modes"),
        ("set_fan_mode", "fan_mode", "fan_modes"),
    ),
    "fan": (("set_preset_mode", "preset_mode", "preset_modes"),),
    "humidifier": (("set_mode", "mode", "available_modes"),),
    "light": (("turn_on", "effect", "effect_list"),),
    "media_player": (("select_source", "source", "source_list"),),
    "vacuum": (("set_fan_speed", "fan_speed", "fan_speed_list"),),
    "water_heater": (("set_operation_mode", "operation_mode", "operation_list"),),
}
"""By domain, what takes a word: the service, its field, and the attribute with those there are."""
_ON_OFF = {"on": "turn_on", "off": "turn_off", "open": "open", "closed": "close"}
_AMOUNT = re.compile(r"(-?\d+(?:\.\d+)?)\s*(%|percent|k|kelvin|°|°c|°f|degrees?|度)?", re.IGNORECASE)


class Doing(Struct, frozen=True):
    """A service, and its data beside the entity."""

    service: str
    data: Mapping[str, Any] = {}


def doing(verb: str, entity_id: str, values: Mapping[str, Any], attributes: Mapping[str, Any]) -> Doing | None:
    """Return what does it to an entity; None when entities of its kind, or this one, cannot.

    Args:
        verb: What is to be done.
        values: What is set.
        attributes: What it has and can.
    """
    domain = entity_id.partition(".")[0]
    known = DOMAINS.get(domain, {})
    if VALUE in values:
        return _set(domain, entity_id, values[VALUE], attributes)
    names = [each.format(domain=domain) for each in _VERBS.get(verb, ())]
    if verb == SET or values:
        fitting = [name for name, fields in known.items() if values and set(values) <= set(map(str, fields))]
        fitting.sort(key=lambda name: (name not in names, len(known[name])))
        return Doing(f"{domain}.{fitting[0]}", values) if fitting else None
    if verb in ("warmer", "cooler"):
        target = attributes.get("temperature")
        if domain not in ("climate", "water_heater") or not isinstance(target, int | float):
            return None
        step = float(attributes.get("target_temp_step") or _WARMER)
        return Doing(f"{domain}.set_temperature", {"temperature": target + (step if verb == "warmer" else -step)})
    if verb in ("brighter", "dimmer"):
        now, step = attributes.get("brightness"), _BRIGHTER if verb == "brighter" else -_BRIGHTER
        level = min(255, max(1, now + step)) if isinstance(now, int | float) else 255 if step > 0 else 128
        return Doing("light.turn_on", {"brightness": level}) if domain == "light" else None
    if domain == "group" and verb in GENERIC:
        return Doing(f"homeassistant.{verb}")
    if domain == "script" and verb in ("turn_on", "start", "press"):
        return Doing(entity_id)
    return next((Doing(f"{domain}.{name}", _WITH.get(verb, {})) for name in names if name in known), None)


def _set(domain: str, entity_id: str, value: Any, attributes: Mapping[str, Any]) -> Doing | None:
    """Return what gives an entity a value that is said without the name of a field."""
    said = f"{value}".strip()
    for service, field, among in _CHOICES.get(domain, ()):
        option = next((each for each in attributes.get(among) or () if f"{each}".casefold() == said.casefold()), None)
        if option is not None:
            return Doing(f"{domain}.{service}", {field: option})
    if said.casefold() in _ON_OFF:
        return doing(_ON_OFF[said.casefold()], entity_id, {}, attributes)
    if domain == "light":
        from integrations.tools.home.vocabulary import COLORS, WHITES

        color, white = COLORS.get(said.casefold()), WHITES.get(said.casefold())
        if color is not None:
            return Doing("light.turn_on", {"rgb_color": list(color)})
        if white is not None:
            return Doing("light.turn_on", {"color_temp_kelvin": white})
    if domain in ("input_text", "text"):
        return Doing(f"{domain}.set_value", {"value": said})
    if domain == "input_datetime":
        return Doing("input_datetime.set_datetime", {"time" if ":" in said and "-" not in said else "datetime": said})
    amount = _AMOUNT.fullmatch(said)
    if amount is None:
        return None
    number, unit = float(amount[1]), (amount[2] or "").casefold()
    number = int(number) if number.is_integer() else number
    if domain == "light" and unit in ("k", "kelvin"):
        return Doing("light.turn_on", {"color_temp_kelvin": number})
    if domain == "media_player":
        return Doing("media_player.volume_set", {"volume_level": number / 100})
    if unit.startswith(("°", "degree", "度")) and domain not in ("climate", "water_heater", "number", "input_number"):
        return None
    if domain not in _NUMBERS:
        return None
    service, field = _NUMBERS[domain]
    return Doing(f"{domain}.{service}", {field: number})
