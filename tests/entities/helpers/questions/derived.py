"""Sensors made of other sensors."""

from __future__ import annotations

from typing import Any

from tests.entities.helpers.questions.steps import advance, call, outside, restart

_W = {"unit_of_measurement": "W", "device_class": "power"}
_C = {"unit_of_measurement": "°C", "device_class": "temperature"}
_KWH = {"unit_of_measurement": "kWh", "device_class": "energy", "state_class": "total_increasing"}


def _said(entity_id: str, *values: object, every: Any = 60, **attributes: Any) -> list[list[Any]]:
    """The source says values, each after a while."""
    return [step for each in values for step in (advance(every), outside(entity_id, str(each), **attributes))]


_CHARACTERISTICS = (
    *("average_linear", "average_step", "average_timeless", "change", "change_sample", "change_second", "count"),
    *("datetime_newest", "datetime_oldest", "datetime_value_max", "datetime_value_min"),
    *("distance_95_percent_of_values", "distance_99_percent_of_values", "distance_absolute", "mean", "mean_circular"),
    *("median", "noisiness", "percentile", "standard_deviation", "sum", "sum_differences"),
    *("sum_differences_nonnegative", "total", "value_max", "value_min", "variance"),
)
_OF_BINARY = ("average_step", "average_timeless", "count", "count_on", "count_off", "mean", "datetime_newest")
_TARIFFS = {
    "plain": {"source": "sensor.energy", "cycle": "daily", "offset": "11:30:00"},
    "named": {"source": "sensor.energy", "name": "Net use", "net_consumption": True, "cycle": "hourly", "offset": 600},
    "bare": {"source": "sensor.energy", "unique_id": "u1"},
    "steps": {"source": "sensor.energy", "delta_values": True, "cron": "*/15 * * * *"},
    "on": {"source": "sensor.energy", "periodically_resetting": False, "always_available": True},
    "house": {"source": "sensor.energy", "name": "House", "tariffs": ["peak", "off peak"], "cycle": "monthly"},
}

SCENES: list[dict[str, Any]] = [
    {
        "name": "min_max",
        "config": {
            "sensor": [
                {"platform": "min_max", "entity_ids": ["sensor.a", "sensor.b", "sensor.c"], "type": each}
                for each in ("min", "max", "mean", "median", "last", "range", "sum")
            ]
            + [
                {
                    "platform": "min_max",
                    "name": "Round",
                    "entity_ids": ["sensor.a", "sensor.b"],
                    "type": "mean",
                    "round_digits": 0,
                }
            ]
        },
        "watch": [
            *(f"sensor.{each}_sensor" for each in ("min", "max", "mean", "median", "last", "range", "sum")),
            "sensor.round",
        ],
        "steps": [
            outside("sensor.a", "20", **_C),
            outside("sensor.b", "22.55", **_C),
            outside("sensor.c", "19.123", **_C),
            outside("sensor.b", "21.5", **_C),
            outside("sensor.a", "unavailable", **_C),
            outside("sensor.b", "unknown", **_C),
            outside("sensor.c", "unknown", **_C),
            outside("sensor.a", "-3", **_C),
            restart(),
        ],
    },
    {
        "name": "min_max of sensors that are there",
        "config": {
            "sensor": [
                {
                    "platform": "min_max",
                    "name": "Warmest",
                    "entity_ids": ["sensor.a", "sensor.b"],
                    "type": each,
                    "unique_id": each,
                }
                for each in ("max", "last")
            ]
        },
        "first": [outside("sensor.a", "20", **_C), outside("sensor.b", "18", **_C)],
        "watch": ["sensor.warmest", "sensor.warmest_2"],
        "steps": [outside("sensor.a", "17", **_C), outside("sensor.b", "8", **_C), restart()],
    },
    {
        "name": "derivative",
        "config": {
            "sensor": [
                {"platform": "derivative", "source": "sensor.power"},
                {
                    "platform": "derivative",
                    "source": "sensor.power",
                    "name": "Per minute",
                    "unit_time": "min",
                    "round": 1,
                },
                {
                    "platform": "derivative",
                    "source": "sensor.power",
                    "name": "Kilo",
                    "unit_prefix": "k",
                    "unit": "kW/h",
                },
                {"platform": "derivative", "source": "sensor.power", "name": "Window", "time_window": "00:05:00"},
            ]
        },
        "watch": ["sensor.sensor_power_derivative", "sensor.per_minute", "sensor.kilo", "sensor.window"],
        "steps": [
            *_said("sensor.power", 10, 12, 11, 11, 30, **_W),
            *_said("sensor.power", "unavailable", 8, "unknown", 9, 9, 9, 9, every=40, **_W),
            restart(),
            *_said("sensor.power", 9, 12, **_W),
        ],
    },
    {
        "name": "integration",
        "config": {
            "sensor": [
                {"platform": "integration", "source": "sensor.power"},
                {
                    "platform": "integration",
                    "source": "sensor.power",
                    "name": "Left",
                    "method": "left",
                    "unit_prefix": "k",
                    "round": 5,
                },
                {
                    "platform": "integration",
                    "source": "sensor.power",
                    "name": "Right",
                    "round": 1,
                    "method": "right",
                    "unit_time": "min",
                },
                {
                    "platform": "integration",
                    "source": "sensor.power",
                    "name": "Silent",
                    "round": 1,
                    "method": "left",
                    "max_sub_interval": {"minutes": 2},
                },
                {"platform": "integration", "source": "sensor.speed", "name": "Way", "unique_id": "way"},
            ]
        },
        "watch": ["sensor.sensor_power_integral", "sensor.left", "sensor.right", "sensor.silent", "sensor.way"],
        "steps": [
            *_said("sensor.power", 100, 200, 200, 50, every=300, **_W),
            advance(1000),
            outside("sensor.speed", "30", unit_of_measurement="km/h"),
            advance(600),
            outside("sensor.speed", "60", unit_of_measurement="km/h"),
            *_said("sensor.power", "unavailable", 80, "unknown", 90, every=300, **_W),
            restart(),
            *_said("sensor.power", 60, 70, every=300, **_W),
        ],
    },
    {
        "name": "threshold",
        "config": {
            "binary_sensor": [
                {"platform": "threshold", "entity_id": "sensor.a", "upper": 20},
                {
                    "platform": "threshold",
                    "entity_id": "sensor.a",
                    "lower": 10,
                    "name": "Cold",
                    "hysteresis": 1.5,
                    "device_class": "cold",
                },
                {
                    "platform": "threshold",
                    "entity_id": "sensor.a",
                    "lower": 10,
                    "upper": 20,
                    "name": "Good",
                    "hysteresis": 1,
                },
            ]
        },
        "watch": ["binary_sensor."],
        "steps": [
            *(
                outside("sensor.a", str(each))
                for each in (15, 20, 20.5, 21.5, 19.5, 10.5, 9.2, 8, 10, 11.1, 11.6, "unknown", 19.4, "warm")
            ),
            restart(),
            outside("sensor.a", "12"),
        ],
    },
    {
        "name": "trend",
        "config": {
            "binary_sensor": [
                {
                    "platform": "trend",
                    "sensors": {
                        "rising": {"entity_id": "sensor.a"},
                        "falling": {
                            "entity_id": "sensor.a",
                            "friendly_name": "It falls",
                            "invert": True,
                            "device_class": "cold",
                        },
                        "steep": {
                            "entity_id": "sensor.a",
                            "min_gradient": -0.01,
                            "max_samples": 5,
                            "min_samples": 3,
                            "sample_duration": 200,
                        },
                        "light": {"entity_id": "sensor.a", "attribute": "level", "max_samples": 3},
                    },
                }
            ]
        },
        "watch": ["binary_sensor."],
        "steps": [
            *(step for level, value in enumerate((5, 6, 5.5, 4)) for step in _said("sensor.a", value, level=2 * level)),
            *(step for level in (4, 3) for step in _said("sensor.a", "unavailable", 10 - level, level=level)),
            *_said("sensor.a", "unknown", 9, level="high"),
            restart(),
            *_said("sensor.a", 9.5, 10, level=1),
        ],
    },
    {
        "name": "statistics of numbers",
        "config": {
            "sensor": [
                {
                    "platform": "statistics",
                    "entity_id": "sensor.a",
                    "name": each,
                    "state_characteristic": each,
                    "sampling_size": 5,
                }
                for each in _CHARACTERISTICS
            ]
        },
        "watch": [f"sensor.{each}" for each in _CHARACTERISTICS],
        "steps": [
            *_said("sensor.a", 20, 22, 21, 19.5, **_C),
            *_said("sensor.a", "unknown", 23, 25, "unavailable", 24, every=30, **_C),
        ],
    },
    {
        "name": "statistics that grow old",
        "config": {
            "sensor": [
                {
                    "platform": "statistics",
                    "entity_id": "sensor.a",
                    "state_characteristic": "mean",
                    "max_age": {"minutes": 5},
                },
                {
                    "platform": "statistics",
                    "entity_id": "sensor.a",
                    "name": "Kept",
                    "state_characteristic": "change",
                    "max_age": {"minutes": 5},
                    "keep_last_sample": True,
                    "precision": 0,
                },
                {
                    "platform": "statistics",
                    "entity_id": "sensor.a",
                    "name": "Tenth",
                    "state_characteristic": "percentile",
                    "percentile": 10,
                    "max_age": {"minutes": 10},
                    "sampling_size": 4,
                    "unique_id": "t",
                },
                {
                    "platform": "statistics",
                    "entity_id": "sensor.a",
                    "name": "Meter",
                    "state_characteristic": "count",
                    "max_age": {"seconds": 210},
                },
            ]
        },
        "watch": ["sensor.statistical_characteristic", "sensor.kept", "sensor.tenth", "sensor.meter"],
        "steps": [
            *_said("sensor.a", 20, 22, 21, 19.5, 19.5, **_C),
            advance(200),
            advance(200),
            advance(400),
            outside("sensor.a", "9", **_KWH),
        ],
    },
    {
        "name": "statistics of a binary sensor",
        "config": {
            "sensor": [
                {
                    "platform": "statistics",
                    "entity_id": "binary_sensor.door",
                    "name": each,
                    "state_characteristic": each,
                    "sampling_size": 20,
                }
                for each in _OF_BINARY
            ]
        },
        "watch": [f"sensor.{each}" for each in _OF_BINARY],
        "steps": [*_said("binary_sensor.door", "on", "off", "on", "unknown", "off", device_class="door")],
    },
    {
        "name": "utility_meter",
        "config": {"utility_meter": _TARIFFS},
        "watch": [
            *("sensor.plain", "sensor.net_use", "sensor.bare", "sensor.steps", "sensor.on"),
            *("sensor.house_peak", "sensor.house_off_peak", "select.house"),
        ],
        "steps": [
            *_said("sensor.energy", 10, 12.5, 13, **_KWH),
            call("select.select_option", entity_id="select.house", option="off peak"),
            *_said("sensor.energy", 14, 13.5, 15, **_KWH),
            call("utility_meter.calibrate", entity_id="sensor.plain", value="100"),
            call("utility_meter.calibrate", entity_id="sensor.house_off_peak", value=7.5),
            *_said("sensor.energy", 16, "unavailable", 18, "unknown", 19, **_KWH),
            call("utility_meter.reset", entity_id="select.house"),
            call("utility_meter.reset", entity_id="sensor.bare"),
            call("select.select_next", entity_id="select.house"),
            call("select.select_option", entity_id="select.house", option="night"),
            *_said("sensor.energy", 20, 0.5, **_KWH),
            restart(),
            *_said("sensor.energy", 1, 2, **_KWH),
            advance(3600),
            *_said("sensor.energy", 3, **_KWH),
        ],
    },
    {
        "name": "filter",
        "config": {
            "sensor": [
                {"platform": "filter", "entity_id": "sensor.a", "name": name, "filters": filters}
                for name, filters in (
                    ("Outlier", [{"filter": "outlier", "window_size": 3, "radius": 4.0}]),
                    ("Low", [{"filter": "lowpass", "time_constant": 4, "precision": 1}]),
                    ("Band", [{"filter": "range", "lower_bound": 18, "upper_bound": 24}]),
                    ("Third", [{"filter": "throttle", "window_size": 3}]),
                    ("Slow", [{"filter": "time_throttle", "window_size": "00:02:30"}]),
                    ("Mean", [{"filter": "time_simple_moving_average", "window_size": {"minutes": 4}, "precision": 2}]),
                    ("Chain", [{"filter": "range", "upper_bound": 22}, {"filter": "lowpass", "time_constant": 2}]),
                )
            ]
        },
        "watch": [f"sensor.{each}" for each in ("outlier", "low", "band", "third", "slow", "mean", "chain")],
        "steps": [
            *_said("sensor.a", 20, 21, 22, 40, 23, "unknown", 19, "unavailable", 10, "warm", 21.5, 22.25, **_C),
            restart(),
            *_said("sensor.a", 20, 30, **_C),
        ],
    },
]
