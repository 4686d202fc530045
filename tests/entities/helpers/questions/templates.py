"""Template entities: those that follow what they read, those that triggers set, and what their services do."""

from __future__ import annotations

from typing import Any

from tests.entities.helpers.questions.steps import advance, call, fire, outside, restart

_IS_WARM = "{{ states('sensor.outside') | float(0) > 20 }}"


def _set(entity: str, value: Any = "{{ value }}") -> dict[str, Any]:
    return {"action": "input_text.set_value", "target": {"entity_id": entity}, "data": {"value": value}}


def _turn(entity: str, to: str) -> dict[str, Any]:
    return {"action": f"input_boolean.turn_{to}", "target": {"entity_id": entity}}


def _turned(entity: str) -> dict[str, Any]:
    return {"turn_on": [_turn(entity, "on")], "turn_off": [_turn(entity, "off")]}


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
                    {"name": "Warm", "state": _IS_WARM, "device_class": "heat"},
                    {"name": "Word", "state": "{{ 'on' if is_state('sensor.outside', '25') else 'maybe' }}"},
                    {"name": "Broken", "state": "{{ 1 / 0 }}"},
                    {"name": "Hidden", "state": "{{ true }}", "availability": _IS_WARM},
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
                {"name": "Late on", "state": _IS_WARM, "delay_on": 10},
                {"name": "Late off", "state": _IS_WARM, "delay_off": {"seconds": 5}},
                {"name": "Both", "state": _IS_WARM, "delay_on": "00:00:03", "delay_off": "00:01:00"},
                {"name": "Says how late", "state": _IS_WARM, "delay_on": "{{ states('sensor.wait') | int }}"},
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
                    "set_value": [_set("input_text.note")],
                },
                {
                    "name": "Assumed",
                    "state": "{{ 7 }}",
                    "step": 1,
                    "optimistic": True,
                    "icon": "mdi:counter",
                    "set_value": [_set("input_text.said")],
                },
                {"state": "{{ 'word' }}", "step": 1, "set_value": []},
            ],
            "select": [
                {
                    "name": "Chosen",
                    "state": "{{ states('input_text.said') }}",
                    "options": "{{ ['nothing', 'one', 'two'] }}",
                    "select_option": [_set("input_text.said", "{{ option }}")],
                },
                {
                    "name": "Chosen at once",
                    "state": "{{ 'a' }}",
                    "options": "{{ ['a', 'b'] }}",
                    "optimistic": True,
                    "select_option": [_set("input_text.said", "{{ option }} {{ this.state }}")],
                },
            ],
            "switch": [
                {
                    "name": "Lamp",
                    "state": "{{ is_state('input_boolean.lamp', 'on') }}",
                    **_turned("input_boolean.lamp"),
                },
                {"name": "Blind", **_turned("input_boolean.lamp"), "availability": "{{ true }}"},
                {"name": "Word", "state": "{{ 'perhaps' }}", "turn_on": [], "turn_off": []},
                {"name": "Broken", "state": "{{ 1 / 0 }}", "turn_on": [], "turn_off": []},
            ],
            "button": [
                {"name": "Bell", "press": [_set("input_text.said", "{{ this.name }}")], "device_class": "restart"},
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
_LEVEL = "{{ states('input_text.level') }}"
_LIGHTS: dict[str, Any] = {
    "name": "lights",
    "watch": ["light.", "input_text.", "input_boolean."],
    "config": {
        "input_text": {"level": {"initial": "100"}, "said": {"initial": "nothing"}},
        "input_boolean": {"lamp": {"initial": False}},
        "template": {
            "light": [
                {
                    "name": "Plain",
                    "state": "{{ is_state('input_boolean.lamp', 'on') }}",
                    **_turned("input_boolean.lamp"),
                },
                {
                    "name": "Dimmed",
                    "state": "{{ is_state('input_boolean.lamp', 'on') }}",
                    "level": _LEVEL,
                    **_turned("input_boolean.lamp"),
                    "set_level": [_set("input_text.level", "{{ brightness }}"), _turn("input_boolean.lamp", "on")],
                },
                {
                    "name": "Assumed",
                    **_turned("input_boolean.lamp"),
                    "set_level": [_set("input_text.said", "{{ brightness }} {{ transition | default('no') }}")],
                    "supports_transition": "{{ true }}",
                },
                {
                    "name": "Effects",
                    **_turned("input_boolean.lamp"),
                    "effect_list": "{{ ['rain', 'sun'] }}",
                    "effect": "{{ 'sun' }}",
                    "set_effect": [_set("input_text.said", "{{ effect }}")],
                },
                {"name": "Wrong", "state": "{{ 'x' }}", "level": "{{ 999 }}", **_turned("input_boolean.lamp")},
                {"name": "Broken", "state": "{{ 1 / 0 }}", **_turned("input_boolean.lamp")},
            ]
        },
    },
    "steps": [
        call("light.turn_on", entity_id="light.plain"),
        call("light.turn_on", entity_id="light.dimmed", brightness=50),
        call("light.turn_off", entity_id="light.plain"),
        call("light.turn_on", entity_id="light.dimmed", brightness_pct=100),
        call("light.turn_on", entity_id="light.assumed", brightness=30, transition=2),
        call("light.turn_off", entity_id="light.assumed"),
        call("light.turn_on", entity_id="light.effects", effect="rain"),
        call("light.toggle", entity_id="light.effects"),
        call("light.turn_on", entity_id="light.broken"),
        restart(),
    ],
}

_LAMP = "{{ is_state('input_boolean.lamp', 'on') }}"
_OLDER: dict[str, Any] = {
    "name": "older forms",
    "first": [outside("sensor.outside", "19.5"), outside("sensor.blind", "40")],
    "watch": [
        *(f"{domain}." for domain in ("sensor", "binary_sensor", "switch", "light", "cover", "fan", "lock", "vacuum")),
        *("alarm_control_panel.", "input_text."),
    ],
    "config": {
        "input_text": {"said": {"initial": "nothing"}},
        "input_boolean": {"lamp": {"initial": False}},
        "sensor": [
            {
                "platform": "template",
                "sensors": {
                    "warmth": {
                        "friendly_name": "Warmth",
                        "value_template": "{{ states('sensor.outside') | float(0) + 1 }}",
                        "unit_of_measurement": "°C",
                        "icon_template": "mdi:fire",
                        "attribute_templates": {"raw": "{{ states('sensor.outside') }}"},
                        "entity_id": "sensor.outside",
                    },
                    "bare": {
                        "value_template": "{{ states('sensor.outside') }}",
                        "availability_template": "{{ states('sensor.outside') | float(0) < 30 }}",
                    },
                },
            }
        ],
        "binary_sensor": [
            {
                "platform": "template",
                "sensors": {"warm": {"value_template": _IS_WARM, "device_class": "heat", "delay_off": {"seconds": 5}}},
            }
        ],
        "switch": [
            {
                "platform": "template",
                "switches": {
                    "lamp": {"friendly_name": "The lamp", "value_template": _LAMP, **_turned("input_boolean.lamp")},
                    "blind": _turned("input_boolean.lamp"),
                },
            }
        ],
        "light": [
            {
                "platform": "template",
                "lights": {
                    "lamp": {
                        "friendly_name": "Lamp",
                        "value_template": _LAMP,
                        "level_template": "{{ 100 }}",
                        "set_level": [_set("input_text.said", "{{ brightness }}")],
                        **_turned("input_boolean.lamp"),
                    }
                },
            }
        ],
        "cover": [
            {
                "platform": "template",
                "covers": {
                    "positioned": {
                        "friendly_name": "Blind",
                        "position_template": "{{ states('sensor.blind') }}",
                        "set_cover_position": [_set("input_text.said", "to {{ position }}")],
                        "device_class": "blind",
                    },
                    "stated": {
                        "value_template": "{{ 'opening' if is_state('sensor.blind', '50') else 'closed' }}",
                        "open_cover": [_set("input_text.said", "open")],
                        "close_cover": [_set("input_text.said", "close")],
                        "stop_cover": [_set("input_text.said", "stop")],
                    },
                    "assumed": {
                        "open_cover": [_set("input_text.said", "open")],
                        "close_cover": [_set("input_text.said", "close")],
                        "set_cover_tilt_position": [_set("input_text.said", "tilt {{ tilt }}")],
                    },
                    "wrong": {"value_template": "{{ 'perhaps' }}", "open_cover": [], "close_cover": []},
                },
            }
        ],
        "fan": [
            {
                "platform": "template",
                "fans": {
                    "plain": {"value_template": _LAMP, **_turned("input_boolean.lamp")},
                    "whole": {
                        "friendly_name": "Whole fan",
                        "value_template": _LAMP,
                        "percentage_template": "{{ states('sensor.blind') | int }}",
                        "preset_mode_template": "{{ 'auto' }}",
                        "oscillating_template": "{{ false }}",
                        "direction_template": "{{ 'forward' }}",
                        "preset_modes": ["auto", "smart"],
                        "speed_count": 4,
                        "set_percentage": [_set("input_text.said", "{{ percentage }} %")],
                        "set_preset_mode": [_set("input_text.said", "{{ preset_mode }}")],
                        **_turned("input_boolean.lamp"),
                    },
                },
            }
        ],
        "lock": [
            {
                "platform": "template",
                "name": "Door",
                "value_template": _LAMP,
                "lock": [_turn("input_boolean.lamp", "on")],
                "unlock": [_turn("input_boolean.lamp", "off")],
            }
        ],
        "vacuum": [
            {
                "platform": "template",
                "vacuums": {
                    "robot": {
                        "value_template": "{{ 'cleaning' if is_state('input_boolean.lamp', 'on') else 'docked' }}",
                        "start": [_turn("input_boolean.lamp", "on")],
                        "stop": [_turn("input_boolean.lamp", "off")],
                        "fan_speeds": ["low", "high"],
                        "fan_speed_template": "{{ 'low' }}",
                        "set_fan_speed": [_set("input_text.said", "{{ fan_speed }}")],
                    }
                },
            }
        ],
        "alarm_control_panel": [
            {
                "platform": "template",
                "panels": {
                    "house": {
                        "name": "House",
                        "value_template": "{{ 'armed_away' if is_state('input_boolean.lamp', 'on') else 'disarmed' }}",
                        "arm_away": [_turn("input_boolean.lamp", "on")],
                        "disarm": [_set("input_text.said", "{{ code }}"), _turn("input_boolean.lamp", "off")],
                        "code_format": "no_code",
                        "code_arm_required": False,
                    },
                    "assumed": {"arm_home": [], "disarm": [], "code_arm_required": False, "code_format": "no_code"},
                },
            }
        ],
    },
    "steps": [
        outside("sensor.outside", "25"),
        outside("sensor.outside", "31"),
        call("switch.turn_on", entity_id="switch.lamp"),
        call("light.turn_on", entity_id="light.lamp", brightness=20),
        outside("sensor.blind", "50"),
        call("cover.set_cover_position", entity_id="cover.positioned", position=70),
        call("cover.open_cover", entity_id="cover.positioned"),
        call("cover.open_cover", entity_id="cover.assumed"),
        call("cover.stop_cover", entity_id="cover.stated"),
        call("cover.set_cover_tilt_position", entity_id="cover.assumed", tilt_position=30),
        call("fan.turn_on", entity_id="fan.plain"),
        call("fan.set_percentage", entity_id="fan.whole", percentage=75),
        outside("sensor.blind", "101"),
        call("lock.unlock", entity_id="lock.door"),
        call("vacuum.start", entity_id="vacuum.robot"),
        call("vacuum.set_fan_speed", entity_id="vacuum.robot", fan_speed="high"),
        call("alarm_control_panel.alarm_disarm", entity_id="alarm_control_panel.house"),
        call("alarm_control_panel.alarm_arm_home", entity_id="alarm_control_panel.assumed"),
        restart(),
    ],
}

_SAY = "hue {{ h }}, {{ s }}"
_COLORS: dict[str, Any] = {
    "name": "colours",
    "watch": ["light.", "input_text."],
    "config": {
        "input_text": {"said": {"initial": "nothing"}, "hs": {"initial": "30, 40"}, "mired": {"initial": "300"}},
        "input_boolean": {"lamp": {"initial": False}},
        "template": {
            "light": [
                {
                    "name": "Warm",
                    "state": _LAMP,
                    "level": "{{ 200 }}",
                    "temperature": "{{ states('input_text.mired') | int }}",
                    "min_mireds": "{{ 160 }}",
                    "max_mireds": "{{ 400 }}",
                    "set_level": [],
                    "set_temperature": [_set("input_text.mired", "{{ color_temp }}")],
                    **_turned("input_boolean.lamp"),
                },
                {
                    "name": "Hue",
                    "state": _LAMP,
                    "hs": "{{ states('input_text.hs') }}",
                    "set_hs": [_set("input_text.said", _SAY)],
                    **_turned("input_boolean.lamp"),
                },
                {
                    "name": "Three",
                    "set_rgb": [_set("input_text.said", "{{ r }} {{ g }} {{ b }}")],
                    "set_temperature": [_set("input_text.said", "{{ color_temp }}")],
                    **_turned("input_boolean.lamp"),
                },
                {
                    "name": "Four",
                    "state": _LAMP,
                    "rgbw": "{{ (10, 20, 30, 40) }}",
                    "set_rgbw": [_set("input_text.said", "{{ rgbw }} {{ w }}")],
                    **_turned("input_boolean.lamp"),
                },
            ]
        },
    },
    "steps": [
        call("light.turn_on", entity_id="light.warm"),
        call("light.turn_on", entity_id="light.warm", color_temp_kelvin=4000),
        call("light.turn_on", entity_id="light.hue", hs_color=[120, 50]),
        call("light.turn_on", entity_id="light.hue", rgb_color=[255, 0, 0]),
        call("light.turn_on", entity_id="light.three", rgb_color=[0, 128, 255]),
        call("light.turn_on", entity_id="light.three", color_temp_kelvin=3000),
        call("light.turn_on", entity_id="light.four", rgbw_color=[1, 2, 3, 4]),
        call("light.turn_off", entity_id="light.warm"),
    ],
}

SCENES: list[dict[str, Any]] = [_COLORS, _SENSORS, _DELAYS, _TRIGGERED, _CONTROLS, _LIGHTS, _OLDER]
