"""`calendar`: what its services take, as Home Assistant's do, and the state of a calendar. Pure functions.

Source: the documentation of this domain of Home Assistant, and the answers of its core.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date, datetime, timedelta, tzinfo
from typing import Any

from hub.core.errors import InvalidRequest
from hub.core.phrases import phrase
from hub.core.schema import (
    All,
    AnyOf,
    Described,
    In,
    Invalid,
    Length,
    Optional,
    Range,
    Required,
    duration,
    integer,
    show,
    string,
)

EVENT_CHANGED = "calendar_changed"
"""Fired when the events of a calendar entity have changed; data: `entity_id`."""
CREATE_EVENT, DELETE_EVENT, UPDATE_EVENT = 1, 2, 4
"""In `supported_features`: events can be added, removed and changed."""
FREQUENCIES = ("DAILY", "WEEKLY", "MONTHLY", "YEARLY")
THIS_AND_FUTURE = "THISANDFUTURE"
_TEXT = All(string, Length(max=2_000))


def day(value: Any) -> date:
    """Accept a date such as 2026-11-30."""
    if isinstance(value, date):
        return value.date() if isinstance(value, datetime) else value
    try:
        return date.fromisoformat(string(value).strip())
    except ValueError:
        raise Invalid(phrase("expected a date such as 2026-11-30, got {value}", value=show(value))) from None


def moment(value: Any) -> datetime:
    """Accept a moment such as 2026-11-30 15:30:00."""
    if isinstance(value, datetime):
        return value
    try:
        return datetime.fromisoformat(string(value).strip())
    except ValueError:
        raise Invalid(phrase("expected a moment such as 2026-11-30 15:30:00, got {value}", value=show(value))) from None


def recurrence(value: Any) -> str:
    """Accept a rule such as FREQ=WEEKLY;BYDAY=MO (RFC 5545), at most once a day."""
    text = str(string(value)).strip().removeprefix("RRULE:")
    parts = dict(each.partition("=")[::2] for each in text.upper().split(";") if each)
    if not _RULE.fullmatch(text) or parts.get("FREQ") not in FREQUENCIES or {"COUNT", "UNTIL"} <= parts.keys():
        what = f"FREQ={'|'.join(FREQUENCIES)};…"
        raise Invalid(phrase("expected {what}, got {value}", what=what, value=show(value)))
    return text


_RULE = re.compile(r"[A-Za-z-]{1,20}=[A-Za-z0-9,+:-]{1,200}(;[A-Za-z-]{1,20}=[A-Za-z0-9,+:-]{1,200}){0,12};?")
RULE = Described(recurrence, {"type": "string"}, "rule")
DAY = Described(day, {"type": "string"}, "date")
MOMENT = Described(moment, {"type": "string"}, "moment")

GET_EVENTS: Mapping[Any, Any] = {
    Optional("start_date_time", description="From when on; now without it."): MOMENT,
    Optional("end_date_time", description="Until when."): MOMENT,
    Optional("duration", description="How long, in place of an end."): duration,
}
_COUNT = All(integer, Range(min=0, max=36_500))
CREATE: Mapping[Any, Any] = {
    Required("summary", description="What it is."): _TEXT,
    Optional("description", default="", description="More about it."): _TEXT,
    Optional("location", description="Where it is."): _TEXT,
    Optional("start_date_time", description="When it begins."): MOMENT,
    Optional("end_date_time", description="When it ends."): MOMENT,
    Optional("start_date", description="The first day of one that takes whole days."): DAY,
    Optional("end_date", description="The day after its last."): DAY,
    Optional("in", description="In how many days or weeks it is, for a whole day."): {
        Optional("days"): _COUNT,
        Optional("weeks"): _COUNT,
    },
    Optional("rrule", description="How it is repeated, such as FREQ=WEEKLY;BYDAY=MO."): RULE,
}
_WHICH: Mapping[Any, Any] = {
    Required("uid", description="The id of the event, as get_events tells it."): All(string, Length(min=1, max=500)),
    Optional("recurrence_id", description="Which of a repeated one; all of them without it."): AnyOf(
        None, All(string, Length(max=40))
    ),
    Optional("recurrence_range", description="Whether those after it too."): AnyOf(None, "", In([THIS_AND_FUTURE])),
}
DELETE: Mapping[Any, Any] = _WHICH
UPDATE: Mapping[Any, Any] = {
    **_WHICH,
    Optional("summary", description="What it is; stays without it, as all others."): _TEXT,
    Optional("description", description="More about it."): _TEXT,
    **{key: check for key, check in CREATE.items() if str(key).startswith(("start_", "end_", "location"))},
    Optional("rrule", description="How it is repeated; empty for not at all."): AnyOf("", RULE),
}


def local(value: datetime, zone: tzinfo | None) -> datetime:
    """Return a moment on the clocks of the home; one without a zone is of the home."""
    return value.replace(tzinfo=zone) if value.tzinfo is None else value.astimezone(zone)


def asked_span(data: Mapping[str, Any], now: datetime) -> tuple[datetime, datetime]:
    """Return the time that `get_events` asks about.

    Args:
        now: On the clocks of the home.

    Raises:
        InvalidRequest: It has no end, or two, or one that is not after its start.
    """
    if ("end_date_time" in data) is ("duration" in data):
        raise InvalidRequest(phrase("expected one of {keys}", keys=["end_date_time", "duration"]))
    since = local(data["start_date_time"], now.tzinfo) if "start_date_time" in data else now
    length = timedelta(seconds=data.get("duration", 0))
    until = since + length if length else local(data.get("end_date_time", since), now.tzinfo)
    if not since < until:
        raise InvalidRequest(phrase("the end is to be after the start"))
    return since, until


def asked_event(data: Mapping[str, Any], now: datetime) -> tuple[str, str]:
    """Return when an event of `create_event` begins and ends, as days or moments in ISO 8601.

    Raises:
        InvalidRequest: It is said twice, or not, or it does not end after its start.
    """
    said = [key for key in ("start_date_time", "start_date", "in") if key in data]
    if len(said) != 1:
        raise InvalidRequest(phrase("expected one of {keys}", keys=["start_date", "start_date_time", "in"]))
    if said == ["in"]:
        if len(data["in"]) != 1:
            raise InvalidRequest(phrase("expected one of {keys}", keys=["days", "weeks"]))
        first = now.date() + timedelta(**data["in"])
        return first.isoformat(), (first + timedelta(days=1)).isoformat()
    kind = said[0].removeprefix("start_")
    if f"end_{kind}" not in data or {"end_date", "end_date_time"} <= data.keys():
        raise InvalidRequest(phrase("expected one of {keys}", keys=[f"end_{kind}"]))
    start, end = data[f"start_{kind}"], data[f"end_{kind}"]
    if kind == "date_time":
        start, end = local(start, now.tzinfo), local(end, now.tzinfo)
    if not start < end:
        raise InvalidRequest(phrase("the end is to be after the start"))
    return start.isoformat(), end.isoformat()
