"""Template entities: lights and their colours, weather, and the older form with a platform."""

from __future__ import annotations

from typing import Any

from tests.entities.helpers.questions.steps import ask, call, outside, restart
from tests.entities.helpers.questions.templates import IS_WARM, set_text, turn, turned

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
                    **turned("input_boolean.lamp"),
                },
                {
                    "name": "Dimmed",
                    "state": "{{ is_state('input_boolean.lamp', 'on') }}",
                    "level": _LEVEL,
                    **turned("input_boolean.lamp"),
                    "set_level": [set_text("input_text.level", "{{ brightness }}"), turn("input_boolean.lamp", "on")],
                },
                {
                    "name": "Assumed",
                    **turned("input_boolean.lamp"),
                    "set_level": [set_text("input_text.said", "{{ brightness }} {{ transition | default('no') }}")],
                    "supports_transition": "{{ true }}",
                },
                {
                    "name": "Effects",
                    **turned("input_boolean.lamp"),
                    "effect_list": "{{ ['rain', 'sun'] }}",
                    "effect": "{{ 'sun' }}",
                    "set_effect": [set_text("input_text.said", "{{ effect }}")],
                },
                {"name": "Wrong", "state": "{{ 'x' }}", "level": "{{ 999 }}", **turned("input_boolean.lamp")},
                {"name": "Broken", "state": "{{ 1 / 0 }}", **turned("input_boolean.lamp")},
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
                "sensors": {"warm": {"value_template": IS_WARM, "device_class": "heat", "delay_off": {"seconds": 5}}},
            }
        ],
        "switch": [
            {
                "platform": "template",
                "switches": {
                    "lamp": {"friendly_name": "The lamp", "value_template": _LAMP, **turned("input_boolean.lamp")},
                    "blind": turned("input_boolean.lamp"),
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
                        "set_level": [set_text("input_text.said", "{{ brightness }}")],
                        **turned("input_boolean.lamp"),
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
                        "set_cover_position": [set_text("input_text.said", "to {{ position }}")],
                        "device_class": "blind",
                    },
                    "stated": {
                        "value_template": "{{ 'opening' if is_state('sensor.blind', '50') else 'closed' }}",
                        "open_cover": [set_text("input_text.said", "open")],
                        "close_cover": [set_text("input_text.said", "close")],
                        "stop_cover": [set_text("input_text.said", "stop")],
                    },
                    "assumed": {
                        "open_cover": [set_text("input_text.said", "open")],
                        "close_cover": [set_text("input_text.said", "close")],
                        "set_cover_tilt_position": [set_text("input_text.said", "tilt {{ tilt }}")],
                    },
                    "wrong": {"value_template": "{{ 'perhaps' }}", "open_cover": [], "close_cover": []},
                },
            }
        ],
        "fan": [
            {
                "platform": "template",
                "fans": {
                    "plain": {"value_template": _LAMP, **turned("input_boolean.lamp")},
                    "whole": {
                        "friendly_name": "Whole fan",
                        "value_template": _LAMP,
                        "percentage_template": "{{ states('sensor.blind') | int }}",
                        "preset_mode_template": "{{ 'auto' }}",
                        "oscillating_template": "{{ false }}",
                        "direction_template": "{{ 'forward' }}",
                        "preset_modes": ["auto", "smart"],
                        "speed_count": 4,
                        "set_percentage": [set_text("input_text.said", "{{ percentage }} %")],
                        "set_preset_mode": [set_text("input_text.said", "{{ preset_mode }}")],
                        **turned("input_boolean.lamp"),
                    },
                },
            }
        ],
        "lock": [
            {
                "platform": "template",
                "name": "Door",
                "value_template": _LAMP,
                "lock": [turn("input_boolean.lamp", "on")],
                "unlock": [turn("input_boolean.lamp", "off")],
            }
        ],
        "vacuum": [
            {
                "platform": "template",
                "vacuums": {
                    "robot": {
                        "value_template": "{{ 'cleaning' if is_state('input_boolean.lamp', 'on') else 'docked' }}",
                        "start": [turn("input_boolean.lamp", "on")],
                        "stop": [turn("input_boolean.lamp", "off")],
                        "fan_speeds": ["low", "high"],
                        "fan_speed_template": "{{ 'low' }}",
                        "set_fan_speed": [set_text("input_text.said", "{{ fan_speed }}")],
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
                        "arm_away": [turn("input_boolean.lamp", "on")],
                        "disarm": [set_text("input_text.said", "{{ code }}"), turn("input_boolean.lamp", "off")],
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
                    "set_temperature": [set_text("input_text.mired", "{{ color_temp }}")],
                    **turned("input_boolean.lamp"),
                },
                {
                    "name": "Hue",
                    "state": _LAMP,
                    "hs": "{{ states('input_text.hs') }}",
                    "set_hs": [set_text("input_text.said", _SAY)],
                    **turned("input_boolean.lamp"),
                },
                {
                    "name": "Three",
                    "set_rgb": [set_text("input_text.said", "{{ r }} {{ g }} {{ b }}")],
                    "set_temperature": [set_text("input_text.said", "{{ color_temp }}")],
                    **turned("input_boolean.lamp"),
                },
                {
                    "name": "Four",
                    "state": _LAMP,
                    "rgbw": "{{ (10, 20, 30, 40) }}",
                    "set_rgbw": [set_text("input_text.said", "{{ rgbw }} {{ w }}")],
                    **turned("input_boolean.lamp"),
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

_FORECAST = "{{ [{'datetime': '2026-03-03T12:00:00+01:00', 'condition': 'rainy', 'temperature': 7.5}] }}"
_WEATHER: dict[str, Any] = {
    "name": "weather of templates",
    "first": [outside("sensor.outside", "19.5")],
    "watch": ["weather."],
    "config": {
        "template": {
            "weather": [
                {
                    "name": "Here",
                    "condition_template": "{{ 'sunny' if states('sensor.outside') | float(0) > 20 else 'rain' }}",
                    "temperature_template": "{{ states('sensor.outside') | float }}",
                    "humidity_template": "{{ 55.4 }}",
                    "attribution_template": "Me",
                },
                {
                    "name": "Whole",
                    "condition_template": "cloudy",
                    "temperature_template": "{{ states('sensor.outside') }}",
                    "humidity_template": "{{ 50 }}",
                    "pressure_template": "{{ 1013.2 }}",
                    "wind_speed_template": "{{ 12 }}",
                    "wind_bearing_template": "{{ 'NW' }}",
                    "visibility_template": "{{ 10 }}",
                    "attribution_template": "{{ 'Somebody' }}",
                    "forecast_daily_template": _FORECAST,
                },
            ]
        }
    },
    "steps": [
        outside("sensor.outside", "25"),
        ask("weather.get_forecasts", entity_id="weather.whole", type="daily"),
        call("weather.get_forecasts", entity_id="weather.whole", type="hourly"),
    ],
}

SCENES: list[dict[str, Any]] = [_LIGHTS, _COLORS, _WEATHER, _OLDER]
