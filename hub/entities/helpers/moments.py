"""`input_datetime` and `timer`: moments that people set, and the time that runs until one.

Source: the documentation of these integrations of Home Assistant, and the answers of its core.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from hub.core.errors import InvalidRequest
from hub.core.phrases import phrase
from hub.core.schema import Described, Invalid, Optional, boolean, duration, number, show, string
from hub.entities.calendar import DAY, MOMENT, day as read_day, moment as read_moment
from hub.entities.helpers.contract import Held, HeldEvent, HelperHome, HelperKind, HelperService, Settings

_MIDNIGHT = time(0, 0)
_CLOCK = re.compile(r"(\d{1,2}):(\d{2})(?::(\d{2}))?(?:\.\d+)?")
_EPOCH = date(1970, 1, 1)


# --- input_datetime ---


def _time(value: Any) -> time:
    """Accept `15:30` or `15:30:00`."""
    if isinstance(value, time):
        return value
    found = _CLOCK.fullmatch(string(value).strip())
    hour, minute, second = (int(part or 0) for part in found.groups()) if found is not None else (24, 0, 0)
    try:
        return time(hour, minute, second)
    except ValueError:
        raise Invalid(phrase("expected a time such as 15:30:00, got {value}", value=show(value))) from None


_TEXT = {"type": "string"}
_SET = {
    Optional("date", description="The date, such as 2026-11-30"): DAY,
    Optional("time", description="The time, such as 15:30:00"): Described(_time, _TEXT, "time"),
    Optional("datetime", description="Both, such as 2026-11-30 15:30:00"): MOMENT,
    Optional("timestamp", description="Both, as seconds since 1970"): number,
}


def _moment(settings: Settings, kept: Held | None, home: HelperHome) -> Held:
    said = kept.state if kept is not None else None
    if home.starting and "initial" in settings:
        said = settings["initial"]
    found = _read(said, settings, home) if said else None
    return _at(settings, found or datetime.combine(home.local.date(), _MIDNIGHT), home)


def _read(text: str, settings: Settings, home: HelperHome) -> datetime | None:
    """Return the moment that a text says as far as it has a date and a time; None for one that says neither."""
    try:
        if settings["has_date"] and settings["has_time"]:
            return read_moment(text).replace(tzinfo=None)
        if settings["has_date"]:
            return datetime.combine(read_day(text), _MIDNIGHT)
        return datetime.combine(home.local.date(), _time(text))
    except Invalid:
        return None


def _at(settings: Settings, moment: datetime, home: HelperHome) -> Held:
    moment = moment.replace(tzinfo=home.zone, microsecond=0)
    parts = {"year": moment.year, "month": moment.month, "day": moment.day} if settings["has_date"] else {}
    if settings["has_time"]:
        parts |= {"hour": moment.hour, "minute": moment.minute, "second": moment.second}
    if not settings["has_date"]:
        stamp: float = moment.hour * 3600 + moment.minute * 60 + moment.second
        state = f"{moment:%H:%M:%S}"
    else:
        stamp = moment.timestamp()
        state = f"{moment:%Y-%m-%d %H:%M:%S}" if settings["has_time"] else f"{moment:%Y-%m-%d}"
    return Held(state, {**parts, "timestamp": stamp})


def _set_moment(settings: Settings, held: Held, data: Mapping[str, Any], home: HelperHome) -> Held:
    whole: datetime | None = data.get("datetime")
    if "timestamp" in data:
        whole = datetime.fromtimestamp(data["timestamp"], UTC).astimezone(home.zone)
    day = (whole.date() if whole is not None else data.get("date")) if settings["has_date"] else None
    clock = (whole.time() if whole is not None else data.get("time")) if settings["has_time"] else None
    if day is None and clock is None:
        wanted = [name for name, has in (("date", "has_date"), ("time", "has_time")) if settings[has]]
        raise InvalidRequest(phrase("expected one of {keys}", keys=[*wanted, "datetime", "timestamp"]))
    now = _read(held.state or "", settings, home) or home.local
    return _at(settings, datetime.combine(day or now.date(), clock or now.time()), home)


def _datetime_rule(settings: dict[str, Any]) -> dict[str, Any]:
    if not settings["has_date"] and not settings["has_time"]:
        raise Invalid(phrase("expected has_date: true, or has_time: true, or both"), path=["has_date"])
    if "initial" in settings:
        whole = read_moment if settings["has_time"] else read_day
        check = whole if settings["has_date"] else _time
        try:
            check(settings["initial"])
        except Invalid as error:
            raise Invalid(error.msg, path=["initial"]) from None
    return settings


def _initial(value: Any) -> str:
    return str(value) if isinstance(value, date | time) else string(value)


DATETIME = HelperKind(
    "input_datetime",
    "Dates and times that people and automations set, by name",
    {
        Optional("has_date", default=False, description="Whether it has a date"): boolean,
        Optional("has_time", default=False, description="Whether it has a time"): boolean,
        Optional("initial", description="What it is after each start; what it was without it"): Described(
            _initial, _TEXT, "date or time"
        ),
    },
    _moment,
    {"set_datetime": HelperService(_set_moment, _SET)},
    _datetime_rule,
    lambda settings: {"has_date": settings["has_date"], "has_time": settings["has_time"]},
)


# --- timer ---


def _signed(value: Any) -> float:
    """Accept a duration, with a minus before it or within."""
    if isinstance(value, str) and value.strip().startswith("-"):
        return -float(duration(value.strip()[1:]))
    if isinstance(value, (int, float)) and not isinstance(value, bool) and value < 0:
        return -float(duration(-value))
    if isinstance(value, dict) and any(isinstance(each, (int, float)) and each < 0 for each in value.values()):
        return -float(duration({key: -each for key, each in value.items()}))
    return float(duration(value))


_SIGNED = Described(_signed, duration.json_schema, "duration")


def _idle(settings: Settings, *events: HeldEvent) -> Held:
    return Held("idle", {"duration": _span(settings["duration"])}, events=events)


def _span(seconds: float) -> str:
    whole = int(seconds)
    return f"{whole // 3600}:{whole % 3600 // 60:02}:{whole % 60:02}"


def _running(state: str, length_s: float, left_s: float, end: float | None, *events: HeldEvent) -> Held:
    told: dict[str, Any] = {"duration": _span(length_s), "remaining": _span(left_s)}
    if end is not None:
        told["finishes_at"] = _stamp(end)
    return Held(state, told, end, events)


def _stamp(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat()


def _seconds(held: Held, name: str) -> float:
    hours, minutes, seconds = (int(part) for part in held.attributes[name].split(":"))
    return timedelta(hours=hours, minutes=minutes, seconds=seconds).total_seconds()


def _timer(settings: Settings, kept: Held | None, home: HelperHome) -> Held:
    """Return what a timer is at a start: idle, unless it is restored; one that ended meanwhile is finished now."""
    if kept is None or kept.state not in ("active", "paused"):
        return _idle(settings)
    if not home.starting:
        return kept
    if not settings["restore"]:
        return _idle(settings)
    if kept.state == "paused" or kept.due is None:
        return kept
    if kept.due <= home.now:
        return _finished(settings, kept)
    left_s = kept.due - int(home.now)
    return _running("active", _seconds(kept, "duration"), left_s, kept.due, HeldEvent("timer.restarted"))


def _start(settings: Settings, held: Held, data: Mapping[str, Any], home: HelperHome) -> Held:
    given = data.get("duration")
    is_new = held.state == "idle"
    length_s = settings["duration"] if is_new else _seconds(held, "duration")
    left_s = length_s if is_new else _seconds(held, "remaining")
    if given:
        length_s = left_s = given
    event = HeldEvent("timer.started" if is_new else "timer.restarted")
    return _running("active", length_s, left_s, int(home.now) + left_s, event)


def _change(settings: Settings, held: Held, data: Mapping[str, Any], home: HelperHome) -> Held:
    if held.state != "active" or held.due is None:
        raise InvalidRequest(phrase("it is not running; only a timer that runs can be changed"))
    length_s, end = _seconds(held, "duration"), held.due + data["duration"]
    left_s = end - int(home.now)
    if not 0 <= left_s <= length_s:
        raise InvalidRequest(
            phrase("it would have {left} left, of {length}", left=_span(left_s), length=_span(length_s))
        )
    return _running("active", length_s, left_s, end, HeldEvent("timer.changed"))


def _pause(settings: Settings, held: Held, data: Mapping[str, Any], home: HelperHome) -> Held:
    if held.state != "active" or held.due is None:
        return held
    left_s = max(0, held.due - int(home.now))
    return _running("paused", _seconds(held, "duration"), left_s, None, HeldEvent("timer.paused"))


def _cancel(settings: Settings, held: Held, data: Mapping[str, Any], home: HelperHome) -> Held:
    return held if held.state == "idle" else _idle(settings, HeldEvent("timer.cancelled"))


def _finish(settings: Settings, held: Held, data: Mapping[str, Any], home: HelperHome) -> Held:
    return _finished(settings, held) if held.state == "active" else held


def _finished(settings: Settings, held: Held) -> Held:
    return _idle(settings, HeldEvent("timer.finished", {"finished_at": _stamp(held.due or 0)}))


TIMER = HelperKind(
    "timer",
    "Timers, by name; the events `timer.started`, `timer.finished` … say what they do",
    {
        Optional("duration", default=0, description="How long it runs"): duration,
        Optional("restore", default=False, description="Whether it goes on after a restart"): boolean,
    },
    _timer,
    {
        "start": HelperService(_start, {Optional("duration", description="How long, this time"): duration}),
        "change": HelperService(_change, {Optional("duration", default=0, description="Added; taken with -"): _SIGNED}),
        "pause": HelperService(_pause),
        "cancel": HelperService(_cancel),
        "finish": HelperService(_finish),
    },
    shown=lambda settings: {"restore": True} if settings["restore"] else {},
    wake=lambda settings, held, home: _finished(settings, held),
)
