"""Zigbee2MQTT without its announcements for Home Assistant: entities of what its devices expose.

Source: https://www.zigbee2mqtt.io/guide/usage/exposes.html
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from hub.core.errors import InvalidRequest
from integrations.devices.mqtt.discovery.announcement import Announced, check_component

BASE = "zigbee2mqtt"
PUBLISHED, SETTABLE = 1, 2
DEVICES_LIMIT = 500
_CLASSES = frozenset(
    {
        *("temperature", "humidity", "pressure", "battery", "power", "energy", "voltage", "current", "illuminance"),
        *("carbon_dioxide", "voc", "pm25"),
    }
)
_SPEEDS = ("low", "medium", "high")
_BINARY_CLASSES = {
    "occupancy": "motion",
    "contact": "door",
    "water_leak": "moisture",
    "smoke": "smoke",
    "vibration": "vibration",
    "battery_low": "battery",
    "tamper": "tamper",
}


def announces_itself(info: Any) -> bool:
    """Whether the bridge publishes announcements for Home Assistant."""
    config = info.get("config") if isinstance(info, dict) else None
    said = config.get("homeassistant") if isinstance(config, dict) else None
    return said is True or (isinstance(said, dict) and said.get("enabled", True) is not False)


def tells_availability(info: Any) -> bool:
    """Whether the bridge publishes the availability of each device."""
    config = info.get("config") if isinstance(info, dict) else None
    said = config.get("availability") if isinstance(config, dict) else None
    return said is True or (isinstance(said, dict) and said.get("enabled", True) is not False)


def components(devices: list[Any], *, available: bool = False) -> list[Announced]:
    """Return the components that the bridge's devices expose.

    Args:
        available: Whether the bridge publishes the availability of each.
    """
    found: list[Announced] = []
    for device in devices[:DEVICES_LIMIT]:
        definition = device.get("definition") if isinstance(device, dict) else None
        exposes = definition.get("exposes") if isinstance(definition, dict) else None
        if isinstance(definition, dict) and isinstance(exposes, list) and isinstance(device.get("friendly_name"), str):
            found += _device(device, definition, exposes, available)
    return found


def _device(
    device: Mapping[str, Any], definition: Mapping[str, Any], exposes: list[Any], available: bool
) -> Iterator[Announced]:
    topic = f"{BASE}/{device['friendly_name']}"
    address = str(device.get("ieee_address"))
    common = {
        "device": {
            "identifiers": [f"zigbee2mqtt_{address}"],
            "name": device["friendly_name"],
            "manufacturer": definition.get("vendor"),
            "model": definition.get("model"),
            "sw_version": device.get("software_build_id"),
        },
        "origin": {"name": "Zigbee2MQTT"},
        "state_topic": topic,
        "availability": [
            {"topic": each, "value_template": "{{ value_json.state if value_json is mapping else value }}"}
            for each in (f"{BASE}/bridge/state", *([f"{topic}/availability"] if available else []))
        ],
        "availability_mode": "all",
    }
    for expose in exposes:
        made = _component(expose, topic) if isinstance(expose, dict) else None
        if made is None:
            continue
        component, name, config = made
        unique_id = f"{address}_{name}_native"
        try:
            yield check_component(component, {**common, "unique_id": unique_id, **config})
        except InvalidRequest:
            continue


def _component(expose: Mapping[str, Any], topic: str) -> tuple[str, str, dict[str, Any]] | None:
    """Return component, name and configuration of one thing that a device exposes."""
    features = {each.get("name"): each for each in expose.get("features", ()) if isinstance(each, dict)}
    command = f"{topic}/set"
    state = features.get("state", {})
    match expose.get("type"):
        case "switch":
            return "switch", str(state.get("property")), {"name": None, **_binary(state, command)}
        case "light":
            config = {"name": None, "schema": "json", "command_topic": command, "brightness_scale": 254}
            return "light", "light", config
        case "lock":
            return (
                "lock",
                "lock",
                {"name": None, **_keyed(state, command), "state_locked": "LOCK", "state_unlocked": "UNLOCK"},
            )
        case "cover":
            position = features.get("position", {}).get("property", "position")
            config = {
                **_keyed(state or {"property": "state"}, command),
                "value_template": None,
                "position_topic": topic,
                "position_template": f"{{{{ value_json.{position} }}}}",
                "set_position_topic": command,
                "set_position_template": f'{{"{position}": {{{{ value }}}}}}',
                "state_topic": None,
            }
            return "cover", "cover", {"name": None, **config}
        case "climate":
            return "climate", "climate", _climate(features, topic, command)
        case "fan":
            return "fan", "fan", _fan(features, topic, command)
        case "binary" | "numeric" | "enum" | "text":
            return _single(expose, command)
    return None


def _keyed(expose: Mapping[str, Any], command: str) -> dict[str, Any]:
    """Return the keys of one property of the JSON that is said and set."""
    name = expose.get("property")
    return {
        "value_template": f"{{{{ value_json['{name}'] }}}}",
        "command_topic": command,
        "command_template": f"{{{{ {{'{name}': value}} | to_json }}}}",
    }


def _binary(expose: Mapping[str, Any], command: str) -> dict[str, Any]:
    on, off = (expose.get(f"value_{each}") for each in ("on", "off"))
    config = {**_keyed(expose, command), "payload_on": str(on), "payload_off": str(off)}
    if isinstance(on, bool):
        config["command_template"] = f"{{{{ {{'{expose.get('property')}': value == 'True'}} | to_json }}}}"
    return config


def _climate(features: Mapping[Any, Mapping[str, Any]], topic: str, command: str) -> dict[str, Any]:
    target = next((each for name, each in features.items() if str(name).endswith("_setpoint")), {})
    config: dict[str, Any] = {"name": None, "state_topic": None, "modes": ["heat"]}
    for key, feature in (("temperature", target), ("mode", features.get("system_mode", {}))):
        if feature:
            keyed = _keyed(feature, command)
            config |= {f"{key}_state_topic": topic, f"{key}_state_template": keyed["value_template"]}
            config |= {f"{key}_command_topic": command, f"{key}_command_template": keyed["command_template"]}
    if target:
        limits = {"min_temp": "value_min", "max_temp": "value_max", "temp_step": "value_step"}
        config |= {key: target[name] for key, name in limits.items() if name in target}
    config["modes"] = features.get("system_mode", {}).get("values", config["modes"])
    if "local_temperature" in features:
        config |= {
            "current_temperature_topic": topic,
            "current_temperature_template": "{{ value_json.local_temperature }}",
        }
    return config


def _fan(features: Mapping[Any, Mapping[str, Any]], topic: str, command: str) -> dict[str, Any]:
    """Return a fan: switched by its state or its mode, with its own speeds, by number or by mode, and presets."""
    state, mode, speed = (features.get(each, {}) for each in ("state", "mode", "speed"))
    config: dict[str, Any] = {"name": None}
    if state:
        keyed = _keyed(state, command)
        config |= {"command_topic": command, "command_template": keyed["command_template"]}
        config["state_value_template"] = keyed["value_template"]
    elif mode:
        name = mode.get("property")
        config |= {
            "command_topic": command,
            "command_template": f"{{{{ {{'{name}': 'on' if value == 'ON' else 'off'}} | to_json }}}}",
            "state_value_template": f"{{{{ 'OFF' if value_json['{name}'] == 'off' else 'ON' }}}}",
        }
    speeds = [each for each in mode.get("values", ()) if each in _SPEEDS]
    if speed:
        keyed = _keyed(speed, command)
        config |= {"speed_range_min": speed.get("value_min", 1), "speed_range_max": speed.get("value_max", 100)}
        config |= {"percentage_value_template": keyed["value_template"]}
        config |= {"percentage_command_template": keyed["command_template"]}
    elif speeds:
        name, numbers = mode.get("property"), {each: place for place, each in enumerate(speeds, 1)}
        words = ["off", *speeds]
        config |= {
            "speed_range_max": len(speeds),
            "percentage_value_template": f"{{{{ {numbers}.get(value_json['{name}'], 0) }}}}",
            "percentage_command_template": f"{{{{ {{'{name}': {words}[value | int]}} | to_json }}}}",
        }
    if "percentage_value_template" in config:
        config |= {"percentage_state_topic": topic, "percentage_command_topic": command}
    if presets := [each for each in mode.get("values", ()) if each not in (*_SPEEDS, "off", "on")]:
        keyed = _keyed(mode, command)
        config |= {
            "preset_modes": presets,
            "preset_mode_state_topic": topic,
            "preset_mode_command_topic": command,
            "preset_mode_value_template": keyed["value_template"],
            "preset_mode_command_template": keyed["command_template"],
        }
    return config


def _single(expose: Mapping[str, Any], command: str) -> tuple[str, str, dict[str, Any]] | None:
    name, access = expose.get("property"), expose.get("access", PUBLISHED)
    if not isinstance(name, str) or not name.replace("_", "").isalnum() or not isinstance(access, int):
        return None
    settable = bool(access & SETTABLE)
    config = {**_keyed(expose, command), "name": str(expose.get("label") or name)}
    if expose.get("category") in ("config", "diagnostic"):
        config["entity_category"] = expose["category"]
    match expose["type"]:
        case "binary":
            component = "switch" if settable else "binary_sensor"
            return component, name, config | _binary(expose, command) | {"device_class": _BINARY_CLASSES.get(name)}
        case "numeric":
            limits = {"min": "value_min", "max": "value_max", "step": "value_step"}
            config |= {"unit_of_measurement": expose.get("unit"), "device_class": name if name in _CLASSES else None}
            if settable and "value_min" in expose and "value_max" in expose:
                return "number", name, config | {key: expose[each] for key, each in limits.items() if each in expose}
            return "sensor", name, config | {"state_class": "measurement"}
        case "enum":
            return ("select" if settable else "sensor"), name, config | {"options": expose.get("values", [])}
    return ("text" if settable else "sensor"), name, config
