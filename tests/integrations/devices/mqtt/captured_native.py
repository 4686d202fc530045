"""What families say that announce themselves in ways of their own."""

from __future__ import annotations

from typing import Any

from tests.integrations.devices.mqtt.captured import Captured

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


_SPEEDS = ["off", "auto", "low", "medium", "high"]


def _expose(type: str, name: str, *, access: int = 7, **more: Any) -> dict[str, Any]:
    label = name.replace("_", " ").capitalize()
    return {"type": type, "name": name, "property": name, "label": label, "access": access, **more}


NATIVE = [
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
                    {
                        "ieee_address": "0x03",
                        "friendly_name": "Air",
                        "definition": {
                            "model": "E2007",
                            "vendor": "IKEA",
                            "exposes": [
                                {
                                    "type": "fan",
                                    "features": [
                                        _expose("enum", "mode", values=["off", "auto", "low", "medium", "high"])
                                    ],
                                },
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
            ("zigbee2mqtt/Air", {"mode": "medium"}),
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
            "fan.air": "on",
        },
        {
            ("fan.air", "percentage"): 67,
            ("climate.heat", "temperature"): 20,
            ("climate.heat", "current_temperature"): 19.5,
        },
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
            ("fan.turn_off", {"entity_id": "fan.air"}, "zigbee2mqtt/Air/set", '{"mode":"off"}'),
            (
                "fan.set_percentage",
                {"entity_id": "fan.air", "percentage": 100},
                "zigbee2mqtt/Air/set",
                '{"mode":"high"}',
            ),
            (
                "fan.set_preset_mode",
                {"entity_id": "fan.air", "preset_mode": "auto"},
                "zigbee2mqtt/Air/set",
                '{"mode":"auto"}',
            ),
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
                "unknown",
            )
        ],
    ),
]
