"""The entities of a device: each kind's description, what its states say, and its commands."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from aioesphomeapi.client import APIClient
from aioesphomeapi.model import (
    APIIntEnum,
    BinarySensorInfo,
    BinarySensorState,
    ButtonInfo,
    ClimateFanMode,
    ClimateInfo,
    ClimateMode,
    ClimatePreset,
    ClimateState,
    ClimateSwingMode,
    CoverInfo,
    CoverOperation,
    CoverState,
    EntityInfo,
    EntityState,
    Event,
    EventInfo,
    FanDirection,
    FanInfo,
    FanState,
    LightInfo,
    LightState,
    LockCommand,
    LockEntityState,
    LockInfo,
    LockState,
    MediaPlayerCommand,
    MediaPlayerEntityState,
    MediaPlayerInfo,
    MediaPlayerState,
    NumberInfo,
    NumberState,
    SelectInfo,
    SelectState,
    SensorInfo,
    SensorState,
    SensorStateClass,
    SwitchInfo,
    SwitchState,
    TextInfo,
    TextSensorInfo,
    TextSensorState,
    TextState,
    ValveInfo,
    ValveState,
)
from msgspec import Struct

from hub.entities.description import features_of
from integrations.devices.esphome.light import light_attributes, light_commands, read_light

Data = Mapping[str, Any]
Send = Callable[[APIClient, Data], None]
"""Sends the command of a service to the device."""
Reading = tuple[str | None, Mapping[str, Any]]
STATE_LIMIT = 255


class Family(Struct, frozen=True):
    """A kind of entities.

    Attributes:
        domain: Its domain here.
        state: The class of its states; None when it has none.
        read: Returns the state and the attributes that a state says.
        attributes: Returns what one can do.
        commands: Returns the commands that one has, by the name of their service.
    """

    domain: str
    state: type[EntityState] | None = None
    read: Callable[[Any, Any], Reading] = lambda info, state: (None, {})
    attributes: Callable[[Any], Mapping[str, Any]] = lambda info: {}
    commands: Callable[[Any], Mapping[str, Send]] = lambda info: {}


def _word(value: APIIntEnum | None) -> str | None:
    """Return the name of a value as Home Assistant writes it."""
    return None if value is None else value.name.lower()


def _words(values: list[Any]) -> list[str]:
    return [each.name.lower() for each in values]


def _at(info: EntityInfo) -> dict[str, Any]:
    return {"key": info.key, "device_id": info.device_id}


def _on_off(info: Any, state: Any) -> Reading:
    return (None if getattr(state, "missing_state", False) else "on" if state.state else "off"), {}


def _text(info: Any, state: Any) -> Reading:
    return (None if state.missing_state else state.state[:STATE_LIMIT]), {}


def _sensor(info: SensorInfo, state: SensorState) -> Reading:
    if state.missing_state or not math.isfinite(state.state):
        return None, {}
    if info.device_class == "timestamp":
        return datetime.fromtimestamp(state.state, UTC).isoformat(), {}
    return f"{state.state:.{max(0, min(info.accuracy_decimals, 10))}f}", {}


_STATE_CLASSES = {
    SensorStateClass.MEASUREMENT: "measurement",
    SensorStateClass.MEASUREMENT_ANGLE: "measurement_angle",
    SensorStateClass.TOTAL: "total",
    SensorStateClass.TOTAL_INCREASING: "total_increasing",
}


def _sensor_attributes(info: SensorInfo) -> Mapping[str, Any]:
    found = _STATE_CLASSES.get(info.state_class) if info.state_class is not None else None
    return {"state_class": found} if found else {}


def _switch(info: SwitchInfo) -> Mapping[str, Send]:
    return {
        "turn_on": lambda client, data: client.switch_command(state=True, **_at(info)),
        "turn_off": lambda client, data: client.switch_command(state=False, **_at(info)),
    }


def _number(info: NumberInfo, state: NumberState) -> Reading:
    return (None if state.missing_state or not math.isfinite(state.state) else f"{state.state:g}"), {}


def _number_attributes(info: NumberInfo) -> Mapping[str, Any]:
    return {"min": info.min_value, "max": info.max_value, "step": info.step, "mode": _word(info.mode) or "auto"}


def _text_attributes(info: TextInfo) -> Mapping[str, Any]:
    pattern = {"pattern": info.pattern} if info.pattern else {}
    return {"min": info.min_length, "max": info.max_length, "mode": _word(info.mode) or "text", **pattern}


def _lock(info: LockInfo, state: LockEntityState) -> Reading:
    return (None if state.state in (None, LockState.NONE) else _word(state.state)), {}


def _lock_commands(info: LockInfo) -> Mapping[str, Send]:
    def does(command: LockCommand) -> Send:
        return lambda client, data: client.lock_command(command=command, code=data.get("code"), **_at(info))

    opens = {"open": does(LockCommand.OPEN)} if info.supports_open else {}
    return {"lock": does(LockCommand.LOCK), "unlock": does(LockCommand.UNLOCK), **opens}


_MOVING = {CoverOperation.IS_OPENING: "opening", CoverOperation.IS_CLOSING: "closing"}


def _cover(info: CoverInfo, state: CoverState) -> Reading:
    position = {"current_position": round(100 * state.position)} if info.supports_position else {}
    tilt = {"current_tilt_position": round(100 * state.tilt)} if info.supports_tilt else {}
    at_rest = "closed" if state.position == 0 else "open"
    moving = _MOVING.get(state.current_operation) if state.current_operation is not None else None
    return moving or at_rest, {**position, **tilt}


def _cover_commands(info: CoverInfo) -> Mapping[str, Send]:
    def to(position: Callable[[Data], float]) -> Send:
        return lambda client, data: client.cover_command(position=position(data), **_at(info))

    def tilt(position: Callable[[Data], float]) -> Send:
        return lambda client, data: client.cover_command(tilt=position(data), **_at(info))

    found: dict[str, Send] = {"open_cover": to(lambda _: 1.0), "close_cover": to(lambda _: 0.0)}
    if info.supports_stop:
        found["stop_cover"] = lambda client, data: client.cover_command(stop=True, **_at(info))
    if info.supports_position:
        found["set_cover_position"] = to(lambda data: data["position"] / 100)
    if info.supports_tilt:
        found |= {
            "open_cover_tilt": tilt(lambda _: 1.0),
            "close_cover_tilt": tilt(lambda _: 0.0),
            "set_cover_tilt_position": tilt(lambda data: data["tilt_position"] / 100),
        }
    return found


def _valve(info: ValveInfo, state: ValveState) -> Reading:
    position = {"current_position": round(100 * state.position)} if info.supports_position else {}
    moving = {1: "opening", 2: "closing"}.get(state.current_operation or 0)
    return moving or ("closed" if state.position == 0 else "open"), position


def _valve_commands(info: ValveInfo) -> Mapping[str, Send]:
    found: dict[str, Send] = {
        "open_valve": lambda client, data: client.valve_command(position=1.0, **_at(info)),
        "close_valve": lambda client, data: client.valve_command(position=0.0, **_at(info)),
    }
    if info.supports_stop:
        found["stop_valve"] = lambda client, data: client.valve_command(stop=True, **_at(info))
    if info.supports_position:
        found["set_valve_position"] = lambda client, data: client.valve_command(
            position=data["position"] / 100, **_at(info)
        )
    return found


def _fan(info: FanInfo, state: FanState) -> Reading:
    found: dict[str, Any] = {}
    if info.supported_speed_count:
        found["percentage"] = round(100 * state.speed_level / info.supported_speed_count) if state.state else 0
    if info.supports_oscillation:
        found["oscillating"] = state.oscillating
    if info.supports_direction:
        found["direction"] = _word(state.direction)
    if info.supported_preset_modes:
        found["preset_mode"] = state.preset_mode or None
    return "on" if state.state else "off", found


def _fan_commands(info: FanInfo) -> Mapping[str, Send]:
    def turn_on(client: APIClient, data: Data) -> None:
        if data.get("percentage") == 0:
            client.fan_command(state=False, **_at(info))
            return
        level = math.ceil(data["percentage"] / 100 * info.supported_speed_count) if "percentage" in data else None
        client.fan_command(state=True, speed_level=level, preset_mode=data.get("preset_mode"), **_at(info))

    found: dict[str, Send] = {
        "turn_on": turn_on,
        "turn_off": lambda client, data: client.fan_command(state=False, **_at(info)),
    }
    if info.supported_speed_count:
        found["set_percentage"] = turn_on
    if info.supported_preset_modes:
        found["set_preset_mode"] = turn_on
    if info.supports_oscillation:
        found["oscillate"] = lambda client, data: client.fan_command(oscillating=data["oscillating"], **_at(info))
    if info.supports_direction:
        found["set_direction"] = lambda client, data: client.fan_command(
            direction=FanDirection[data["direction"].upper()], **_at(info)
        )
    return found


def _fan_attributes(info: FanInfo) -> Mapping[str, Any]:
    steps = {"percentage_step": 100 / info.supported_speed_count} if info.supported_speed_count else {}
    return {**steps, **({"preset_modes": info.supported_preset_modes} if info.supported_preset_modes else {})}


_PLAYING = {MediaPlayerState.ANNOUNCING: "playing", MediaPlayerState.NONE: None}


def _player(info: MediaPlayerInfo, state: MediaPlayerEntityState) -> Reading:
    word = _PLAYING.get(state.state, _word(state.state)) if state.state is not None else None
    return word, {"volume_level": round(state.volume, 2), "is_volume_muted": state.muted}


def _player_commands(info: MediaPlayerInfo) -> Mapping[str, Send]:
    def does(command: MediaPlayerCommand) -> Send:
        return lambda client, data: client.media_player_command(command=command, **_at(info))

    def mute(client: APIClient, data: Data) -> None:
        does(MediaPlayerCommand.MUTE if data["is_volume_muted"] else MediaPlayerCommand.UNMUTE)(client, data)

    def play(client: APIClient, data: Data) -> None:
        announces = bool(data.get("announce"))
        client.media_player_command(media_url=data["media_content_id"], announcement=announces, **_at(info))

    found: dict[str, Send] = {
        "media_stop": does(MediaPlayerCommand.STOP),
        "volume_set": lambda client, data: client.media_player_command(volume=data["volume_level"], **_at(info)),
        "volume_mute": mute,
        "play_media": play,
    }
    if info.supports_pause:
        found |= {"media_play": does(MediaPlayerCommand.PLAY), "media_pause": does(MediaPlayerCommand.PAUSE)}
    return found


def _player_attributes(info: MediaPlayerInfo) -> Mapping[str, Any]:
    return {"supported_features": features_of("media_player", _player_commands(info), ("announce",))}


def _climate(info: ClimateInfo, state: ClimateState) -> Reading:
    said: dict[str, Any] = {
        "hvac_action": _word(state.action) if info.supports_action else None,
        "fan_mode": state.custom_fan_mode or (_word(state.fan_mode) if info.supported_fan_modes else None),
        "swing_mode": _word(state.swing_mode) if info.supported_swing_modes else None,
        "preset_mode": state.custom_preset or (_word(state.preset) if info.supported_presets else None),
        "current_temperature": state.current_temperature if info.supports_current_temperature else None,
        "current_humidity": state.current_humidity if info.supports_current_humidity else None,
        "humidity": state.target_humidity if info.supports_target_humidity else None,
    }
    if info.supports_two_point_target_temperature:
        said |= {"target_temp_low": state.target_temperature_low, "target_temp_high": state.target_temperature_high}
    else:
        said["temperature"] = state.target_temperature
    known = {key: value for key, value in said.items() if not (isinstance(value, float) and math.isnan(value))}
    return _word(state.mode), {key: value for key, value in known.items() if value is not None}


def _climate_attributes(info: ClimateInfo) -> Mapping[str, Any]:
    found: dict[str, Any] = {
        "hvac_modes": _words(info.supported_modes),
        "min_temp": info.visual_min_temperature,
        "max_temp": info.visual_max_temperature,
        "target_temp_step": info.visual_target_temperature_step,
        "fan_modes": [*_words(info.supported_fan_modes), *info.supported_custom_fan_modes],
        "swing_modes": _words(info.supported_swing_modes),
        "preset_modes": [*_words(info.supported_presets), *info.supported_custom_presets],
    }
    return {key: value for key, value in found.items() if value not in ([], 0)}


def _climate_commands(info: ClimateInfo) -> Mapping[str, Send]:
    def change(client: APIClient, **values: Any) -> None:
        client.climate_command(**values, **_at(info))

    def temperature(client: APIClient, data: Data) -> None:
        said = {
            "target_temperature": data.get("temperature"),
            "target_temperature_low": data.get("target_temp_low"),
            "target_temperature_high": data.get("target_temp_high"),
        }
        mode = {"mode": ClimateMode[data["hvac_mode"].upper()]} if "hvac_mode" in data else {}
        change(client, **said, **mode)

    def named(client: APIClient, value: str, custom: list[str], key: str, choices: Any) -> None:
        change(client, **({f"custom_{key}": value} if value in custom else {key: choices[value.upper()]}))

    found: dict[str, Send] = {
        "set_temperature": temperature,
        "set_hvac_mode": lambda client, data: change(client, mode=ClimateMode[data["hvac_mode"].upper()]),
    }
    if info.supported_fan_modes or info.supported_custom_fan_modes:
        found["set_fan_mode"] = lambda client, data: named(
            client, data["fan_mode"], info.supported_custom_fan_modes, "fan_mode", ClimateFanMode
        )
    if info.supported_presets or info.supported_custom_presets:
        found["set_preset_mode"] = lambda client, data: named(
            client, data["preset_mode"], info.supported_custom_presets, "preset", ClimatePreset
        )
    if info.supported_swing_modes:
        found["set_swing_mode"] = lambda client, data: change(
            client, swing_mode=ClimateSwingMode[data["swing_mode"].upper()]
        )
    if info.supports_target_humidity:
        found["set_humidity"] = lambda client, data: change(client, target_humidity=data["humidity"])
    return found


def _press(info: ButtonInfo) -> Mapping[str, Send]:
    return {"press": lambda client, data: client.button_command(**_at(info))}


FAMILIES: Mapping[type[EntityInfo], Family] = {
    BinarySensorInfo: Family("binary_sensor", BinarySensorState, _on_off),
    ButtonInfo: Family("button", commands=_press),
    ClimateInfo: Family("climate", ClimateState, _climate, _climate_attributes, _climate_commands),
    CoverInfo: Family("cover", CoverState, _cover, commands=_cover_commands),
    EventInfo: Family("event", Event, attributes=lambda info: {"event_types": info.event_types}),
    FanInfo: Family("fan", FanState, _fan, _fan_attributes, _fan_commands),
    LightInfo: Family("light", LightState, read_light, light_attributes, light_commands),
    LockInfo: Family(
        "lock",
        LockEntityState,
        _lock,
        lambda info: {"code_format": info.code_format} if info.requires_code else {},
        _lock_commands,
    ),
    MediaPlayerInfo: Family("media_player", MediaPlayerEntityState, _player, _player_attributes, _player_commands),
    NumberInfo: Family(
        "number",
        NumberState,
        _number,
        _number_attributes,
        lambda info: {"set_value": lambda client, data: client.number_command(state=data["value"], **_at(info))},
    ),
    SelectInfo: Family(
        "select",
        SelectState,
        _text,
        lambda info: {"options": info.options},
        lambda info: {"select_option": lambda client, data: client.select_command(state=data["option"], **_at(info))},
    ),
    SensorInfo: Family("sensor", SensorState, _sensor, _sensor_attributes),
    SwitchInfo: Family("switch", SwitchState, _on_off, commands=_switch),
    TextInfo: Family(
        "text",
        TextState,
        _text,
        _text_attributes,
        lambda info: {"set_value": lambda client, data: client.text_command(state=data["value"], **_at(info))},
    ),
    TextSensorInfo: Family("sensor", TextSensorState, _text),
    ValveInfo: Family("valve", ValveState, _valve, commands=_valve_commands),
}
"""The kinds that become entities."""
