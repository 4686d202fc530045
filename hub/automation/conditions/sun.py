"""sun: it is before or after today's sunrise or sunset at the home, with an optional offset."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from hub.automation.contract import ConditionContext, ConditionKind, ConditionVerdict
from hub.automation.definition.phrases import SUN_EVENTS, all_of, any_of
from hub.automation.schedule.sun import SunCondition
from hub.automation.triggers.scheduled import explain_offset, offset
from hub.core.errors import Unavailable
from hub.core.phrases import phrase
from hub.core.schema import In, Invalid, Optional
from hub.entities.sun import GeoPosition, SunEvent, sun_position

_EVENTS = [event.value for event in SunEvent]


def _check(config: Mapping[str, Any], asking: ConditionContext) -> ConditionVerdict:
    parts = asking.parts
    location = parts.location()
    if location is None:
        raise Unavailable(phrase("the home’s place is not known; set latitude and longitude in the settings"))
    place = GeoPosition(location.latitude, location.longitude, location.elevation_m)
    condition = SunCondition(
        SunEvent(config["before"]) if "before" in config else None,
        SunEvent(config["after"]) if "after" in config else None,
        config.get("before_offset", 0.0),
        config.get("after_offset", 0.0),
    )
    zone = parts.zone()
    now = parts.clock.time()
    holds = condition.holds(place, zone, now)
    position = sun_position(place, now)
    next_name, next_at = _next(position.next_rising, position.next_setting)
    details: dict[str, Any] = {"sun_is_up": position.is_up, "elevation": round(position.elevation, 2)}
    told = phrase("the sun is up") if position.is_up else phrase("the sun is down")
    if next_at is not None:
        at = datetime.fromtimestamp(next_at, zone)
        details[f"next_{next_name}"] = at.isoformat(timespec="seconds")
        told = phrase("{said} until {time}", said=told, time=f"{at:%H:%M}")
    if not holds:
        told = phrase("{said}; it is not {span}", said=told, span=_span_told(config))
    return ConditionVerdict(holds, told, details)


def _next(rising: float | None, setting: float | None) -> tuple[str, float | None]:
    if rising is None or (setting is not None and setting < rising):
        return "sunset", setting
    return "sunrise", rising


def _span_told(config: Mapping[str, Any]) -> str:
    told = []
    if "after" in config:
        told.append(phrase("after {time}", time=_shifted(config["after"], config.get("after_offset", 0.0))))
    if "before" in config:
        told.append(phrase("before {time}", time=_shifted(config["before"], config.get("before_offset", 0.0))))
    night = config.get("before") == "sunrise" and config.get("after") == "sunset"
    return any_of(told) if night else all_of(told)


def _shifted(event: str, shift: float) -> str:
    return explain_offset(SUN_EVENTS[event], shift) if shift else SUN_EVENTS[event]


def _explain(config: Mapping[str, Any]) -> str:
    return phrase("it is {time}", time=_span_told(config))


def _rule(config: dict[str, Any]) -> dict[str, Any]:
    if not config.keys() & {"before", "after"}:
        raise Invalid(phrase("expected before or after, with sunrise or sunset"))
    return config


KIND = ConditionKind(
    "sun",
    {
        Optional("before", description="sunrise or sunset of today."): In(_EVENTS),
        Optional("after", description="sunrise or sunset of today."): In(_EVENTS),
        Optional("before_offset", description="Offset: 00:30:00 is later, -00:30:00 earlier."): offset,
        Optional("after_offset", description="Offset: 00:30:00 is later, -00:30:00 earlier."): offset,
    },
    _explain,
    "It is before or after sunrise or sunset.",
    check=_check,
    rule=_rule,
)
