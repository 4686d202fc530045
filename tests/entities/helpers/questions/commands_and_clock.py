"""The time and the day as sensors, and entities by commands (which run)."""

from __future__ import annotations

from typing import Any

from tests.entities.helpers.questions.steps import advance, call, outside

_OPTIONS = ["time", "date", "date_time", "date_time_iso", "time_date", "time_utc", "date_time_utc"]
_JSON = """echo '{"a": 1, "b": {"c": [2]}, "d": "x"}'"""
_CLOCK: dict[str, Any] = {
    "name": "the time and the day",
    "watch": ["sensor."],
    "config": {"sensor": [{"platform": "time_date", "display_options": _OPTIONS}]},
    "steps": [advance(30), advance(45), advance(14 * 3_600)],
}
_COMMANDS: dict[str, Any] = {
    "name": "commands",
    "runs": True,
    "first": [outside("input_text.word", "one")],
    "watch": ["sensor.", "binary_sensor.", "switch.", "cover."],
    "config": {
        "command_line": [
            {"sensor": {"name": "Plain", "command": "echo hello"}},
            {"sensor": {"command": "echo 21.5", "unit_of_measurement": "°C", "device_class": "temperature"}},
            {
                "sensor": {
                    "name": "Whole",
                    "command": _JSON,
                    "value_template": "{{ value_json.a + 1 }}",
                    "json_attributes": ["b", "d", "none"],
                }
            },
            {
                "sensor": {
                    "name": "Within",
                    "command": _JSON,
                    "value_template": "{{ value_json.d }}",
                    "json_attributes": ["c"],
                    "json_attributes_path": "$.b",
                }
            },
            {"sensor": {"name": "Empty", "command": "true"}},
            {"sensor": {"name": "Worded", "command": "echo {{ states('input_text.word') }}", "icon": "mdi:eye"}},
            {"sensor": {"name": "Word with unit", "command": "echo many", "unit_of_measurement": "W"}},
            {
                "sensor": {
                    "name": "Gone",
                    "command": "echo 0",
                    "availability": "{{ value == '1' }}",
                    "state_class": "measurement",
                }
            },
            {"binary_sensor": {"name": "Yes", "command": "echo ON", "device_class": "motion"}},
            {"binary_sensor": {"name": "No", "command": "echo 0", "payload_on": "1", "payload_off": "0"}},
            {"binary_sensor": {"name": "Neither", "command": "echo perhaps"}},
            {"binary_sensor": {"command": "echo 5", "value_template": "{{ 'ON' if value | int > 4 else 'OFF' }}"}},
            {"switch": {"name": "Lamp", "command_on": "true", "command_off": "true"}},
            {"switch": {"name": "Told", "command_on": "true", "command_off": "true", "command_state": "true"}},
            {"switch": {"name": "Refused", "command_state": "false", "icon": "mdi:power"}},
            {
                "switch": {
                    "name": "Read",
                    "command_state": "echo 1",
                    "value_template": "{{ value == '1' }}",
                }
            },
            {"cover": {"name": "Blind", "command_open": "true", "command_close": "true", "command_stop": "true"}},
            {"cover": {"name": "Half", "command_state": "echo 40"}},
            {"cover": {"name": "Shut", "command_state": "echo 0", "device_class": "garage"}},
        ]
    },
    "steps": [
        call("homeassistant.update_entity", entity_id=["switch.read", "switch.told", "cover.half", "cover.shut"]),
        call("switch.turn_on", entity_id="switch.lamp"),
        call("switch.turn_off", entity_id="switch.lamp"),
        call("switch.turn_on", entity_id="switch.told"),
        call("switch.turn_off", entity_id="switch.told"),
        call("cover.open_cover", entity_id="cover.blind"),
        call("cover.close_cover", entity_id="cover.half"),
        outside("input_text.word", "two"),
        call("homeassistant.update_entity", entity_id="sensor.worded"),
    ],
}

SCENES: list[dict[str, Any]] = [_CLOCK, _COMMANDS]
