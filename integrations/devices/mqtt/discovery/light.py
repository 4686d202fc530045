"""Lights in their three forms: a topic for each value, one with JSON, and templates.

Source: https://www.home-assistant.io/integrations/light.mqtt/
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from integrations.devices.mqtt.discovery.family import STATE, Command, Config, Family, TopicReading, number, on_off

_COLOURS = {"rgb": 3, "rgbw": 4, "rgbww": 5, "hs": 2, "xy": 2}
_JSON_COLOURS = {"rgb": ("r", "g", "b"), "rgbw": ("r", "g", "b", "w"), "hs": ("h", "s"), "xy": ("x", "y")}
_MIRED = 1_000_000


def _kelvin(value: float, config: Config) -> int:
    return round(value if config.get("color_temp_kelvin") else _MIRED / value)


def _sent_temperature(kelvin: float, config: Config) -> int:
    return round(kelvin if config.get("color_temp_kelvin") else _MIRED / kelvin)


def _scaled(value: float, config: Config) -> int:
    return max(0, min(255, round(float(value) / float(config.get("brightness_scale", 255)) * 255)))


def _sent_brightness(value: float, config: Config) -> int:
    return max(1, round(float(value) / 255 * float(config.get("brightness_scale", 255))))


def _numbers(count: int) -> Any:
    def read(value: str, _: Config) -> list[float]:
        found = [float(each) for each in value.split(",")]
        if len(found) != count:
            raise ValueError(f"expected {count} numbers")
        return found

    return read


def _brightness(value: str, config: Config) -> int:
    return _scaled(float(value), config)


def _temperature(value: str, config: Config) -> int:
    return _kelvin(float(value), config)


def _plain(entity: Any) -> Mapping[str, Command]:
    """Return the commands of a light with a topic for each value."""
    config = entity.config
    make = {
        name: entity.maker(f"{name}_command_template") for name in ("brightness", "color_temp", "effect", *_COLOURS)
    }
    on = str(config.get("payload_on", "ON"))

    def values(data: Mapping[str, Any]) -> list[tuple[str, str, Any, dict[str, Any]]]:
        """Return name, attribute, value and what the template sees of each value that has a topic."""
        found: list[tuple[str, str, Any, dict[str, Any]]] = []
        if "brightness" in data:
            sent = {"value": _sent_brightness(data["brightness"], config)}
            found.append(("brightness", "brightness", data["brightness"], sent))
        if "color_temp_kelvin" in data:
            sent = {"value": _sent_temperature(data["color_temp_kelvin"], config)}
            found.append(("color_temp", "color_temp_kelvin", data["color_temp_kelvin"], sent))
        if "effect" in data:
            found.append(("effect", "effect", data["effect"], {"value": data["effect"]}))
        for name in _COLOURS:
            if colour := data.get(f"{name}_color"):
                parts = dict(zip(("red", "green", "blue", "white"), colour, strict=False))
                text = ",".join(f"{each:g}" for each in colour)
                found.append((name, f"{name}_color", list(colour), {"value": text, **parts}))
        return [each for each in found if config.get(f"{each[0]}_command_topic")]

    async def turn_on(data: Mapping[str, Any]) -> None:
        changes = values(data)
        order = config.get("on_command_type", "last")
        if order == "first" or not changes:
            await entity.send("command_topic", on)
        if order == "brightness" and "brightness" not in data and "brightness_command_topic" in config:
            changes += values({"brightness": entity.attributes.get("brightness") or 255})
        for name, attribute, value, seen in changes:
            await entity.send(f"{name}_command_topic", make[name](seen))
            if entity.is_optimistic(f"{name}_state_topic"):
                entity.set(attribute, value)
        if order == "last" and changes:
            await entity.send("command_topic", on)
        _assume(entity, "on")

    async def turn_off(data: Mapping[str, Any]) -> None:
        await entity.send("command_topic", str(config.get("payload_off", "OFF")))
        _assume(entity, "off")

    return {"turn_on": turn_on, "turn_off": turn_off} if config.get("command_topic") else {}


def _assume(entity: Any, state: str) -> None:
    if entity.is_optimistic("state_topic"):
        entity.set(STATE, state)
        entity.show()


PLAIN = Family(
    (
        TopicReading("state_topic", "state_value_template", convert=on_off),
        TopicReading("brightness_state_topic", "brightness_value_template", "brightness", _brightness),
        TopicReading("color_temp_state_topic", "color_temp_value_template", "color_temp_kelvin", _temperature),
        TopicReading("effect_state_topic", "effect_value_template", "effect"),
        TopicReading("color_mode_state_topic", "color_mode_value_template", "color_mode"),
        *(
            TopicReading(f"{name}_state_topic", f"{name}_value_template", f"{name}_color", _numbers(count))
            for name, count in _COLOURS.items()
        ),
    ),
    attributes={"effect_list": ("effect_list", None)},
    further=_plain,
)


def _read_json(entity: Any, value: str) -> None:
    said = json.loads(value)
    if not isinstance(said, dict):
        raise ValueError("the state of a light is a JSON object")
    config = entity.config
    if "state" in said:
        entity.set(STATE, on_off(str(said["state"]), config) if said["state"] is not None else None)
    if isinstance(said.get("brightness"), int | float):
        entity.set("brightness", _scaled(said["brightness"], config))
    if isinstance(said.get("color_temp"), int | float) and said["color_temp"] > 0:
        entity.set("color_temp_kelvin", _kelvin(said["color_temp"], config))
    colour = said.get("color")
    if isinstance(colour, dict):
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
        if "brightness" in data:
            said["brightness"] = _sent_brightness(data["brightness"], config)
        if "color_temp_kelvin" in data:
            said["color_temp"] = _sent_temperature(data["color_temp_kelvin"], config)
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
        _assume(entity, state)

    return (
        {
            "turn_on": lambda data: send("on", data),
            "turn_off": lambda data: send("off", data),
        }
        if config.get("command_topic")
        else {}
    )


JSON = Family(
    (TopicReading("state_topic", "value_template", take=_read_json),),
    attributes={"effect_list": ("effect_list", None), "supported_color_modes": ("supported_color_modes", None)},
    further=_json,
)


def _template(entity: Any) -> Mapping[str, Command]:
    """Return the commands of a light whose payloads are made by templates."""
    on, off = entity.maker("command_on_template"), entity.maker("command_off_template")

    async def turn_on(data: Mapping[str, Any]) -> None:
        seen: dict[str, Any] = {"value": "on", "state": "on", **data}
        if "color_temp_kelvin" in data:
            seen["color_temp"] = _sent_temperature(data["color_temp_kelvin"], entity.config)
        seen |= dict(zip(("red", "green", "blue"), data.get("rgb_color", ()), strict=False))
        seen |= dict(zip(("hue", "sat"), data.get("hs_color", ()), strict=False))
        await entity.send("command_topic", on(seen))
        _assume(entity, "on")

    async def turn_off(data: Mapping[str, Any]) -> None:
        await entity.send("command_topic", off({"value": "off", "state": "off", **data}))
        _assume(entity, "off")

    return {"turn_on": turn_on, "turn_off": turn_off} if entity.config.get("command_topic") else {}


def _template_colour(entity: Any, payload: str) -> None:
    read = [entity.reader(f"{name}_template") for name in ("red", "green", "blue")]
    entity.set("rgb_color", [round(float(each(payload.encode()))) for each in read])


def template_readings(config: Config) -> tuple[TopicReading, ...]:
    """Return the readings of a light of templates: each picks its value from the one topic."""
    found = [
        TopicReading("state_topic", "state_template", convert=lambda text, _: text if text in ("on", "off") else None)
    ]
    if "brightness_template" in config:
        found.append(TopicReading("state_topic", "brightness_template", "brightness", number))
    if "color_temp_template" in config:
        found.append(TopicReading("state_topic", "color_temp_template", "color_temp_kelvin", _temperature))
    if "effect_template" in config:
        found.append(TopicReading("state_topic", "effect_template", "effect"))
    if all(f"{name}_template" in config for name in ("red", "green", "blue")):
        found.append(TopicReading("state_topic", "", "rgb_color", take=_template_colour))
    return tuple(found)


def light_family(config: Config) -> Family:
    """Return the form of a light by its `schema`."""
    schema = config.get("schema")
    if schema == "json":
        return JSON
    if schema != "template":
        return PLAIN
    return Family(template_readings(config), attributes=PLAIN.attributes, further=_template)
