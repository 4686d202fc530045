"""What Zigbee2MQTT announces, and a device of every kind of component."""

from __future__ import annotations

from tests.integrations.devices.mqtt.captured import Captured

_Z2M_PLUG = {"identifiers": ["zigbee2mqtt_0x0015"], "name": "Desk plug", "manufacturer": "IKEA", "model": "E1603"}

_Z2M_AVAILABLE = [{"topic": "zigbee2mqtt/bridge/state", "value_template": "{{ value_json.state }}"}]

ANNOUNCED = [
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
        "zigbee2mqtt thermostat, whose numbers are texts",
        [
            (
                "homeassistant/climate/0x0016/climate/config",
                {
                    "device": {"identifiers": ["zigbee2mqtt_0x0016"], "name": "Bath heater"},
                    "name": None,
                    "unique_id": "0x0016_climate",
                    "max_temp": "30",
                    "min_temp": "5",
                    "temp_step": "0.5",
                    "modes": ["off", "heat"],
                    "mode_state_topic": "zigbee2mqtt/Bath heater",
                    "mode_state_template": "{{ value_json.system_mode }}",
                    "temperature_state_topic": "zigbee2mqtt/Bath heater",
                    "temperature_state_template": "{{ value_json.occupied_heating_setpoint }}",
                    "temperature_command_topic": "zigbee2mqtt/Bath heater/set/occupied_heating_setpoint",
                },
            ),
            ("zigbee2mqtt/Bath heater", {"system_mode": "heat", "occupied_heating_setpoint": 21.5}),
        ],
        {"climate.bath_heater": "heat"},
        {
            ("climate.bath_heater", "max_temp"): 30,
            ("climate.bath_heater", "min_temp"): 5,
            ("climate.bath_heater", "target_temp_step"): 0.5,
            ("climate.bath_heater", "temperature"): 21.5,
        },
        [
            (
                "climate.set_temperature",
                {"entity_id": "climate.bath_heater", "temperature": 22},
                "zigbee2mqtt/Bath heater/set/occupied_heating_setpoint",
                "22",
            )
        ],
    ),
    Captured(
        "zigbee2mqtt remote, whose event is made of pairs",
        [
            (
                "homeassistant/event/0x0018/action/config",
                {
                    "device": {"identifiers": ["zigbee2mqtt_0x0018"], "name": "Remote"},
                    "name": "Action",
                    "unique_id": "0x0018_action",
                    "event_types": ["single", "recall"],
                    "state_topic": "zigbee2mqtt/Remote",
                    "value_template": (
                        "{% set found = namespace(pairs=[]) %}"
                        "{% for part in value_json.action.split('_') %}"
                        "{% set found.pairs = found.pairs + [('event_type' if loop.first else 'scene', part)] %}"
                        "{% endfor %}"
                        "{{ dict.from_keys(found.pairs | reject('eq', ('scene', ''))) | to_json }}"
                    ),
                },
            ),
            ("zigbee2mqtt/Remote", {"action": "recall_3"}),
        ],
        {"event.remote_action": "2026-01-01T00:00:00.000+00:00"},
        {("event.remote_action", "event_type"): "recall", ("event.remote_action", "scene"): "3"},
    ),
    Captured(
        "a sensor that tells a moment",
        [
            (
                "homeassistant/sensor/boot/config",
                {"name": "Boot", "unique_id": "boot", "device_class": "timestamp", "state_topic": "boot"},
            ),
            ("boot", "2026-03-01T12:00:00+02:00"),
        ],
        {"sensor.boot": "2026-03-01T10:00:00+00:00"},
        later=[("boot", "2026-03-01T12:00:00.5Z", "sensor.boot", "2026-03-01T12:00:00.500000+00:00")],
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
]
