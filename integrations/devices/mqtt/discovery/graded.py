"""Components with several values of their own: climate and water heaters, covers and valves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from integrations.devices.mqtt.discovery.family import (
    STATE,
    Command,
    Config,
    Family,
    TopicReading,
    TopicWriting,
    json_object,
    number,
    read_known,
    setting,
    table,
    words,
)
from integrations.devices.mqtt.discovery.simple import TARGET_HUMIDITY

OPEN, CLOSED = 100, 0
_TEMPERATURES = {
    "temperature": "temperature",
    "temperature_high": "target_temp_high",
    "temperature_low": "target_temp_low",
}
_COVER_STATES = {each: (f"state_{each}", each) for each in ("open", "opening", "closed", "closing", "stopped")}


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


_CURRENT = tuple(
    TopicReading(f"{name}_topic", f"{name}_template", name, number)
    for name in ("current_temperature", "current_humidity")
)
_TARGETS = tuple(
    TopicReading(f"{name}_state_topic", f"{name}_state_template", into, number) for name, into in _TEMPERATURES.items()
)
_RANGE = {"min_temp": ("min_temp", 7), "max_temp": ("max_temp", 35), "target_temp_step": ("temp_step", None)}
CLIMATE = table(
    (TopicReading("action_topic", "action_template", "hvac_action", read_known), *_CURRENT, *_TARGETS),
    (
        setting("mode", into=STATE, service="set_hvac_mode"),
        TARGET_HUMIDITY,
        *(setting(name) for name in ("fan_mode", "swing_mode")),
        setting("preset_mode", template="value_template"),
    ),
    attributes={
        **_RANGE,
        "hvac_modes": ("modes", ["auto", "off", "cool", "heat", "dry", "fan_only"]),
        **{f"{name}s": (f"{name}s", None) for name in ("fan_mode", "swing_mode", "preset_mode")},
    },
    further=_set_temperature,
)
_OPERATIONS = ["off", "eco", "electric", "gas", "heat_pump", "high_demand", "performance"]
WATER_HEATER = table(
    (*_CURRENT, *_TARGETS),
    (setting("mode", into=STATE, service="set_operation_mode"),),
    attributes={**_RANGE, "operation_list": ("modes", _OPERATIONS)},
    further=_set_temperature,
)


def _percent(value: float, config: Config, closed: str = "position_closed", opened: str = "position_open") -> int:
    low, high = float(config.get(closed, CLOSED)), float(config.get(opened, OPEN))
    return max(0, min(100, round((value - low) / (high - low) * 100)))


def _from_percent(value: Any, config: Config, closed: str = "position_closed", opened: str = "position_open") -> int:
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
    said = json_object(value, "position")
    position = _percent(float(said.get("position") or 0), entity.config)
    entity.set("current_position", position)
    if "tilt_position" in said:
        entity.set("current_tilt_position", _tilted(said["tilt_position"], entity.config))
    if not entity.config.get("state_topic"):
        entity.set(STATE, "closed" if position == 0 else "open")


def _tilted(value: Any, config: Config) -> int:
    return _percent(float(value), config, "tilt_min", "tilt_max")


def _tilt(value: Any, config: Config) -> int:
    return _from_percent(value, config, "tilt_min", "tilt_max")


def _verbs(domain: str) -> tuple[TopicWriting, ...]:
    return tuple(
        TopicWriting(
            f"{verb}_{domain}", payload=(f"payload_{verb}", verb.upper()), into=STATE if shown else "", shown=shown
        )
        for verb, shown in (("open", "open"), ("close", "closed"), ("stop", None))
    )


_TILT = TopicWriting(
    "set_cover_tilt_position",
    "tilt_command_topic",
    "tilt_command_template",
    "tilt_position",
    convert=_tilt,
    into="current_tilt_position",
    state="tilt_status_topic",
)
COVER = Family(
    (
        TopicReading("position_topic", "position_template", take=_cover_position),
        TopicReading("state_topic", "value_template", take=_cover_state),
        TopicReading("tilt_status_topic", "tilt_status_template", "current_tilt_position", _tilted),
    ),
    (
        *_verbs("cover"),
        TopicWriting(
            "set_cover_position",
            "set_position_topic",
            "set_position_template",
            "position",
            convert=_from_percent,
            into="current_position",
            state="position_topic",
        ),
        _TILT,
        *(
            TopicWriting(f"{verb}_cover_tilt", _TILT.topic, _TILT.template, payload=(f"tilt_{key}_value", value))
            for verb, key, value in (("open", "opened", OPEN), ("close", "closed", CLOSED))
        ),
    ),
)


def _valve_state(entity: Any, value: str) -> None:
    said = json_object(value, "position" if entity.config.get("reports_position") else "state")
    if "position" in said:
        position = _percent(float(said["position"]), entity.config)
        entity.set("current_position", position)
        entity.set(STATE, "closed" if position == 0 else "open")
    if "state" in said:
        entity.set(STATE, words(_COVER_STATES)(str(said["state"]), entity.config))


def _valve(entity: Any) -> Mapping[str, Command]:
    """Return the commands of a valve that reports its position: they send positions."""
    if not entity.config.get("reports_position") or not entity.config.get("command_topic"):
        return {}
    make = entity.maker("command_template")

    async def to(percent: Any) -> None:
        await entity.send("command_topic", make({"value": _from_percent(percent, entity.config)}))

    return {
        "open_valve": lambda _: to(OPEN),
        "close_valve": lambda _: to(CLOSED),
        "set_valve_position": lambda data: to(data["position"]),
    }


VALVE = Family(
    (TopicReading("state_topic", "value_template", take=_valve_state),),
    _verbs("valve"),
    {"reports_position": ("reports_position", False)},
    _valve,
)

GRADED: dict[str, Family] = {"climate": CLIMATE, "water_heater": WATER_HEATER, "cover": COVER, "valve": VALVE}
