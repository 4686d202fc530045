"""`statistics`: the mean, spread, change … of the last values of a sensor.

Source: the documentation of this integration of Home Assistant, and the answers of its core.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any, TypeAlias

from msgspec.structs import replace

from hub.core.phrases import phrase
from hub.core.schema import All, In, Invalid, Optional, Range, Required, boolean, integer
from hub.core.states import EntityState
from hub.entities.helpers.contract import Held, HelperHome, HelperKind, Past, Settings
from hub.entities.helpers.readings import MEASUREMENT, SOURCE, reading, span, unit_of

SAMPLES_LIMIT = 10_000
_Samples: TypeAlias = Sequence[Sequence[float]]
"""Moments and values, the oldest first."""
_NO_MEASUREMENT = frozenset(
    {"date", "energy", "enum", "gas", "monetary", "timestamp", "volume", "water", "wind_direction"}
)
"""Device classes that a mean of such values has not."""


def _values(samples: _Samples) -> list[float]:
    return [each[1] for each in samples]


def _span_s(samples: _Samples) -> float:
    return samples[-1][0] - samples[0][0]


def _area(samples: _Samples, value: Callable[[float, float], float]) -> float | None:
    """Return the mean over time, where `value` is what holds between two samples."""
    if len(samples) == 1:
        return samples[0][1]
    seconds = _span_s(samples)
    areas = (value(one, two) * (end - begin) for (begin, one), (end, two) in pairwise(samples))
    return sum(areas) / seconds if seconds else None


def _steps(samples: _Samples) -> list[float]:
    return [two - one for one, two in pairwise(_values(samples))]


def _deviation(samples: _Samples) -> float:
    return statistics.stdev(_values(samples)) if len(samples) > 1 else 0.0


def _circular(samples: _Samples) -> float:
    angles = [math.radians(each) for each in _values(samples)]
    return (math.degrees(math.atan2(sum(map(math.sin, angles)), sum(map(math.cos, angles)))) + 360) % 360


def _extreme(samples: _Samples, best: Callable[[list[float]], float]) -> float:
    values = _values(samples)
    return samples[values.index(best(values))][0]


def _mean(samples: _Samples) -> float:
    return statistics.mean(_values(samples))


def _share(samples: _Samples) -> float:
    return 100.0 * _mean(samples)


_NUMBERS: Mapping[str, Callable[[_Samples], float | None]] = {
    "average_linear": lambda samples: _area(samples, lambda one, two: (one + two) / 2),
    "average_step": lambda samples: _area(samples, lambda one, two: one),
    "average_timeless": _mean,
    "change": lambda samples: samples[-1][1] - samples[0][1],
    "change_sample": lambda samples: sum(_steps(samples)) / (len(samples) - 1) if len(samples) > 1 else None,
    "change_second": lambda samples: sum(_steps(samples)) / _span_s(samples) if _span_s(samples) else None,
    "distance_95_percent_of_values": lambda samples: 2 * 1.96 * _deviation(samples),
    "distance_99_percent_of_values": lambda samples: 2 * 2.58 * _deviation(samples),
    "distance_absolute": lambda samples: max(_values(samples)) - min(_values(samples)),
    "mean": _mean,
    "mean_circular": _circular,
    "median": lambda samples: statistics.median(_values(samples)),
    "noisiness": lambda samples: statistics.fmean(map(abs, _steps(samples))) if len(samples) > 1 else 0.0,
    "standard_deviation": _deviation,
    "sum": lambda samples: sum(_values(samples)),
    "sum_differences": lambda samples: float(sum(map(abs, _steps(samples)))),
    "sum_differences_nonnegative": lambda samples: float(
        sum(two - one if two >= one else two for one, two in pairwise(_values(samples)))
    ),
    "total": lambda samples: sum(_values(samples)),
    "value_max": lambda samples: max(_values(samples)),
    "value_min": lambda samples: min(_values(samples)),
    "variance": lambda samples: statistics.variance(_values(samples)) if len(samples) > 1 else 0.0,
}
_MOMENTS: Mapping[str, Callable[[_Samples], float]] = {
    "datetime_newest": lambda samples: samples[-1][0],
    "datetime_oldest": lambda samples: samples[0][0],
    "datetime_value_max": lambda samples: _extreme(samples, max),
    "datetime_value_min": lambda samples: _extreme(samples, min),
}
_BINARY: Mapping[str, Callable[[_Samples], float | None]] = {
    "average_step": lambda samples: None if (share := _area(samples, lambda one, two: one)) is None else 100 * share,
    "average_timeless": _share,
    "mean": _share,
    "count_on": lambda samples: _values(samples).count(1.0),
    "count_off": lambda samples: _values(samples).count(0.0),
}
_NEW_UNITS = {"variance": "{}²", "change_sample": "{}/sample", "change_second": "{}/s", "count": ""}
_ALL = tuple(dict.fromkeys((*_NUMBERS, *_MOMENTS, *_BINARY, "count", "percentile")))


def _is_binary(settings: Settings) -> bool:
    return bool(settings["entity_id"].startswith("binary_sensor."))


def _begin(settings: Settings, kept: Held | None, home: HelperHome) -> Held:
    """Begin with what history has of the sensor."""
    samples = [sample for at, text in home.past or () if (sample := _sample(settings, at, text)) is not None]
    if home.past is not None and kept is not None:  # and what came while history was read
        samples += [each for each in kept.memory["samples"] if not samples or each[0] > samples[-1][0]]
    state = home.state(settings["entity_id"])
    if not samples and state is not None:
        sample = _sample(settings, state.last_updated, state.state)
        samples = [sample] if sample is not None else []
    is_there = bool(samples) and state is not None
    told = {"source_value_valid": True, **_measure(settings, state)} if is_there and state is not None else {}
    found = _with(settings, home, samples if is_there else [], told, is_there=is_there)
    return replace(found, memory={**found.memory, "read": home.past is not None})


def _next(settings: Settings, held: Held, home: HelperHome) -> Held:
    state = home.state(settings["entity_id"])
    samples, told = list(held.memory["samples"]), dict(held.memory["told"])
    if home.changed is None or state is None:
        return _with(settings, home, samples, told, is_there=held.state != "unavailable")
    if state.state == "unavailable":
        return _with(settings, home, samples, {**told, "source_value_valid": None}, is_there=False)
    sample = _sample(settings, home.now, state.state)
    if sample is None:
        return _with(settings, home, samples, {**told, "source_value_valid": False})
    return _with(settings, home, [*samples, sample], {"source_value_valid": True, **_measure(settings, state)})


def _sample(settings: Settings, at: float, text: str) -> list[float] | None:
    if _is_binary(settings):
        return [at, float(text == "on")] if text in ("on", "off") else None
    value = reading(text)
    return [at, value] if value is not None else None


def _with(
    settings: Settings, home: HelperHome, samples: list[list[float]], told: dict[str, Any], *, is_there: bool = True
) -> Held:
    size, age, keep = settings.get("sampling_size"), settings.get("max_age"), settings["keep_last_sample"]
    samples = samples[-(size or SAMPLES_LIMIT) :]
    if age:
        young = [each for each in samples if home.now - each[0] <= age]
        samples = young or (samples[-1:] if keep else [])
    known: dict[str, Any] = {}
    if age:
        known["age_coverage_ratio"] = round(_span_s(samples) / age, 2) if samples else 0
    if size:
        known["buffer_usage_ratio"] = round(len(samples) / size, 2)
    due = samples[0][0] + age if age and samples and not (keep and len(samples) == 1) else None
    memory = {"samples": samples, "told": told, "read": True}
    if not is_there:
        shown = {key: each for key, each in told.items() if key != "source_value_valid"}
        return Held("unavailable", shown, due, memory=memory)
    return Held(_value(settings, samples), {**told, **known}, due, memory=memory)


def _value(settings: Settings, samples: _Samples) -> str | None:
    kind, digits = settings["state_characteristic"], settings["precision"]
    value: float | None
    if kind == "count":
        value = len(samples)
    elif not samples:
        value = 0 if kind.startswith("count_") else None
    elif kind in _MOMENTS:
        return datetime.fromtimestamp(_MOMENTS[kind](samples), UTC).isoformat(timespec="seconds")
    elif kind == "percentile":
        values = _values(samples)
        value = statistics.quantiles(values, n=100)[settings["percentile"] - 1] if len(values) > 1 else values[0]
    else:
        value = (_BINARY if _is_binary(settings) else _NUMBERS)[kind](samples)
    if value is None:
        return None
    return str(round(value) if digits == 0 else round(value, digits))


def _measure(settings: Settings, state: EntityState) -> dict[str, Any]:
    """Return the unit and the classes of the value."""
    kind, unit = settings["state_characteristic"], unit_of(state)
    found: dict[str, Any] = dict(MEASUREMENT)
    if kind in _MOMENTS:
        return {"device_class": "timestamp"}
    if _is_binary(settings):
        unit = None if kind.startswith("count") else "%"
    elif kind in _NEW_UNITS:
        unit = _NEW_UNITS[kind].format(unit) if unit is not None else None
    elif (device_class := state.attributes.get("device_class")) not in (None, *_NO_MEASUREMENT) and unit is not None:
        found["device_class"] = device_class
    return {**found, "unit_of_measurement": unit} if unit else found


def _rule(settings: dict[str, Any]) -> dict[str, Any]:
    kind, of_binary = settings["state_characteristic"], {*_BINARY, "count", "datetime_newest", "datetime_oldest"}
    if _is_binary(settings) and kind not in of_binary:
        raise Invalid(
            phrase("expected one that a binary_sensor has: {names}", names=sorted(of_binary)),
            path=["state_characteristic"],
        )
    if not _is_binary(settings) and kind.startswith("count_"):
        raise Invalid(phrase("only a binary_sensor has this"), path=["state_characteristic"])
    if not settings.get("max_age") and "sampling_size" not in settings:
        raise Invalid(phrase("expected max_age, or sampling_size, or both"), path=["max_age"])
    if settings["keep_last_sample"] and not settings.get("max_age"):
        raise Invalid(phrase("expected max_age, which keep_last_sample is about"), path=["max_age"])
    return {"name": "Statistical characteristic", **settings}


def _past(settings: Settings, held: Held, home: HelperHome) -> Past | None:
    if held.memory["read"]:
        return None
    since = home.now - settings["max_age"] if settings.get("max_age") else 0.0
    return Past(settings["entity_id"], since, settings.get("sampling_size") or SAMPLES_LIMIT)


KINDS = (
    HelperKind(
        "sensor",
        "The mean, spread, change … of the last values of a sensor",
        {
            Required("entity_id", description="The sensor, or a binary_sensor"): SOURCE,
            Required("state_characteristic", description="What is told of its values"): In(_ALL),
            Optional("sampling_size", description="How many values count"): All(
                integer, Range(min=1, max=SAMPLES_LIMIT)
            ),
            Optional("max_age", description="How long a value counts"): span,
            Optional("keep_last_sample", default=False, description="Whether the last value counts for ever"): boolean,
            Optional("precision", default=2, description="Digits after the point"): All(integer, Range(min=0, max=10)),
            Optional("percentile", default=50, description="Which one, where it is about that"): All(
                integer, Range(min=1, max=99)
            ),
        },
        _begin,
        {},
        _rule,
        lambda settings: {"icon": "mdi:calculator"} if "icon" not in settings else {},
        _next,
        lambda settings: (settings["entity_id"],),
        is_kept=False,
        has_editable=False,
        quotes=True,
        platform="statistics",
        hears_reports=True,
        past=_past,
    ),
)
