"""Template entities: those that follow what they read, those that triggers set, and what their services do."""

from __future__ import annotations

from typing import Any

from tests.entities.helpers.questions.steps import advance, call, fire, outside, restart

IS_WARM = "{{ states('sensor.outside') | float(0) > 20 }}"


def set_text(entity: str, value: Any = "{{ value }}") -> dict[str, Any]:
    return {"action": "input_text.set_value", "target": {"entity_id": entity}, "data": {"value": value}}


def turn(entity: str, to: str) -> dict[str, Any]:
    return {"action": f"input_boolean.turn_{to}", "target": {"entity_id": entity}}


def turned(entity: str) -> dict[str, Any]:
    return {"turn_on": [turn(entity, "on")], "turn_off": [turn(entity, "off")]}


_SENSORS: dict[str, Any] = {
    "name": "sensors",
    "first": [outside("sensor.outside", "19.50", unit_of_measurement="°C")],
    "watch": [f"{domain}." for domain in ("sensor", "binary_sensor")],
    "config": {
        "template": [
            {
                "sensor": [
                    {"name": "Plain", "state": "{{ states('sensor.outside') }}"},
                    {
                        "name": "Warmth outside",
                        "unique_id": "warmth",
                        "state": "{{ states('sensor.outside') | float + 1 }}",
                        "unit_of_measurement": "°C",
                        "device_class": "temperature",
                        "state_class": "measurement",
                        "icon": "{{ 'mdi:fire' if states('sensor.outside') | float(0) > 20 else 'mdi:snowflake' }}",
                        "picture": "/local/{{ states('sensor.outside') }}.png",
                        "attributes": {"twice": "{{ states('sensor.outside') | float(0) * 2 }}", "words": "as it is"},
                    },
                    {"state": "{{ is_state('sensor.outside', 'nothing') }}"},
                    {
                        "name": "There {{ 'or not' }}",
                        "state": "{{ states('sensor.gone') }}",
                        "availability": "{{ has_value('sensor.outside') }}",
                        "attributes": {"value": "{{ states('sensor.outside') }}"},
                    },
                    {"name": "Fails", "state": "{{ states('sensor.outside') | float / 0 }}"},
                    {"name": "Failing attribute", "state": "fine", "attributes": {"bad": "{{ 1 / 0 }}"}},
                    {"name": "Has a unit", "unit_of_measurement": "W", "state": "{{ states('sensor.outside') }}"},
                    {
                        "name": "{{ 'Warm' if states('sensor.outside') | float(0) > 20 else 'Cold' }} name",
                        "state": "{{ states('sensor.outside') }}",
                    },
                    {"name": "List", "state": "{{ [1, 2] }}", "attributes": {"list": "{{ [1, 2] }}"}},
                    {
                        "name": "Moment",
                        "device_class": "timestamp",
                        "state": "{{ '2026-03-02T10:00:00.5+01:00' }}",
                    },
                    {"name": "Day", "device_class": "date", "state": "2026-03-02"},
                    {"name": "No moment", "device_class": "timestamp", "state": "soon"},
                    {"name": "Total", "state": "5", "state_class": "total", "last_reset": "2026-03-02T00:00:00+01:00"},
                    {"name": "Yes", "state": "{{ true }}"},
                    {"name": "Nothing", "state": "{{ none }}"},
                    {"name": "Bad icon", "state": "x", "icon": "{{ 'fire' }}"},
                ],
                "binary_sensor": [
                    {"name": "Warm", "state": IS_WARM, "device_class": "heat"},
                    {"name": "Word", "state": "{{ 'on' if is_state('sensor.outside', '25') else 'maybe' }}"},
                    {"name": "Broken", "state": "{{ 1 / 0 }}"},
                    {"name": "Hidden", "state": "{{ true }}", "availability": IS_WARM},
                ],
            },
            {
                "unique_id": "block",
                "sensor": {"name": "Of a block", "unique_id": "one", "state": "{{ 1 + 1 }}"},
            },
        ]
    },
    "steps": [
        outside("sensor.outside", "25", unit_of_measurement="°C"),
        outside("sensor.outside", "unavailable"),
        outside("sensor.outside", "a word"),
        outside("sensor.outside", "21"),
        restart(),
    ],
}

_DELAYS: dict[str, Any] = {
    "name": "delays",
    "first": [outside("sensor.outside", "10"), outside("sensor.wait", "20")],
    "watch": ["binary_sensor."],
    "config": {
        "template": {
            "binary_sensor": [
                {"name": "Late on", "state": IS_WARM, "delay_on": 10},
                {"name": "Late off", "state": IS_WARM, "delay_off": {"seconds": 5}},
                {"name": "Both", "state": IS_WARM, "delay_on": "00:00:03", "delay_off": "00:01:00"},
                {"name": "Says how late", "state": IS_WARM, "delay_on": "{{ states('sensor.wait') | int }}"},
            ]
        }
    },
    "steps": [
        outside("sensor.outside", "25"),
        advance(4),
        outside("sensor.outside", "26"),
        advance(7),
        advance(10),
        outside("sensor.wait", "2"),
        outside("sensor.outside", "10"),
        advance(6),
        outside("sensor.outside", "30"),
        advance(2.5),
        outside("sensor.outside", "10"),
        restart(10),
        advance(61),
    ],
}

_TRIGGERED: dict[str, Any] = {
    "name": "triggered",
    "first": [outside("sensor.outside", "10", unit_of_measurement="°C")],
    "watch": ["sensor.", "binary_sensor.", "number.", "select."],
    "config": {
        "input_boolean": {"gate": None},
        "input_number": {"level": {"min": 0, "max": 100}},
        "template": [
            {
                "unique_id": "seen",
                "trigger": [{"platform": "state", "entity_id": "sensor.outside"}],
                "condition": [{"condition": "state", "entity_id": "input_boolean.gate", "state": "on"}],
                "action": [
                    {"variables": {"doubled": "{{ trigger.to_state.state | float(0) * 2 }}"}},
                    {
                        "action": "input_number.set_value",
                        "target": {"entity_id": "input_number.level"},
                        "data": {"value": "{{ doubled }}"},
                    },
                ],
                "sensor": [
                    {
                        "name": "Last seen",
                        "unique_id": "last",
                        "state": "{{ trigger.to_state.state }}",
                        "unit_of_measurement": "°C",
                        "icon": "{{ 'mdi:fire' if trigger.to_state.state | float(0) > 20 else 'mdi:snowflake' }}",
                        "attributes": {
                            "doubled": "{{ doubled }}",
                            "before": "{{ this.state }}",
                            "level": "{{ states('input_number.level') }}",
                            "id": "{{ trigger.id }}",
                        },
                    },
                    {"name": "Count", "state": "{{ this.state | int(0) + 1 }}"},
                    {"name": "Breaks", "state": "{{ 10 / trigger.to_state.state | float }}"},
                    {
                        "name": "Sometimes",
                        "state": "seen",
                        "availability": "{{ trigger.to_state.state | float(0) > 20 }}",
                    },
                ],
                "binary_sensor": [{"name": "Was warm", "state": "{{ trigger.to_state.state | float(0) > 20 }}"}],
                "number": [
                    {
                        "name": "Number seen",
                        "state": "{{ trigger.to_state.state }}",
                        "step": 0.5,
                        "min": -10,
                        "set_value": [],
                    }
                ],
                "select": [
                    {
                        "name": "Choice seen",
                        "state": "{{ 'warm' if trigger.to_state.state | float(0) > 20 else 'cold' }}",
                        "options": "{{ ['warm', 'cold'] }}",
                        "select_option": [],
                    }
                ],
            },
            {
                "triggers": [{"trigger": "event", "event_type": "pressed", "id": "bell"}],
                "variables": {"word": "{{ trigger.event.data.word | default('none') | upper }}"},
                "sensor": [{"name": "Word", "state": "{{ word }}", "attributes": {"id": "{{ trigger.id }}"}}],
                "binary_sensor": [
                    {"name": "Rang", "state": "{{ word != 'NONE' }}", "auto_off": 5, "delay_on": 1},
                    {
                        "name": "Rang for long",
                        "state": "{{ true }}",
                        "auto_off": "{{ 100 + 20 }}",
                        "attributes": {"word": "{{ word }}"},
                    },
                ],
            },
        ],
    },
    "steps": [
        outside("sensor.outside", "12", unit_of_measurement="°C"),
        call("input_boolean.turn_on", entity_id="input_boolean.gate"),
        outside("sensor.outside", "25.50", unit_of_measurement="°C"),
        outside("sensor.outside", "0", unit_of_measurement="°C"),
        fire("pressed", word="hello"),
        advance(2),
        advance(5),
        restart(),
        advance(30),
        outside("sensor.outside", "22", unit_of_measurement="°C"),
        advance(60),
    ],
}

_CONTROLS: dict[str, Any] = {
    "name": "controls",
    "first": [outside("sensor.outside", "10")],
    "watch": [f"{domain}." for domain in ("number", "select", "switch", "button", "input_text", "input_boolean")],
    "config": {
        "input_text": {"said": {"initial": "nothing"}, "note": {"initial": "5"}},
        "input_boolean": {"lamp": {"initial": False}},
        "template": {
            "number": [
                {
                    "name": "Follows",
                    "state": "{{ states('input_text.note') }}",
                    "step": "0.5",
                    "min": "{{ 1 + 1 }}",
                    "max": 30,
                    "unit_of_measurement": "°C",
                    "set_value": [set_text("input_text.note")],
                },
                {
                    "name": "Assumed",
                    "state": "{{ 7 }}",
                    "step": 1,
                    "optimistic": True,
                    "icon": "mdi:counter",
                    "set_value": [set_text("input_text.said")],
                },
                {"state": "{{ 'word' }}", "step": 1, "set_value": []},
            ],
            "select": [
                {
                    "name": "Chosen",
                    "state": "{{ states('input_text.said') }}",
                    "options": "{{ ['nothing', 'one', 'two'] }}",
                    "select_option": [set_text("input_text.said", "{{ option }}")],
                },
                {
                    "name": "Chosen at once",
                    "state": "{{ 'a' }}",
                    "options": "{{ ['a', 'b'] }}",
                    "optimistic": True,
                    "select_option": [set_text("input_text.said", "{{ option }} {{ this.state }}")],
                },
            ],
            "switch": [
                {
                    "name": "Lamp",
                    "state": "{{ is_state('input_boolean.lamp', 'on') }}",
                    **turned("input_boolean.lamp"),
                },
                {"name": "Blind", **turned("input_boolean.lamp"), "availability": "{{ true }}"},
                {"name": "Word", "state": "{{ 'perhaps' }}", "turn_on": [], "turn_off": []},
                {"name": "Broken", "state": "{{ 1 / 0 }}", "turn_on": [], "turn_off": []},
            ],
            "button": [
                {"name": "Bell", "press": [set_text("input_text.said", "{{ this.name }}")], "device_class": "restart"},
                {"press": []},
            ],
        },
    },
    "steps": [
        call("number.set_value", entity_id="number.follows", value=12.5),
        call("number.set_value", entity_id="number.follows", value=99),
        call("number.set_value", entity_id="number.assumed", value=42),
        call("select.select_option", entity_id="select.chosen", option="one"),
        call("select.select_next", entity_id="select.chosen"),
        call("select.select_option", entity_id="select.chosen", option="three"),
        call("select.select_last", entity_id="select.chosen_at_once"),
        call("switch.turn_on", entity_id="switch.lamp"),
        call("switch.toggle", entity_id="switch.lamp"),
        call("switch.turn_on", entity_id="switch.blind"),
        call("switch.turn_off", entity_id="switch.lamp"),
        call("switch.turn_on", entity_id="switch.word"),
        call("button.press", entity_id="button.bell"),
        restart(),
    ],
}

SCENES: list[dict[str, Any]] = [_SENSORS, _DELAYS, _TRIGGERED, _CONTROLS]
