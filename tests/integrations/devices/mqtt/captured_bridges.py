"""What bridges and firmwares announce, in the formats that their makers document."""

from __future__ import annotations

from tests.integrations.devices.mqtt.captured import Captured

_VALVE = {"ids": ["node_7"], "name": "Radiator", "mf": "Eurotronics", "mdl": "Spirit", "sw": "0.16"}

_VACUUM = {"ids": ["valetudo"], "name": "Rocky", "mf": "Roborock", "mdl": "S5"}

BRIDGED = [
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
                    "name": "hum",
                    "uniq_id": "A4C138-hum",
                    "val_tpl": "{{ value_json.hum | is_defined }}",
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
            ("home/attic/BTtoMQTT/A4C138", {"id": "A4:C1:38", "rssi": -80, "hum": 48}),
        ],
        {"sensor.lywsd03_tempc": "21.6", "sensor.lywsd03_hum": "48"},
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
]
