"""Lights in their three forms: a topic for each value, one with JSON, and templates.

Source: https://www.home-assistant.io/integrations/light.mqtt/
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from integrations.devices.mqtt.discovery.family import (
    STATE,
    Command,
    Config,
    Family,
    TopicReading,
    json_object,
    number,
    on_off,
)

_COLOURS = {
    "rgb": ("red", "green", "blue"),
    "rgbw": ("red", "green", "blue", "white"),
    "rgbww": ("red", "green", "blue", "cold_white", "warm_white"),
    "hs": ("hue", "sat"),
    "xy": ("x", "y"),
}
"""What templates call the parts of a colour."""
_JSON_COLOURS = {"rgb": ("r", "g", "b"), "rgbw": ("r", "g", "b", "w"), "hs": ("h", "s"), "xy": ("x", "y")}
_MIRED = 1_000_000


def _kelvin(value: Any, config: Config) -> int:
    """Convert the device's value into kelvin, or back."""
    return round(float(value) if config.get("color_temp_kelvin") else _MIRED / float(value))


def _brightness(value: Any, config: Config) -> int:
    return max(0, min(255, round(float(value) / float(config.get("brightness_scale", 255)) * 255)))


def _sent_brightness(value: float, config: Config) -> int:
    return max(1, round(float(value) / 255 * float(config.get("brightness_scale", 255))))


def _numbers(count: int) -> Callable[[str, Config], list[float]]:
    def read(value: str, _: Config) -> list[float]:
        found = [float(each) for each in value.split(",")]
        if len(found) != count:
            raise ValueError(f"expected {count} numbers")
        return found

    return read


_VALUES: Mapping[str, tuple[str, Callable[[Any, Config], Any]]] = {
    "brightness": ("brightness", _sent_brightness),
    "color_temp": ("color_temp_kelvin", _kelvin),
    "effect": ("effect", lambda value, _: value),
    **{name: (f"{name}_color", lambda value, _: ",".join(f"{each:g}" for each in value)) for name in _COLOURS},
}
"""Values by the names of their topics, with their attributes and what is sent."""


def _switching(entity: Any, send: Callable[[str, Mapping[str, Any]], Awaitable[None]]) -> Mapping[str, Command]:
    """Return the commands of a light, which `send` carries out."""

    async def switch(state: str, data: Mapping[str, Any]) -> None:
        await send(state, data)
        if entity.is_optimistic("state_topic"):
            entity.set(STATE, state)
            entity.show()

    if not entity.config.get("command_topic"):
        return {}
    return {"turn_on": lambda data: switch("on", data), "turn_off": lambda data: switch("off", data)}


def _plain(entity: Any) -> Mapping[str, Command]:
    """Return the commands of a light with a topic for each value."""
    config = entity.config
    make = {name: entity.maker(f"{name}_command_template") for name in _VALUES}

    async def send(state: str, data: Mapping[str, Any]) -> None:
        switched = str(config.get(f"payload_{state}", state.upper()))
        if state == "off":
            await entity.send("command_topic", switched)
            return
        order = config.get("on_command_type", "last")
        if order == "brightness":
            data = {"brightness": entity.attributes.get("brightness") or 255, **data}
        changed = [each for each in _VALUES if _VALUES[each][0] in data and config.get(f"{each}_command_topic")]
        if order == "first" or not changed:
            await entity.send("command_topic", switched)
        for name in changed:
            attribute, sent = _VALUES[name]
            value = data[attribute]
            seen = dict(zip(_COLOURS[name], value, strict=True)) if name in _COLOURS else {}
            await entity.send(f"{name}_command_topic", make[name]({**seen, "value": sent(value, config)}))
            if entity.is_optimistic(f"{name}_state_topic"):
                entity.set(attribute, list(value) if name in _COLOURS else value)
        if order == "last" and changed:
            await entity.send("command_topic", switched)

    return _switching(entity, send)


PLAIN = Family(
    (
        TopicReading("state_topic", "state_value_template", convert=on_off),
        TopicReading("brightness_state_topic", "brightness_value_template", "brightness", _brightness),
        TopicReading("color_temp_state_topic", "color_temp_value_template", "color_temp_kelvin", _kelvin),
        TopicReading("effect_state_topic", "effect_value_template", "effect"),
        TopicReading("color_mode_state_topic", "color_mode_value_template", "color_mode"),
        *(
            TopicReading(f"{name}_state_topic", f"{name}_value_template", f"{name}_color", _numbers(len(parts)))
            for name, parts in _COLOURS.items()
        ),
    ),
    attributes={"effect_list": ("effect_list", None)},
    further=_plain,
)


def _read_json(entity: Any, value: str) -> None:
    said, config = json_object(value), entity.config
    if "state" in said:
        entity.set(STATE, on_off(str(said["state"]), config) if said["state"] is not None else None)
    if isinstance(said.get("brightness"), int | float):
        entity.set("brightness", _brightness(said["brightness"], config))
    if isinstance(said.get("color_temp"), int | float) and said["color_temp"] > 0:
        entity.set("color_temp_kelvin", _kelvin(said["color_temp"], config))
    colour = said.get("color")
    if not isinstance(colour, dict):
        colour = {}
    for name, keys in _JSON_COLOURS.items():
        if all(isinstance(colour.get(key), int | float) for key in keys):
            entity.set(f"{name}_color", [colour[key] for key in keys])
    for key in ("effect", "color_mode"):
        if isinstance(said.get(key), str):
            entity.set(key, said[key][:255])


def _json(entity: Any) -> Mapping[str, Command]:
    """Return the commands of a light whose commands are one JSON object each."""
    config = entity.config

    async def send(state: str, data: Mapping[str, Any]) -> None:
        said: dict[str, Any] = {"state": state.upper()}
        for name in ("brightness", "color_temp"):
            attribute, sent = _VALUES[name]
            if attribute in data:
                said[name] = sent(data[attribute], config)
        for name, keys in _JSON_COLOURS.items():
            if colour := data.get(f"{name}_color"):
                said["color"] = dict(zip(keys, colour, strict=True))
        said |= {key: data[key] for key in ("effect", "transition", "white") if key in data}
        if flash := data.get("flash"):
            said["flash"] = config.get(f"flash_time_{flash}", 10 if flash == "long" else 2)
        await entity.send("command_topic", json.dumps(said))
        if entity.is_optimistic("state_topic"):
            for key in ("brightness", "color_temp_kelvin", "effect"):
                if key in data:
                    entity.set(key, data[key])

    return _switching(entity, send)


JSON = Family(
    (TopicReading("state_topic", "value_template", take=_read_json),),
    attributes={"effect_list": ("effect_list", None), "supported_color_modes": ("supported_color_modes", None)},
    further=_json,
)


def _template(entity: Any) -> Mapping[str, Command]:
    """Return the commands of a light whose payloads are made by templates."""
    make = {state: entity.maker(f"command_{state}_template") for state in ("on", "off")}

    async def send(state: str, data: Mapping[str, Any]) -> None:
        seen: dict[str, Any] = {"value": state, "state": state, **data}
        if "color_temp_kelvin" in data:
            seen["color_temp"] = _kelvin(data["color_temp_kelvin"], entity.config)
        for name in ("rgb", "hs"):
            seen |= dict(zip(_COLOURS[name], data.get(f"{name}_color", ()), strict=False))
        await entity.send("command_topic", make[state](seen))

    return _switching(entity, send)


def _template_colour(entity: Any, payload: str) -> None:
    read = [entity.reader(f"{name}_template") for name in _COLOURS["rgb"]]
    entity.set("rgb_color", [round(float(each(payload.encode()))) for each in read])


def _template_readings(config: Config) -> tuple[TopicReading, ...]:
    """Return the readings of a light of templates: each picks its value from the one topic."""
    found = (
        TopicReading("state_topic", "state_template", convert=lambda text, _: text if text in ("on", "off") else None),
        TopicReading("state_topic", "brightness_template", "brightness", number),
        TopicReading("state_topic", "color_temp_template", "color_temp_kelvin", _kelvin),
        TopicReading("state_topic", "effect_template", "effect"),
    )
    has_colour = all(f"{name}_template" in config for name in _COLOURS["rgb"])
    colour = (TopicReading("state_topic", "", "rgb_color", take=_template_colour),) if has_colour else ()
    return (*(each for each in found if each.into == STATE or each.template in config), *colour)


def light_family(config: Config) -> Family:
    """Return the form of a light by its `schema`."""
    schema = config.get("schema")
    if schema == "json":
        return JSON
    if schema != "template":
        return PLAIN
    return Family(_template_readings(config), attributes=PLAIN.attributes, further=_template)
