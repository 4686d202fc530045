"""Components with several values of their own: climate and water heaters, covers and valves."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from integrations.devices.mqtt.discovery.family import (
    NONE,
    STATE,
    Command,
    Config,
    Family,
    TopicReading,
    TopicWriting,
    number,
    words,
)
from integrations.devices.mqtt.discovery.simple import mode

OPEN, CLOSED = 100, 0
_TEMPERATURES = {
    "temperature": "temperature",
    "temperature_high": "target_temp_high",
    "temperature_low": "target_temp_low",
}
_COVER_STATES = {
    "open": ("state_open", "open"),
    "opening": ("state_opening", "opening"),
    "closed": ("state_closed", "closed"),
    "closing": ("state_closing", "closing"),
    "stopped": ("state_stopped", "stopped"),
}


def _set_temperature(entity: Any) -> Mapping[str, Command]:
    """Return the services that publish on several topics, or on one for switching on and off."""
    makers = {name: entity.maker(f"{name}_command_template") for name in (*_TEMPERATURES, "mode", "power")}
    commands: dict[str, Command] = {}

    async def set_temperature(data: Mapping[str, Any]) -> None:
        for name, field in (("mode", "hvac_mode"), ("mode", "operation_mode"), *_TEMPERATURES.items()):
            if field not in data or not entity.config.get(f"{name}_command_topic"):
                continue
            await entity.send(f"{name}_command_topic", makers[name]({**data, "value": data[field]}))
            if entity.is_optimistic(f"{name}_state_topic"):
                entity.set(STATE if name == "mode" else field, data[field])
                entity.show()

    def power(payload: str, default: str) -> Command:
        async def run(_: Mapping[str, Any]) -> None:
            await entity.send("power_command_topic", makers["power"]({"value": entity.config.get(payload, default)}))

        return run

    if any(entity.config.get(f"{name}_command_topic") for name in _TEMPERATURES):
        commands["set_temperature"] = set_temperature
    if entity.config.get("power_command_topic"):
        commands |= {"turn_on": power("payload_on", "ON"), "turn_off": power("payload_off", "OFF")}
    return commands


_MODES = [mode("fan_mode"), mode("swing_mode"), mode("preset_mode", value="value_template")]
_HUMIDITY = TopicWriting(
    "set_humidity",
    "target_humidity_command_topic",
    "target_humidity_command_template",
    "humidity",
    into="humidity",
    state="target_humidity_state_topic",
)
_CURRENT = tuple(
    TopicReading(f"{name}_topic", f"{name}_template", name, number)
    for name in ("current_temperature", "current_humidity")
)
_TARGETS = tuple(
    TopicReading(f"{name}_state_topic", f"{name}_state_template", into, number) for name, into in _TEMPERATURES.items()
)
_RANGE = {"min_temp": ("min_temp", 7), "max_temp": ("max_temp", 35), "target_temp_step": ("temp_step", None)}
_HVAC, _OPERATION = (mode("mode", into=STATE, service=f"set_{name}_mode") for name in ("hvac", "operation"))

CLIMATE = Family(
    (
        _HVAC[0],
        TopicReading("target_humidity_state_topic", "target_humidity_state_template", "humidity", number),
        TopicReading("action_topic", "action_template", "hvac_action", lambda text, _: None if text == NONE else text),
        *_CURRENT,
        *_TARGETS,
        *(reading for reading, _ in _MODES),
    ),
    (_HVAC[1], _HUMIDITY, *(writing for _, writing in _MODES)),
    {
        **_RANGE,
        "hvac_modes": ("modes", ["auto", "off", "cool", "heat", "dry", "fan_only"]),
        **{f"{name}s": (f"{name}s", None) for name in ("fan_mode", "swing_mode", "preset_mode")},
    },
    _set_temperature,
)
WATER_HEATER = Family(
    (_OPERATION[0], *_CURRENT, *_TARGETS),
    (_OPERATION[1],),
    {
        **_RANGE,
        "operation_list": ("modes", ["off", "eco", "electric", "gas", "heat_pump", "high_demand", "performance"]),
    },
    _set_temperature,
)


def _percent(value: float, config: Config, closed: str = "position_closed", opened: str = "position_open") -> int:
    low, high = float(config.get(closed, CLOSED)), float(config.get(opened, OPEN))
    return max(0, min(100, round((value - low) / (high - low) * 100)))


def _from_percent(value: Any, config: Config, closed: str, opened: str) -> int:
    low, high = float(config.get(closed, CLOSED)), float(config.get(opened, OPEN))
    return round(low + float(value) / 100 * (high - low))


def _cover_state(entity: Any, value: str) -> None:
    found = words(_COVER_STATES)(value, entity.config)
    if found == "stopped":
        position = entity.attributes.get("current_position")
        found = ("closed" if position == 0 else "open") if position is not None else _at_rest(entity.state)
    entity.set(STATE, found)


def _at_rest(state: str | None) -> str | None:
    return {"opening": "open", "closing": "closed"}.get(state or "", state)


def _cover_position(entity: Any, value: str) -> None:
    said = entity.parts.templates.as_json(value.encode())
    found = said.get("position") if isinstance(said, dict) else said
    position = _percent(float(found or 0), entity.config)
    entity.set("current_position", position)
    if isinstance(said, dict) and "tilt_position" in said:
        entity.set(
            "current_tilt_position", _percent(float(said["tilt_position"]), entity.config, "tilt_min", "tilt_max")
        )
    if not entity.config.get("state_topic"):
        entity.set(STATE, "closed" if position == 0 else "open")


def _tilt(value: Any, config: Config) -> int:
    return _from_percent(value, config, "tilt_min", "tilt_max")


def _cover_verbs(domain: str, config_state: str = "state_topic") -> tuple[TopicWriting, ...]:
    return tuple(
        TopicWriting(
            f"{verb}_{domain}",
            payload=(f"payload_{verb}", verb.upper()),
            into=STATE if shown else "",
            shown=shown,
            state=config_state,
        )
        for verb, shown in (("open", "open"), ("close", "closed"), ("stop", None))
    )


def _tilt_to(service: str, key: str, default: int) -> TopicWriting:
    return TopicWriting(
        service,
        "tilt_command_topic",
        "tilt_command_template",
        payload=(key, default),  # type: ignore[arg-type]
    )


COVER = Family(
    (
        TopicReading("position_topic", "position_template", take=_cover_position),
        TopicReading("state_topic", "value_template", take=_cover_state),
        TopicReading(
            "tilt_status_topic",
            "tilt_status_template",
            "current_tilt_position",
            lambda text, config: _percent(float(text), config, "tilt_min", "tilt_max"),
        ),
    ),
    (
        *_cover_verbs("cover"),
        TopicWriting(
            "set_cover_position",
            "set_position_topic",
            "set_position_template",
            "position",
            convert=lambda value, config: _from_percent(value, config, "position_closed", "position_open"),
            into="current_position",
            state="position_topic",
        ),
        TopicWriting(
            "set_cover_tilt_position",
            "tilt_command_topic",
            "tilt_command_template",
            "tilt_position",
            convert=_tilt,
            into="current_tilt_position",
            state="tilt_status_topic",
        ),
        _tilt_to("open_cover_tilt", "tilt_opened_value", OPEN),
        _tilt_to("close_cover_tilt", "tilt_closed_value", CLOSED),
    ),
)


def _valve_state(entity: Any, value: str) -> None:
    try:
        said = json.loads(value)
    except ValueError:
        said = value
    found = said if isinstance(said, dict) else {"position" if entity.config.get("reports_position") else "state": said}
    if "position" in found:
        position = _percent(float(found["position"]), entity.config)
        entity.set("current_position", position)
        entity.set(STATE, "closed" if position == 0 else "open")
    if "state" in found:
        entity.set(STATE, words(_COVER_STATES)(str(found["state"]), entity.config))


def _valve(entity: Any) -> Mapping[str, Command]:
    """Return the commands of a valve that reports its position: they send positions."""
    if not entity.config.get("reports_position") or not entity.config.get("command_topic"):
        return {}
    make = entity.maker("command_template")

    async def to(percent: Any) -> None:
        value = _from_percent(percent, entity.config, "position_closed", "position_open")
        await entity.send("command_topic", make({"value": value}))

    return {
        "open_valve": lambda _: to(OPEN),
        "close_valve": lambda _: to(CLOSED),
        "set_valve_position": lambda data: to(data["position"]),
    }


VALVE = Family(
    (TopicReading("state_topic", "value_template", take=_valve_state),),
    _cover_verbs("valve"),
    {"reports_position": ("reports_position", False)},
    _valve,
)

GRADED: dict[str, Family] = {"climate": CLIMATE, "water_heater": WATER_HEATER, "cover": COVER, "valve": VALVE}
