"""What devices of many makers publish, in the formats that their makers document, and what a home has of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Captured:
    """Messages of a family of devices.

    Attributes:
        said: Topics and payloads, in order; mappings are JSON.
        states: Entities that there must be then, and no others, with their states.
        attributes: Some of their attributes.
        commands: Services with their data, and what must be published for each.
        later: Further messages, and states after them.
    """

    name: str
    said: Sequence[tuple[str, Any]]
    states: Mapping[str, str]
    attributes: Mapping[tuple[str, str], Any] = field(default_factory=dict)
    commands: Sequence[tuple[str, Mapping[str, Any], str, str]] = ()
    later: Sequence[tuple[str, Any, str, str]] = ()


_Z2M_PLUG = {"identifiers": ["zigbee2mqtt_0x0015"], "name": "Desk plug", "manufacturer": "IKEA", "model": "E1603"}
_Z2M_AVAILABLE = [{"topic": "zigbee2mqtt/bridge/state", "value_template": "{{ value_json.state }}"}]
_VALVE = {"ids": ["node_7"], "name": "Radiator", "mf": "Eurotronics", "mdl": "Spirit", "sw": "0.16"}
_NOON = "2026-01-01T00:00:00.000+00:00"
_TASMOTA = {
    "ip": "192.168.0.2",
    "dn": "Strip",
    "fn": ["Strip", "Lamp", None],
    "hn": "tasmota-001122",
    "mac": "AABBCC001122",
    "md": "4CH Pro",
    "ofln": "Offline",
    "onln": "Online",
    "state": ["OFF", "ON", "TOGGLE", "HOLD"],
    "sw": "14.2.0",
    "t": "tasmota_001122",
    "ft": "%prefix%/%topic%/",
    "tp": ["cmnd", "stat", "tele"],
    "rl": [1, 1, 3, 3],
    "swc": [1, -1],
    "btn": [1, 0],
    "so": {"30": 0, "73": 1},
    "lt_st": 0,
    "ver": 1,
}


def _expose(type: str, name: str, *, access: int = 7, **more: Any) -> dict[str, Any]:
    label = name.replace("_", " ").capitalize()
    return {"type": type, "name": name, "property": name, "label": label, "access": access, **more}


_VACUUM = {"ids": ["valetudo"], "name": "Rocky", "mf": "Roborock", "mdl": "S5"}

FAMILIES = [
    Captured(
        "zigbee2mqtt plug",
        [
            (
                "homeassistant/switch/0x0015/switch/config",
                {
                    "availability": _Z2M_AVAILABLE,
                    "command_topic": "zigbee2mqtt/Desk plug/set",
                    "device": _Z2M_PLUG,
                    "name": None,
                    "origin": {"name": "Zigbee2MQTT", "sw": "2.6.0", "url": "https://www.zigbee2mqtt.io"},
                    "payload_off": "OFF",
                    "payload_on": "ON",
                    "state_topic": "zigbee2mqtt/Desk plug",
                    "unique_id": "0x0015_switch_zigbee2mqtt",
                    "value_template": '{{ value_json["state"] }}',
                },
            ),
            (
                "homeassistant/sensor/0x0015/power/config",
                {
                    "availability": _Z2M_AVAILABLE,
                    "device": _Z2M_PLUG,
                    "device_class": "power",
                    "enabled_by_default": True,
                    "state_class": "measurement",
                    "state_topic": "zigbee2mqtt/Desk plug",
                    "unique_id": "0x0015_power_zigbee2mqtt",
                    "unit_of_measurement": "W",
                    "name": "Power",
                    "value_template": "{{ value_json.power }}",
                },
            ),
            ("zigbee2mqtt/bridge/state", {"state": "online"}),
            ("zigbee2mqtt/Desk plug", {"state": "ON", "power": 12.5, "linkquality": 90}),
        ],
        {"switch.desk_plug": "on", "sensor.desk_plug_power": "12.5"},
        {("sensor.desk_plug_power", "unit_of_measurement"): "W", ("sensor.desk_plug_power", "device_class"): "power"},
        [("switch.turn_off", {"entity_id": "switch.desk_plug"}, "zigbee2mqtt/Desk plug/set", "OFF")],
        [
            ("zigbee2mqtt/Desk plug", {"state": "OFF", "power": 0}, "switch.desk_plug", "off"),
            ("zigbee2mqtt/bridge/state", {"state": "offline"}, "switch.desk_plug", "unavailable"),
        ],
    ),
    Captured(
        "zigbee2mqtt light",
        [
            (
                "homeassistant/light/0x0017/light/config",
                {
                    "brightness": True,
                    "brightness_scale": 254,
                    "command_topic": "zigbee2mqtt/lamp/set",
                    "device": {"identifiers": ["zigbee2mqtt_0x0017"], "name": "lamp"},
                    "effect": True,
                    "effect_list": ["blink", "breathe"],
                    "max_mireds": 454,
                    "min_mireds": 250,
                    "name": None,
                    "schema": "json",
                    "state_topic": "zigbee2mqtt/lamp",
                    "supported_color_modes": ["xy", "color_temp"],
                    "unique_id": "0x0017_light_zigbee2mqtt",
                },
            ),
            ("zigbee2mqtt/lamp", {"state": "ON", "brightness": 127, "color_mode": "color_temp", "color_temp": 250}),
        ],
        {"light.lamp": "on"},
        {("light.lamp", "brightness"): 128, ("light.lamp", "color_temp_kelvin"): 4000},
        [
            (
                "light.turn_on",
                {"entity_id": "light.lamp", "brightness_pct": 100, "transition": 2},
                "zigbee2mqtt/lamp/set",
                '{"state": "ON", "brightness": 254, "transition": 2}',
            ),
            (
                "light.turn_on",
                {"entity_id": "light.lamp", "xy_color": [0.3, 0.4]},
                "zigbee2mqtt/lamp/set",
                '{"state": "ON", "color": {"x": 0.3, "y": 0.4}}',
            ),
            ("light.turn_off", {"entity_id": "light.lamp"}, "zigbee2mqtt/lamp/set", '{"state": "OFF"}'),
        ],
    ),
    Captured(
        "device form, abbreviated",
        [
            (
                "homeassistant/device/0x0020/config",
                {
                    "dev": {"ids": ["0x0020"], "name": "Hall plug", "cns": [["mac", "02:00:00:00:00:20"]]},
                    "o": {"name": "zigbee2mqtt", "sw": "2.6.0"},
                    "cmps": {
                        "switch": {
                            "p": "switch",
                            "uniq_id": "0x0020_switch",
                            "cmd_t": "z2m/hall/set",
                            "name": None,
                            "val_tpl": "{{ value_json.state }}",
                        },
                        "power": {
                            "p": "sensor",
                            "uniq_id": "0x0020_power",
                            "dev_cla": "power",
                            "name": "Power",
                            "unit_of_meas": "W",
                            "val_tpl": "{{ value_json.power | float | round(1) }}",
                        },
                        "press": {
                            "p": "device_automation",
                            "atype": "trigger",
                            "t": "z2m/hall/action",
                            "type": "button_short_press",
                            "stype": "button_1",
                        },
                        "broken": {"p": "sensor"},
                    },
                    "stat_t": "z2m/hall",
                    "avty": [{"t": "z2m/bridge/state", "val_tpl": "{{ value_json.state }}"}],
                    "avty_mode": "all",
                    "qos": 1,
                },
            ),
            ("z2m/bridge/state", {"state": "online"}),
            ("z2m/hall", {"state": "OFF", "power": "3.14159"}),
        ],
        {"switch.hall_plug": "off", "sensor.hall_plug_power": "3.1"},
        commands=[("switch.turn_on", {"entity_id": "switch.hall_plug"}, "z2m/hall/set", "ON")],
    ),
    Captured(
        "esphome",
        [
            (
                "homeassistant/fan/attic/attic_fan/config",
                {
                    "osc_cmd_t": "attic/fan/attic_fan/oscillation/command",
                    "osc_stat_t": "attic/fan/attic_fan/oscillation/state",
                    "pct_cmd_t": "attic/fan/attic_fan/speed_level/command",
                    "pct_stat_t": "attic/fan/attic_fan/speed_level/state",
                    "spd_rng_max": 4,
                    "name": "Attic Fan",
                    "stat_t": "attic/fan/attic_fan/state",
                    "cmd_t": "attic/fan/attic_fan/command",
                    "avty_t": "attic/status",
                    "uniq_id": "ESPfanattic_fan",
                    "dev": {
                        "ids": "a020a6000001",
                        "name": "attic",
                        "sw": "2026.9.0",
                        "mdl": "nodemcuv2",
                        "mf": "espressif",
                    },
                },
            ),
            ("attic/status", "online"),
            ("attic/fan/attic_fan/state", "ON"),
            ("attic/fan/attic_fan/speed_level/state", "2"),
            ("attic/fan/attic_fan/oscillation/state", "oscillate_on"),
        ],
        {"fan.attic_fan": "on"},
        {("fan.attic_fan", "percentage"): 50, ("fan.attic_fan", "oscillating"): True},
        [
            (
                "fan.set_percentage",
                {"entity_id": "fan.attic_fan", "percentage": 75},
                "attic/fan/attic_fan/speed_level/command",
                "3",
            ),
            (
                "fan.oscillate",
                {"entity_id": "fan.attic_fan", "oscillating": False},
                "attic/fan/attic_fan/oscillation/command",
                "oscillate_off",
            ),
        ],
        [("attic/status", "offline", "fan.attic_fan", "unavailable")],
    ),
    Captured(
        "zwave-js-ui thermostat",
        [
            (
                "homeassistant/climate/radiator/climate/config",
                {
                    "dev": _VALVE,
                    "name": None,
                    "uniq_id": "zwave_7_climate",
                    "min_temp": 8,
                    "max_temp": 28,
                    "temp_step": 0.5,
                    "modes": ["off", "heat"],
                    "mode_stat_t": "zwave/radiator/64/mode",
                    "mode_stat_tpl": "{{ {0: 'off', 1: 'heat'}[value_json.value] | default('off') }}",
                    "mode_cmd_t": "zwave/radiator/64/mode/set",
                    "mode_cmd_tpl": "{{ {'off': 0, 'heat': 1}[value] | default(0) }}",
                    "temp_stat_t": "zwave/radiator/67/setpoint/1",
                    "temp_stat_tpl": "{{ value_json.value }}",
                    "temp_cmd_t": "zwave/radiator/67/setpoint/1/set",
                    "curr_temp_t": "zwave/radiator/49/temperature",
                    "curr_temp_tpl": "{{ value_json.value }}",
                    "act_t": "zwave/radiator/action",
                },
            ),
            ("zwave/radiator/64/mode", {"time": 1, "value": 1}),
            ("zwave/radiator/67/setpoint/1", {"time": 1, "value": 21.5}),
            ("zwave/radiator/49/temperature", {"time": 1, "value": 19}),
            ("zwave/radiator/action", "heating"),
        ],
        {"climate.radiator": "heat"},
        {
            ("climate.radiator", "temperature"): 21.5,
            ("climate.radiator", "current_temperature"): 19,
            ("climate.radiator", "hvac_action"): "heating",
            ("climate.radiator", "hvac_modes"): ["off", "heat"],
        },
        [
            (
                "climate.set_temperature",
                {"entity_id": "climate.radiator", "temperature": 23},
                "zwave/radiator/67/setpoint/1/set",
                "23",
            ),
            ("climate.turn_off", {"entity_id": "climate.radiator"}, "zwave/radiator/64/mode/set", "0"),
        ],
    ),
    Captured(
        "valetudo",
        [
            (
                "homeassistant/vacuum/rocky/rocky_vacuum/config",
                {
                    "dev": _VACUUM,
                    "name": None,
                    "uniq_id": "rocky_vacuum",
                    "schema": "state",
                    "sup_feat": ["start", "pause", "stop", "return_home", "battery", "status", "locate", "fan_speed"],
                    "cmd_t": "valetudo/rocky/hass/command",
                    "stat_t": "valetudo/rocky/hass/state",
                    "fanspd_lst": ["low", "max"],
                    "set_fan_spd_t": "valetudo/rocky/FanSpeedControlCapability/preset/set",
                    "pl_ret": "HOME",
                },
            ),
            ("valetudo/rocky/hass/state", {"state": "docked", "fan_speed": "low", "battery_level": 97}),
        ],
        {"vacuum.rocky": "docked"},
        {("vacuum.rocky", "fan_speed"): "low"},
        [
            ("vacuum.return_to_base", {"entity_id": "vacuum.rocky"}, "valetudo/rocky/hass/command", "HOME"),
            (
                "vacuum.set_fan_speed",
                {"entity_id": "vacuum.rocky", "fan_speed": "max"},
                "valetudo/rocky/FanSpeedControlCapability/preset/set",
                "max",
            ),
        ],
    ),
    Captured(
        "openmqttgateway",
        [
            (
                "homeassistant/sensor/A4C138-tempc/config",
                {
                    "stat_t": "+/+/BTtoMQTT/A4C138",
                    "name": "wild",
                    "uniq_id": "A4C138-wild",
                    "device": {"identifiers": ["A4C138"], "name": "LYWSD03"},
                },
            ),
            (
                "homeassistant/sensor/A4C138-tempc2/config",
                {
                    "stat_t": "home/OMG/BTtoMQTT/A4C138",
                    "dev_cla": "temperature",
                    "unit_of_meas": "°C",
                    "name": "tempc",
                    "uniq_id": "A4C138-tempc",
                    "val_tpl": "{{ value_json.tempc | is_defined }}",
                    "stat_cla": "measurement",
                    "device": {
                        "identifiers": ["A4C138"],
                        "name": "LYWSD03",
                        "model": "LYWSD03MMC_ATC",
                        "via_device": "OMG",
                    },
                },
            ),
            ("home/OMG/BTtoMQTT/A4C138", {"id": "A4:C1:38", "rssi": -70, "tempc": 21.6}),
        ],
        {"sensor.lywsd03_tempc": "21.6"},
        later=[("home/OMG/BTtoMQTT/A4C138", {"id": "A4:C1:38", "rssi": -71}, "sensor.lywsd03_tempc", "21.6")],
    ),
    Captured(
        "rtl_433",
        [
            (
                "homeassistant/binary_sensor/Door-1/Door-1-closed/config",
                {
                    "device_class": "door",
                    "name": "Closed",
                    "payload_on": "0",
                    "payload_off": "1",
                    "state_topic": "rtl_433/host/devices/Door/1/closed",
                    "unique_id": "Door-1-closed",
                    "device": {"identifiers": ["Door-1"], "name": "Door-1", "manufacturer": "rtl_433"},
                },
            ),
            ("rtl_433/host/devices/Door/1/closed", "0"),
        ],
        {"binary_sensor.door_1_closed": "on"},
        later=[("rtl_433/host/devices/Door/1/closed", "1", "binary_sensor.door_1_closed", "off")],
    ),
    Captured(
        "ring-mqtt alarm and lock",
        [
            (
                "homeassistant/alarm_control_panel/loc/panel_alarm/config",
                {
                    "name": None,
                    "unique_id": "panel_alarm",
                    "availability_topic": "ring/loc/alarm/panel/status",
                    "state_topic": "ring/loc/alarm/panel/state",
                    "command_topic": "ring/loc/alarm/panel/command",
                    "code_arm_required": False,
                    "json_attributes_topic": "ring/loc/alarm/panel/attributes",
                    "device": {"ids": ["panel"], "name": "Alarm", "mf": "Ring"},
                },
            ),
            (
                "homeassistant/lock/loc/front_lock/config",
                {
                    "name": "Lock",
                    "unique_id": "front_lock",
                    "state_topic": "ring/loc/alarm/front/state",
                    "command_topic": "ring/loc/alarm/front/command",
                    "device": {"ids": ["front"], "name": "Front"},
                },
            ),
            ("ring/loc/alarm/panel/status", "online"),
            ("ring/loc/alarm/panel/state", "armed_home"),
            ("ring/loc/alarm/panel/attributes", {"acStatus": "ok"}),
            ("ring/loc/alarm/front/state", "LOCKED"),
        ],
        {"alarm_control_panel.alarm": "armed_home", "lock.front_lock": "locked"},
        {("alarm_control_panel.alarm", "acStatus"): "ok"},
        [
            ("lock.unlock", {"entity_id": "lock.front_lock"}, "ring/loc/alarm/front/command", "UNLOCK"),
            (
                "alarm_control_panel.alarm_arm_away",
                {"entity_id": "alarm_control_panel.alarm"},
                "ring/loc/alarm/panel/command",
                "ARM_AWAY",
            ),
        ],
    ),
    Captured(
        "shelly cover and update",
        [
            (
                "homeassistant/cover/shelly/cover-0/config",
                {
                    "name": "Blind",
                    "uniq_id": "shelly-cover-0",
                    "pos_t": "shelly/status/cover:0",
                    "pos_tpl": "{{ value_json.current_pos }}",
                    "stat_t": "shelly/status/cover:0",
                    "val_tpl": "{{ value_json.state }}",
                    "set_pos_t": "shelly/command/cover:0",
                    "set_pos_tpl": "pos,{{ position }}",
                    "cmd_t": "shelly/command/cover:0",
                    "pl_open": "open",
                    "pl_cls": "close",
                    "pl_stop": "stop",
                    "dev": {"ids": ["shelly"], "name": "Bedroom"},
                },
            ),
            (
                "homeassistant/update/shelly/fw/config",
                {
                    "name": "Firmware",
                    "uniq_id": "shelly-fw",
                    "stat_t": "shelly/fw",
                    "l_ver_t": "shelly/fw_latest",
                    "cmd_t": "shelly/command",
                    "pl_inst": "update",
                    "dev": {"ids": ["shelly"], "name": "Bedroom"},
                },
            ),
            ("shelly/status/cover:0", {"state": "stopped", "current_pos": 40}),
            ("shelly/fw", "1.0"),
            ("shelly/fw_latest", "1.1"),
        ],
        {"cover.bedroom_blind": "open", "update.bedroom_firmware": "on"},
        {("cover.bedroom_blind", "current_position"): 40, ("update.bedroom_firmware", "latest_version"): "1.1"},
        [
            ("cover.close_cover", {"entity_id": "cover.bedroom_blind"}, "shelly/command/cover:0", "close"),
            (
                "cover.set_cover_position",
                {"entity_id": "cover.bedroom_blind", "position": 70},
                "shelly/command/cover:0",
                "pos,70",
            ),
            ("update.install", {"entity_id": "update.bedroom_firmware"}, "shelly/command", "update"),
        ],
    ),
    Captured(
        "wled",
        [
            (
                "homeassistant/light/wled-1/config",
                {
                    "name": None,
                    "uniq_id": "wled-1",
                    "dev": {"ids": ["wled-1"], "name": "Strip", "mf": "WLED"},
                    "stat_t": "wled/strip/v",
                    "stat_val_tpl": "{{ 'ON' if value | int > 0 else 'OFF' }}",
                    "cmd_t": "wled/strip",
                    "bri_cmd_t": "wled/strip",
                    "bri_stat_t": "wled/strip/g",
                    "rgb_cmd_t": "wled/strip/col",
                    "rgb_cmd_tpl": "{{ '#%02x%02x%02x' | format(red, green, blue) }}",
                    "fx_cmd_t": "wled/strip/api",
                    "fx_cmd_tpl": "FX={{ value }}",
                    "fx_list": ["0", "1"],
                    "on_cmd_type": "brightness",
                    "avty_t": "wled/strip/status",
                },
            ),
            ("wled/strip/status", "online"),
            ("wled/strip/v", "77"),
            ("wled/strip/g", "77"),
        ],
        {"light.strip": "on"},
        {("light.strip", "brightness"): 77},
        [
            ("light.turn_on", {"entity_id": "light.strip", "rgb_color": [255, 0, 16]}, "wled/strip/col", "#ff0010"),
            ("light.turn_on", {"entity_id": "light.strip", "brightness": 200}, "wled/strip", "200"),
            ("light.turn_on", {"entity_id": "light.strip", "effect": "1"}, "wled/strip/api", "FX=1"),
        ],
    ),
    Captured(
        "a bit of everything",
        [
            (
                "homeassistant/device/all/config",
                {
                    "dev": {"ids": ["all"], "name": "All"},
                    "o": {"name": "test"},
                    "~": "all",
                    "cmps": {
                        "b": {"p": "button", "uniq_id": "b", "name": "Restart", "cmd_t": "~/restart"},
                        "n": {
                            "p": "number",
                            "uniq_id": "n",
                            "name": "Level",
                            "cmd_t": "~/n/set",
                            "stat_t": "~/n",
                            "max": 10,
                        },
                        "s": {
                            "p": "select",
                            "uniq_id": "s",
                            "name": "Mode",
                            "cmd_t": "~/s/set",
                            "stat_t": "~/s",
                            "ops": ["a", "b"],
                        },
                        "t": {"p": "text", "uniq_id": "t", "name": "Text", "cmd_t": "~/t/set", "stat_t": "~/t"},
                        "v": {
                            "p": "valve",
                            "uniq_id": "v",
                            "name": "Valve",
                            "cmd_t": "~/v/set",
                            "stat_t": "~/v",
                            "pos": True,
                        },
                        "h": {
                            "p": "humidifier",
                            "uniq_id": "h",
                            "name": "Dry",
                            "cmd_t": "~/h/set",
                            "stat_t": "~/h",
                            "hum_cmd_t": "~/h/hum/set",
                            "hum_stat_t": "~/h/hum",
                            "modes": ["eco", "boost"],
                            "mode_cmd_t": "~/h/mode/set",
                        },
                        "si": {"p": "siren", "uniq_id": "si", "name": "Siren", "cmd_t": "~/si/set", "stat_t": "~/si"},
                        "e": {"p": "event", "uniq_id": "e", "name": "Bell", "stat_t": "~/e", "evt_typ": ["press"]},
                        "d": {
                            "p": "device_tracker",
                            "uniq_id": "d",
                            "name": "Cat",
                            "stat_t": "~/d",
                            "json_attr_t": "~/d/a",
                        },
                        "c": {"p": "camera", "uniq_id": "c", "name": "Eye", "t": "~/c"},
                        "m": {
                            "p": "lawn_mower",
                            "uniq_id": "m",
                            "name": "Mower",
                            "activity_state_topic": "~/m",
                            "dock_command_topic": "~/m/dock",
                        },
                        "w": {
                            "p": "water_heater",
                            "uniq_id": "w",
                            "name": "Boiler",
                            "mode_stat_t": "~/w",
                            "mode_cmd_t": "~/w/set",
                            "temp_cmd_t": "~/w/temp/set",
                            "max_temp": 70,
                        },
                        "sc": {"p": "scene", "uniq_id": "sc", "name": "Night", "cmd_t": "~/sc", "pl_on": "GO"},
                    },
                },
            ),
            ("all/n", "4"),
            ("all/s", "a"),
            ("all/t", "hello"),
            ("all/v", {"position": 0}),
            ("all/h", "ON"),
            ("all/h/hum", "45"),
            ("all/si", {"state": "ON", "tone": "x"}),
            ("all/e", {"event_type": "press", "button": 2}),
            ("all/d", "home"),
            ("all/d/a", {"latitude": 52.5, "longitude": 13.4, "gps_accuracy": 5}),
            ("all/c", "a picture"),
            ("all/m", "mowing"),
            ("all/w", "eco"),
        ],
        {
            "button.all_restart": "unknown",
            "number.all_level": "4",
            "select.all_mode": "a",
            "text.all_text": "hello",
            "valve.all_valve": "closed",
            "humidifier.all_dry": "on",
            "siren.all_siren": "on",
            "event.all_bell": "2026-01-01T00:00:00.000+00:00",
            "device_tracker.all_cat": "home",
            "camera.all_eye": "idle",
            "lawn_mower.all_mower": "mowing",
            "water_heater.all_boiler": "eco",
            "scene.all_night": "unknown",
        },
        {
            ("humidifier.all_dry", "humidity"): 45,
            ("event.all_bell", "event_type"): "press",
            ("event.all_bell", "button"): 2,
            ("device_tracker.all_cat", "latitude"): 52.5,
        },
        [
            ("button.press", {"entity_id": "button.all_restart"}, "all/restart", "PRESS"),
            ("number.set_value", {"entity_id": "number.all_level", "value": 5}, "all/n/set", "5"),
            ("select.select_option", {"entity_id": "select.all_mode", "option": "b"}, "all/s/set", "b"),
            ("text.set_value", {"entity_id": "text.all_text", "value": "x"}, "all/t/set", "x"),
            ("valve.open_valve", {"entity_id": "valve.all_valve"}, "all/v/set", "100"),
            ("humidifier.set_humidity", {"entity_id": "humidifier.all_dry", "humidity": 50}, "all/h/hum/set", "50"),
            ("humidifier.set_mode", {"entity_id": "humidifier.all_dry", "mode": "eco"}, "all/h/mode/set", "eco"),
            ("siren.turn_off", {"entity_id": "siren.all_siren"}, "all/si/set", "OFF"),
            ("lawn_mower.dock", {"entity_id": "lawn_mower.all_mower"}, "all/m/dock", "dock"),
            (
                "water_heater.set_temperature",
                {"entity_id": "water_heater.all_boiler", "temperature": 60},
                "all/w/temp/set",
                "60",
            ),
            ("scene.turn_on", {"entity_id": "scene.all_night"}, "all/sc", "GO"),
        ],
    ),
    Captured(
        "tasmota",
        [
            ("tasmota/discovery/AABBCC001122/config", _TASMOTA),
            (
                "tasmota/discovery/AABBCC001122/sensors",
                {
                    "sn": {"Time": "2026-01-01T00:00:00", "ENERGY": {"Total": 3.2, "Power": 41, "Voltage": [229, 230]}},
                    "ver": 1,
                },
            ),
            ("tele/tasmota_001122/LWT", "Online"),
            ("tele/tasmota_001122/STATE", {"POWER1": "ON", "POWER2": "OFF", "Wifi": {"RSSI": 90}}),
            ("tele/tasmota_001122/SENSOR", {"ENERGY": {"Total": 3.2, "Power": 41, "Voltage": [229, 230]}}),
            ("stat/tasmota_001122/RESULT", {"Shutter1": {"Position": 30, "Direction": 0}}),
        ],
        {
            "switch.strip": "on",
            "switch.strip_lamp": "off",
            "cover.strip_shutter_1": "open",
            "binary_sensor.strip_switch_1": "unknown",
            "event.strip_button_1": "unknown",
            "sensor.strip_energy_total": "3.2",
            "sensor.strip_energy_power": "41",
            "sensor.strip_energy_voltage_1": "229",
            "sensor.strip_energy_voltage_2": "230",
        },
        {("cover.strip_shutter_1", "current_position"): 30, ("sensor.strip_energy_power", "unit_of_measurement"): "W"},
        [
            ("switch.turn_on", {"entity_id": "switch.strip_lamp"}, "cmnd/tasmota_001122/POWER2", "ON"),
            (
                "cover.close_cover",
                {"entity_id": "cover.strip_shutter_1"},
                "cmnd/tasmota_001122/Backlog",
                "ShutterClose1",
            ),
            (
                "cover.set_cover_position",
                {"entity_id": "cover.strip_shutter_1", "position": 70},
                "cmnd/tasmota_001122/ShutterPosition1",
                "70",
            ),
        ],
        [
            ("stat/tasmota_001122/RESULT", {"POWER2": "ON"}, "switch.strip_lamp", "on"),
            ("stat/tasmota_001122/RESULT", {"Switch1": {"Action": "ON"}}, "binary_sensor.strip_switch_1", "on"),
            ("stat/tasmota_001122/RESULT", {"Button1": {"Action": "DOUBLE"}}, "event.strip_button_1", _NOON),
            ("tele/tasmota_001122/LWT", "Offline", "switch.strip", "unavailable"),
        ],
    ),
    Captured(
        "tasmota light",
        [
            (
                "tasmota/discovery/AABBCC001122/config",
                {**_TASMOTA, "rl": [2, 0], "lt_st": 5, "swc": [-1], "btn": [0], "fn": ["Strip"]},
            ),
            ("tele/tasmota_001122/LWT", "Online"),
            (
                "tele/tasmota_001122/STATE",
                {"POWER": "ON", "Dimmer": 40, "CT": 250, "HSBColor": "120,50,40", "Color": "333333"},
            ),
        ],
        {"light.strip": "on"},
        {
            ("light.strip", "brightness"): 102,
            ("light.strip", "color_temp_kelvin"): 4000,
            ("light.strip", "hs_color"): [120.0, 50.0],
        },
        [
            ("light.turn_on", {"entity_id": "light.strip", "brightness": 255}, "cmnd/tasmota_001122/Dimmer", "100"),
            (
                "light.turn_on",
                {"entity_id": "light.strip", "rgb_color": [1, 2, 3]},
                "cmnd/tasmota_001122/Color2",
                "1,2,3",
            ),
        ],
    ),
    Captured(
        "zigbee2mqtt exposes",
        [
            ("zigbee2mqtt/bridge/info", {"version": "2.6.0", "config": {"homeassistant": {"enabled": False}}}),
            ("zigbee2mqtt/bridge/state", {"state": "online"}),
            (
                "zigbee2mqtt/bridge/devices",
                [
                    {"ieee_address": "0x00", "type": "Coordinator", "friendly_name": "Coordinator", "definition": None},
                    {
                        "ieee_address": "0x01",
                        "friendly_name": "Bath",
                        "definition": {
                            "model": "WSDCGQ11LM",
                            "vendor": "Aqara",
                            "exposes": [
                                _expose("numeric", "temperature", unit="°C", access=1),
                                _expose("binary", "contact", value_on=False, value_off=True, access=1),
                                _expose("enum", "effect", values=["blink", "stop"], access=2),
                                _expose("numeric", "delay", value_min=0, value_max=60, access=7),
                                _expose("binary", "child_lock", value_on=True, value_off=False, access=7),
                                {
                                    "type": "switch",
                                    "features": [_expose("binary", "state", value_on="ON", value_off="OFF")],
                                },
                            ],
                        },
                    },
                    {
                        "ieee_address": "0x02",
                        "friendly_name": "Heat",
                        "definition": {
                            "model": "TRV",
                            "vendor": "X",
                            "exposes": [
                                {
                                    "type": "climate",
                                    "features": [
                                        _expose("numeric", "occupied_heating_setpoint", value_min=5, value_max=30),
                                        _expose("numeric", "local_temperature", access=1),
                                        _expose("enum", "system_mode", values=["off", "auto", "heat"]),
                                    ],
                                },
                                {"type": "cover", "features": [_expose("numeric", "position")]},
                                {"type": "light", "features": []},
                                {"type": "lock", "features": [_expose("binary", "state")]},
                                {"type": "list", "name": "unheard of"},
                            ],
                        },
                    },
                ],
            ),
            (
                "zigbee2mqtt/Bath",
                {"temperature": 21.4, "contact": True, "delay": 5, "child_lock": True, "state": "ON", "effect": None},
            ),
            (
                "zigbee2mqtt/Heat",
                {
                    "occupied_heating_setpoint": 20,
                    "local_temperature": 19.5,
                    "system_mode": "heat",
                    "position": 0,
                    "state": "LOCK",
                },
            ),
        ],
        {
            "sensor.bath_temperature": "21.4",
            "binary_sensor.bath_contact": "off",
            "select.bath_effect": "unknown",
            "number.bath_delay": "5",
            "switch.bath_child_lock": "on",
            "switch.bath": "on",
            "climate.heat": "heat",
            "cover.heat": "closed",
            "light.heat": "unknown",
            "lock.heat": "locked",
        },
        {("climate.heat", "temperature"): 20, ("climate.heat", "current_temperature"): 19.5},
        [
            ("switch.turn_off", {"entity_id": "switch.bath"}, "zigbee2mqtt/Bath/set", '{"state":"OFF"}'),
            (
                "switch.turn_off",
                {"entity_id": "switch.bath_child_lock"},
                "zigbee2mqtt/Bath/set",
                '{"child_lock":false}',
            ),
            (
                "climate.set_temperature",
                {"entity_id": "climate.heat", "temperature": 22},
                "zigbee2mqtt/Heat/set",
                '{"occupied_heating_setpoint":22}',
            ),
            ("cover.open_cover", {"entity_id": "cover.heat"}, "zigbee2mqtt/Heat/set", '{"state":"OPEN"}'),
            ("mqtt.permit_join", {"time": 60}, "zigbee2mqtt/bridge/request/permit_join", '{"time": 60}'),
        ],
        [("zigbee2mqtt/bridge/state", "offline", "switch.bath", "unavailable")],
    ),
    Captured(
        "frigate",
        [
            ("frigate/available", "online"),
            ("frigate/stats", {"cameras": {"front": {"camera_fps": 5.0}, "a/b": {}}, "service": {}}),
            ("frigate/front/motion", "ON"),
            ("frigate/front/person", "2"),
            ("frigate/front/detect/state", "ON"),
            ("frigate/front/person/snapshot", "a picture"),
        ],
        {
            "binary_sensor.front_motion": "on",
            "sensor.front_persons": "2",
            "camera.front_person": "idle",
            "switch.front_detect": "on",
            "switch.front_recordings": "unknown",
            "switch.front_snapshots": "unknown",
        },
        commands=[("switch.turn_off", {"entity_id": "switch.front_detect"}, "frigate/front/detect/set", "OFF")],
    ),
    Captured(
        "owntracks",
        [
            (
                "owntracks/ada/phone",
                {"_type": "location", "lat": 52.5, "lon": 13.4, "acc": 12, "batt": 80, "tst": 1, "inregions": ["work"]},
            )
        ],
        {"device_tracker.ada_phone": "work"},
        {("device_tracker.ada_phone", "latitude"): 52.5, ("device_tracker.ada_phone", "battery_level"): 80},
        later=[
            (
                "owntracks/ada/phone",
                {"_type": "location", "lat": 52.6, "lon": 13.4, "tst": 2},
                "device_tracker.ada_phone",
                "not_home",
            )
        ],
    ),
]
