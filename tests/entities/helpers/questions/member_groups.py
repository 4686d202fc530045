"""Groups of one kind of entity."""

from __future__ import annotations

from typing import Any

from tests.entities.helpers.questions.steps import advance, call, outside, restart

_DOMAINS = ("binary_sensor", "button", "cover", "fan", "light", "lock", "media_player", "switch", "event")


def _of(domain: str, **more: Any) -> dict[str, Any]:
    return {"platform": "group", "entities": [f"{domain}.a", f"{domain}.b"], **more}


def _each(domain: str, *states: object, **attributes: Any) -> list[list[Any]]:
    """Both members say states in turn."""
    return [outside(f"{domain}.{'ab'[index % 2]}", str(each), **attributes) for index, each in enumerate(states)]


_UNKNOWN = ("unknown", "unknown", "unavailable", "unavailable")
_COLOR = {
    "supported_color_modes": ["color_temp", "hs"],
    "supported_features": 44,
    "effect_list": ["Rain", "None", "Sun"],
}
_HS = {
    "color_mode": "hs",
    "brightness": 100,
    "hs_color": [30.0, 100.0],
    "rgb_color": [255, 128, 0],
    "xy_color": [0.611, 0.375],
    "effect": "Rain",
}
_WARM = {
    "color_mode": "color_temp",
    "brightness": 200,
    "color_temp_kelvin": 2500,
    "color_temp": 400,
    "hs_color": [28.874, 72.522],
    "rgb_color": [255, 159, 70],
    "xy_color": [0.546, 0.389],
    "effect": "None",
}
_C = {"unit_of_measurement": "°C", "device_class": "temperature", "state_class": "measurement"}
_TYPES = ("min", "max", "mean", "median", "last", "range", "stdev", "sum", "product")

_CALM = ("mean", "median", "range", "sum", "product")
"""Those that name no member, as they do there after it has become unknown."""

SCENES: list[dict[str, Any]] = [
    {
        "name": "groups of switches",
        "config": {
            "switch": [_of("switch"), _of("switch", name="All", all=True, unique_id="all")],
            "binary_sensor": [_of("binary_sensor", device_class="door"), _of("binary_sensor", name="All", all=True)],
        },
        "watch": ["switch.switch_group", "switch.all", "binary_sensor.binary_sensor_group", "binary_sensor.all"],
        "steps": [
            *_each("switch", "on", "off", "off", "on", "on", *_UNKNOWN, "on"),
            *_each("binary_sensor", "on", "off", "off", "on", "on", *_UNKNOWN, "on"),
            restart(),
        ],
    },
    {
        "name": "groups of covers, fans and locks",
        "config": {"cover": [_of("cover")], "fan": [_of("fan", name="Fans")], "lock": [_of("lock", unique_id="l")]},
        "watch": ["cover.cover_group", "fan.fans", "lock.lock_group"],
        "steps": [
            *_each("cover", "open", "closed", current_position=50, supported_features=15),
            *_each("cover", "closing", "opening", current_position=2, current_tilt_position=10, supported_features=255),
            *_each("cover", "closed", "closed", current_position=0, supported_features=4),
            *_each("cover", *_UNKNOWN),
            *_each("fan", "on", "off", supported_features=48),
            *_each("fan", "on", "on", percentage=60, percentage_step=20.0, supported_features=49),
            *_each("fan", "on", oscillating=True, direction="reverse", supported_features=6),
            *_each("fan", *_UNKNOWN),
            *_each("lock", "locked", "locked", "unlocked", "locking", "unlocking", "jammed", "open", *_UNKNOWN),
        ],
    },
    {
        "name": "groups of lights",
        "config": {"light": [_of("light"), _of("light", name="All", all=True)]},
        "watch": ["light.light_group", "light.all"],
        "steps": [
            *_each("light", "on", "off", supported_color_modes=["onoff"], color_mode="onoff"),
            *_each("light", "off", supported_color_modes=["onoff"]),
            *_each("light", "on", "on", supported_color_modes=["brightness"], color_mode="brightness", brightness=77),
            outside("light.a", "on", **_COLOR, **_HS),
            outside("light.b", "off", **_COLOR),
            outside("light.b", "on", **_COLOR, **_HS),
            *_each("light", "on", "on", **_COLOR, min_color_temp_kelvin=2200, max_color_temp_kelvin=5000, **_WARM),
            *_each("light", "off", "off", **_COLOR),
            *_each("light", *_UNKNOWN),
        ],
    },
    {
        "name": "groups of players and events",
        "config": {"media_player": [_of("media_player")], "event": [_of("event")], "button": [_of("button")]},
        "watch": ["media_player.media_group", "event.event_group", "button.button_group"],
        "steps": [
            *_each("media_player", "playing", "off", "off", "paused", supported_features=512 + 4 + 128),
            *_each("media_player", "idle", "idle", *_UNKNOWN, supported_features=1 + 16),
            *_each("event", "unknown", "unknown", event_types=["single", "double"]),
            *_each("event", "2026-03-02T09:00:00.000+00:00", event_types=["single", "double"], event_type="single"),
            *_each(
                "event", "2026-03-02T09:01:00.000+00:00", event_types=["single", "double"], event_type="double", n=2
            ),
            advance(5),
            *_each("event", "unavailable", "unavailable", event_types=["single"]),
            *_each("button", "unknown", "2026-03-02T09:00:00+00:00"),
            call("button.press", entity_id="button.button_group"),
            *_each("button", "unavailable", "unavailable"),
            *_each("button", "unknown"),
        ],
    },
    *(
        {
            "name": f"groups of sensors{name}",
            "config": {
                "sensor": [
                    *(_of("sensor", type=each) for each in types),
                    _of("sensor", type="sum", name="Some", ignore_non_numeric=True, unit_of_measurement=unit),
                ]
            },
            "watch": [*(f"sensor.sensor_group_{each}" for each in _TYPES), "sensor.some"],
            "steps": _each("sensor", *values, **attributes),
        }
        for name, unit, types, values, attributes in (
            ("", "K", _TYPES, (20, 22.5, 18), _C),
            (" without a class", "l", _CALM, (20, 22.5, *_UNKNOWN, 7, 3), {"unit_of_measurement": "l"}),
        )
    ),
]
