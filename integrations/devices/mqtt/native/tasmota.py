"""Tasmota's own discovery: relays, lights, shutters, switches, buttons and sensors of a device.

Source: https://tasmota.github.io/docs/MQTT/ and the documentation of its commands.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from integrations.devices.mqtt.discovery.announcement import Announced, check_component

RELAY, LIGHT, SHUTTER = 1, 2, 3
DIMMER, COLOUR_TEMPERATURE, RGB, RGBW, RGBCCT = 1, 2, 3, 4, 5
FOLLOWING_SWITCHES = (1, 2)
ACTIONS = ["single", "double", "triple", "quad", "penta", "hold"]
COMMAND, STAT, TELE = range(3)
SENSORS_LIMIT = 100
_KINDS: Mapping[str, tuple[str | None, str | None]] = {
    "Temperature": ("temperature", "°C"),
    "DewPoint": ("temperature", "°C"),
    "Humidity": ("humidity", "%"),
    "Pressure": ("pressure", "hPa"),
    "Illuminance": ("illuminance", "lx"),
    "CarbonDioxide": ("carbon_dioxide", "ppm"),
    "Power": ("power", "W"),
    "ApparentPower": ("apparent_power", "VA"),
    "ReactivePower": ("reactive_power", "var"),
    "Factor": ("power_factor", None),
    "Voltage": ("voltage", "V"),
    "Current": ("current", "A"),
    "Frequency": ("frequency", "Hz"),
    **dict.fromkeys(("Total", "Today", "Yesterday"), ("energy", "kWh")),
}


def topic_of(said: Mapping[str, Any], kind: int) -> str:
    """Return the beginning of a device's topics for commands, answers or telemetry."""
    full = str(said["ft"]).replace("%prefix%", str(said["tp"][kind])).replace("%topic%", str(said["t"]))
    full = full.replace("%hostname%", str(said.get("hn", ""))).replace("%id%", str(said["mac"])[-6:])
    return full if full.endswith("/") else f"{full}/"


def components(said: Mapping[str, Any]) -> list[Announced]:
    """Return the components in a device's configuration."""
    relays = [int(each) for each in said["rl"]]
    found = []
    count = sum(each in (RELAY, LIGHT) for each in relays)
    for place, kind in enumerate(relays):
        if kind == LIGHT:
            found.append(_made(said, "light", f"light_{place + 1}", _light(said, _power(place, count))))
        elif kind == RELAY:
            is_light = said["so"].get("30") == 1
            component = "light" if is_light else "switch"
            found.append(_made(said, component, f"relay_{place + 1}", _switched(said, place, _power(place, count))))
    for number in range(1, relays.count(SHUTTER) // 2 + 1):
        found.append(_made(said, "cover", f"shutter_{number}", _shutter(said, number)))
    result = topic_of(said, STAT) + "RESULT"
    for number, mode in enumerate(said.get("swc", ()), 1):
        if mode in FOLLOWING_SWITCHES:
            config = {"state_topic": result, "value_template": f"{{{{ value_json.Switch{number}.Action }}}}"}
            found.append(_made(said, "binary_sensor", f"switch_{number}", {"name": f"Switch {number}", **config}))
    for number, is_used in enumerate(said.get("btn", ()), 1):
        if is_used and said["so"].get("73") == 1:
            action = f"value_json.Button{number}.Action"
            shown = f"{{% if value_json.Button{number} is defined %}}"
            template = f"{shown}{{{{ {{'event_type': {action} | lower}} | to_json }}}}{{% endif %}}"
            config = {"state_topic": result, "value_template": template, "name": f"Button {number}"}
            found.append(_made(said, "event", f"button_{number}", {"event_types": ACTIONS, **config}))
    return found


def sensors(said: Mapping[str, Any], sensor: Mapping[str, Any]) -> list[Announced]:
    """Return the sensors of a device by their measurements."""
    found: list[Announced] = []
    measured = sensor.get("sn")
    if not isinstance(measured, dict):
        return found
    for group, values in measured.items():
        for name, value in values.items() if isinstance(values, dict) else ():
            several = value if isinstance(value, list) else [value]
            for place, each in enumerate(several):
                if isinstance(each, bool) or not isinstance(each, int | float) or len(found) >= SENSORS_LIMIT:
                    continue
                index = f"[{place}]" if isinstance(value, list) else ""
                label = f"{group} {name}{f' {place + 1}' if index else ''}"
                kind, unit = _KINDS.get(name, (None, None))
                if kind == "temperature" and measured.get("TempUnit") == "F":
                    unit = "°F"
                config = {
                    "name": label,
                    "state_topic": topic_of(said, TELE) + "SENSOR",
                    "value_template": f"{{{{ value_json['{_plain(group)}']['{_plain(name)}']{index} }}}}",
                    "device_class": kind,
                    "unit_of_measurement": unit,
                    "state_class": "total_increasing" if name == "Total" else "measurement",
                }
                found.append(_made(said, "sensor", f"{group}_{name}{index}", config))
    return found


def _made(said: Mapping[str, Any], component: str, name: str, config: Mapping[str, Any]) -> Announced:
    device = {
        "identifiers": [said["mac"]],
        "connections": [["mac", ":".join(str(said["mac"])[place : place + 2] for place in range(0, 12, 2))]],
        "name": said["dn"],
        "manufacturer": "Tasmota",
        "model": said.get("md"),
        "sw_version": said.get("sw"),
        "configuration_url": f"http://{said['ip']}/" if said.get("ip") else None,
    }
    return check_component(
        component,
        {
            **config,
            "unique_id": f"{said['mac']}_{name}",
            "device": device,
            "origin": {"name": "Tasmota"},
            "availability_topic": topic_of(said, TELE) + "LWT",
            "payload_available": said["onln"],
            "payload_not_available": said["ofln"],
        },
    )


def _plain(text: str) -> str:
    return text.replace("\\", "").replace("'", "")


def _power(place: int, count: int) -> str:
    return f"POWER{place + 1}" if count > 1 else "POWER"


def _states(said: Mapping[str, Any], name: str, value: str) -> dict[str, Any]:
    """Return the keys of a value that an answer and the telemetry say."""
    return {
        f"{name}_topic": topic_of(said, STAT) + "RESULT",
        f"further_{name}_topic": topic_of(said, TELE) + "STATE",
        f"{name.removesuffix('_state')}_value_template" if name != "state" else "value_template": value,
    }


def _switched(said: Mapping[str, Any], place: int, power: str) -> dict[str, Any]:
    names = said.get("fn") or []
    name = names[place] if place < len(names) and names[place] else f"Relay {place + 1}"
    template = f"{{{{ value_json.{power} }}}}"
    return {
        "name": None if name == said["dn"] else name,
        "command_topic": topic_of(said, COMMAND) + power,
        **_states(said, "state", template),
        "state_value_template": template,
        "payload_off": said["state"][0],
        "payload_on": said["state"][1],
    }


def _light(said: Mapping[str, Any], power: str) -> dict[str, Any]:
    command, kind = topic_of(said, COMMAND), int(said.get("lt_st", 0))
    config = {**_switched(said, 0, power)}
    if kind >= DIMMER:
        config |= {"brightness_command_topic": f"{command}Dimmer", "brightness_scale": 100}
        config |= _states(said, "brightness_state", "{{ value_json.Dimmer }}")
    if kind in (COLOUR_TEMPERATURE, RGBCCT):
        config |= {"color_temp_command_topic": f"{command}CT"} | _states(
            said, "color_temp_state", "{{ value_json.CT }}"
        )
    if kind >= RGB:
        colour = "{{ (value_json.HSBColor | default('')).split(',')[:2] | join(',') }}"
        config |= {"rgb_command_topic": f"{command}Color2"} | _states(said, "hs_state", colour)
    return config


def _shutter(said: Mapping[str, Any], number: int) -> dict[str, Any]:
    command, shutter = topic_of(said, COMMAND), f"Shutter{number}"
    return {
        "name": f"Shutter {number}",
        "command_topic": f"{command}Backlog",
        **{f"payload_{verb}": f"Shutter{verb.capitalize()}{number}" for verb in ("open", "close", "stop")},
        "set_position_topic": f"{command}ShutterPosition{number}",
        "position_topic": topic_of(said, STAT) + "RESULT",
        "further_position_topic": topic_of(said, TELE) + "SENSOR",
        "position_template": f"{{{{ value_json.{shutter}.Position }}}}",
    }
