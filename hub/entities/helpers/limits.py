"""`threshold` and `trend`: whether a sensor is beyond a limit, and whether it rises or falls.

Source: the documentation of these integrations of Home Assistant, and the answers of its core.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping
from typing import Any

from hub.core.phrases import phrase
from hub.core.schema import (
    All,
    AnyOf,
    Invalid,
    Length,
    Optional,
    Range,
    Required,
    boolean,
    integer,
    numeric,
    slug,
    string,
)
from hub.entities.helpers.contract import Held, HelperHome, HelperKind, Settings
from hub.entities.helpers.readings import NOTHING, SOURCE, reading

SAMPLES_LIMIT = 10_000
SENSORS_LIMIT = 500


# --- threshold ---


def _threshold(settings: Settings, held: Held | None, home: HelperHome) -> Held:
    """Return on which side of its limits a sensor is; within the hysteresis it stays where it was."""
    value = reading(home.state(settings["entity_id"]))
    lower, upper, margin = settings.get("lower"), settings.get("upper"), settings["hysteresis"]
    place = held.attributes["position"] if held is not None and held.state in ("on", "off") else None
    if value is None:
        place = "unknown"
    elif lower is not None and upper is not None:
        place = _between(value, lower, upper, margin, place or "in_range")
    elif lower is not None:
        place = "below" if value < lower - margin else "above" if value > lower + margin else place or "above"
    else:
        place = "above" if value > upper + margin else "below" if value < upper - margin else place or "below"
    kind = "upper" if lower is None else "lower" if upper is None else "range"
    wanted = {"upper": "above", "lower": "below", "range": "in_range"}[kind]
    told = {
        "entity_id": settings["entity_id"],
        "hysteresis": margin,
        "lower": lower,
        "position": place,
        "sensor_value": value,
        "type": kind,
        "upper": upper,
    }
    return Held(None if value is None else "on" if place == wanted else "off", told)


def _between(value: float, lower: float, upper: float, margin: float, place: str) -> str:
    if value > upper + margin:
        return "above"
    if value < lower - margin:
        return "below"
    return "in_range" if lower + margin < value < upper - margin else place


def _threshold_rule(settings: dict[str, Any]) -> dict[str, Any]:
    if settings.get("lower") is None and settings.get("upper") is None:
        raise Invalid(phrase("expected lower, or upper, or both"), path=["upper"])
    return {"name": "Threshold", **settings}


# --- trend ---


def _trend(settings: Settings, held: Held | None, home: HelperHome) -> Held:
    state = None if held is None else held.state if held.state in ("on", "off") else None
    return _with_trend(settings, state, 0.0, [])


def _next_trend(settings: Settings, held: Held, home: HelperHome) -> Held:
    """Return whether the line through the last values of a sensor goes the wanted way."""
    state = home.state(settings["entity_id"])
    if state is None:
        return held
    samples, gradient = list(held.memory["samples"]), held.memory["gradient"]
    said = state.attributes.get(settings["attribute"]) if "attribute" in settings else state.state
    if said in NOTHING:
        memory = {"samples": samples, "gradient": gradient, "was": held.memory.get("was", held.state)}
        return Held("unavailable", {}, memory=memory)
    try:
        samples.append([state.last_updated, float(said)])  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return held
    since = home.now - settings["sample_duration"] if settings["sample_duration"] else -math.inf
    samples = [each for each in samples[-settings["max_samples"] :] if each[0] >= since]
    is_on = held.memory.get("was", held.state)
    if len(samples) >= settings["min_samples"]:
        gradient = _gradient(samples)
        least = settings["min_gradient"]
        is_on = abs(gradient) > abs(least) and math.copysign(gradient, least) == gradient
        is_on = "on" if is_on is not settings["invert"] else "off"
    return _with_trend(settings, is_on, gradient, samples)


def _with_trend(settings: Settings, state: str | None, gradient: float, samples: list[list[float]]) -> Held:
    told = {
        "entity_id": settings["entity_id"],
        "gradient": gradient,
        "invert": settings["invert"],
        "min_gradient": settings["min_gradient"],
        "sample_count": len(samples),
        "sample_duration": settings["sample_duration"],
    }
    return Held(state, told, memory={"samples": samples, "gradient": gradient})


def _gradient(samples: list[list[float]]) -> float:
    times, values = zip(*samples, strict=True)
    try:
        return statistics.linear_regression([each - times[0] for each in times], values).slope
    except statistics.StatisticsError:  # one moment
        return 0.0


def _trend_rule(settings: dict[str, Any]) -> dict[str, Any]:
    for key, each in settings["sensors"].items():
        if each["max_samples"] < each["min_samples"]:
            raise Invalid(phrase("expected a number not below min_samples"), path=["sensors", key, "max_samples"])
    return settings


def _trends(key: str, settings: Settings) -> Mapping[str, Settings]:
    return {
        name: {**each, "platform": "trend", "name": each.get("friendly_name", name), "object_id": name}
        for name, each in settings["sensors"].items()
    }


_COUNT = All(integer, Range(min=1, max=SAMPLES_LIMIT))
KINDS = (
    HelperKind(
        "binary_sensor",
        "Whether a sensor is beyond a limit",
        {
            Required("entity_id", description="The sensor"): SOURCE,
            Optional("lower", description="It is on below this"): AnyOf(None, numeric),
            Optional("upper", description="It is on above this; with both, between them"): AnyOf(None, numeric),
            Optional("hysteresis", default=0.0, description="How far beyond a limit it changes"): numeric,
            Optional("device_class", description="What it is about"): string,
        },
        lambda settings, kept, home: _threshold(settings, None, home),
        {},
        _threshold_rule,
        wake=_threshold,
        follows=lambda settings: (settings["entity_id"],),
        is_kept=False,
        has_editable=False,
        platform="threshold",
    ),
    HelperKind(
        "binary_sensor",
        "Whether a sensor rises or falls",
        {
            Required("sensors", description="Each by its id"): All(
                {
                    slug: {
                        Required("entity_id", description="The sensor"): SOURCE,
                        Optional("attribute", description="What of it, in place of its state"): string,
                        Optional("device_class", description="What it is about"): string,
                        Optional("friendly_name", description="Its name for people"): string,
                        Optional("invert", default=False, description="Whether it is on in the other case"): boolean,
                        Optional("max_samples", default=2, description="How many values the line goes through"): _COUNT,
                        Optional("min_samples", default=2, description="How many it needs"): _COUNT,
                        Optional("min_gradient", default=0.0, description="The least change per second"): numeric,
                        Optional("sample_duration", default=0, description="How many seconds a value counts"): All(
                            integer, Range(min=0)
                        ),
                    }
                },
                Length(min=1, max=SENSORS_LIMIT),
            )
        },
        _trend,
        {},
        _trend_rule,
        wake=_next_trend,
        follows=lambda settings: (settings["entity_id"],),
        has_editable=False,
        platform="trend",
        each_of=_trends,
    ),
)
