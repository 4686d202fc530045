"""time: it is after a time of day, before one, on certain weekdays. A span may go over midnight."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from hub.automation.contract import ConditionContext, ConditionKind, ConditionVerdict
from hub.automation.definition.fields import time_of_day, weekdays
from hub.automation.definition.phrases import all_of, any_of, days, time_of_day as clock_time
from hub.core.errors import InvalidRequest, NotFound
from hub.core.phrases import phrase
from hub.core.schema import AnyOf, Invalid, Optional, entity_id

DAY_S = 86_400
_WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_NOT_KNOWN = ("unavailable", "unknown", "")


def within(now: float, after: float | None, before: float | None) -> bool:
    """Whether a time is in the span from `after` (included) to `before` (not); all in seconds since midnight.

    A span whose end is not after its start passes midnight.
    """
    start = 0.0 if after is None else after
    end = float(DAY_S) if before is None else before
    if start < end:
        return start <= now < end
    return now >= start or now < end


def _check(config: Mapping[str, Any], asking: ConditionContext) -> ConditionVerdict:
    parts = asking.parts
    now = parts.clock.now().astimezone(parts.zone())
    second = now.hour * 3_600 + now.minute * 60 + now.second + now.microsecond / 1e6
    today = _WEEKDAYS[now.weekday()]
    shown_now = clock_time(int(second))
    details: dict[str, Any] = {"now": now.isoformat(timespec="seconds"), "weekday": today}
    bounds: dict[str, float | None] = {}
    for name in ("after", "before"):
        if name not in config:
            bounds[name] = None
            continue
        found = _second(config[name], asking)
        if found is None:
            return ConditionVerdict(False, _unknown_time(config[name]), details)
        bounds[name] = found
        details[name] = clock_time(int(found))
    after, before = bounds["after"], bounds["before"]
    if not within(second, after, before):
        wanted = _span_told(after, before)
        return ConditionVerdict(False, phrase("it is {time}, not {wanted}", time=shown_now, wanted=wanted), details)
    if "weekday" in config and today not in config["weekday"]:
        reason = phrase("it is {time}, not {wanted}", time=days([today]), wanted=days(config["weekday"], "or"))
        return ConditionVerdict(False, reason, details)
    time = phrase("{said} on {days}", said=shown_now, days=days([today])) if "weekday" in config else shown_now
    return ConditionVerdict(True, phrase("it is {time}", time=time), details)


def _second(value: int | str, asking: ConditionContext) -> float | None:
    """Return the seconds since midnight of a time, or of the entity that holds one; None if unknown."""
    if isinstance(value, int):
        return value
    state = asking.parts.states.get(value)
    if state is None:
        raise NotFound(f"there is no entity {value}, to read the time from")
    if value.startswith("input_datetime.") and "hour" in state.attributes:
        read = [state.attributes.get(unit, 0) for unit in ("hour", "minute", "second")]
        if all(isinstance(each, (int, float)) for each in read):
            return float(read[0] * 3_600 + read[1] * 60 + read[2])
    if state.state in _NOT_KNOWN:
        return None
    try:
        return float(time_of_day(state.state))
    except Invalid:
        pass
    try:
        moment = datetime.fromisoformat(state.state)
    except ValueError:
        raise InvalidRequest(
            f"{value} is {state.state[:40]!r}, which is neither a time of day nor a date-time"
        ) from None
    if moment.tzinfo is not None:
        moment = moment.astimezone(asking.parts.zone())
    return float(moment.hour * 3_600 + moment.minute * 60 + moment.second)


def _span_told(after: float | None, before: float | None) -> str:
    told = []
    if after is not None:
        told.append(phrase("after {time}", time=clock_time(int(after))))
    if before is not None:
        told.append(phrase("before {time}", time=clock_time(int(before))))
    over_midnight = after is not None and before is not None and before <= after
    return any_of(told) if over_midnight else all_of(told)


def _unknown_time(entity_id: str) -> str:
    return phrase("{what} is {value}", what=_bound(entity_id), value=phrase("not known"))


def _bound(value: int | str) -> str:
    return clock_time(value) if isinstance(value, int) else phrase("the time of {entity}", entity=value)


def _explain(config: Mapping[str, Any]) -> str:
    told = [phrase("after {time}", time=_bound(config["after"]))] if "after" in config else []
    told += [phrase("before {time}", time=_bound(config["before"]))] if "before" in config else []
    time = all_of(told)
    if "weekday" in config:
        on = days(config["weekday"], "or")
        time = phrase("{said} on {days}", said=time, days=on) if told else on
    return phrase("it is {time}", time=time)


def _rule(config: dict[str, Any]) -> dict[str, Any]:
    if not config.keys() & {"after", "before", "weekday"}:
        raise Invalid(phrase("expected after, before or weekday"))
    if "weekday" in config and not config["weekday"]:
        raise Invalid(phrase("expected at least one weekday"), path=["weekday"])
    return config


_TIME = AnyOf(time_of_day, entity_id)

KIND = ConditionKind(
    "time",
    {
        Optional("after", description="From this time of day, or from that of an entity that holds a time."): _TIME,
        Optional("before", description="Until this time of day, or until that of an entity that holds a time."): _TIME,
        Optional("weekday", description="mon, tue, wed, thu, fri, sat, sun."): weekdays,
    },
    _explain,
    "The time of day and the weekday.",
    check=_check,
    rule=_rule,
)
