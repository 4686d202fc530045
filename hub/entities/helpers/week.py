"""`schedule`: on within the hours of a week, off outside them.

Source: the documentation of this integration of Home Assistant, and the answers of its core.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import datetime, time, timedelta
from typing import Any

from hub.core.phrases import phrase
from hub.core.schema import All, Described, Invalid, Length, Optional, Required, show, string
from hub.entities.helpers.contract import Held, HelperHome, HelperKind, HelperService, Settings, unchanged

DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
BLOCKS_LIMIT = 100
_CLOCK = re.compile(r"(\d{1,2}):(\d{2})(?::(\d{2}))?")
_DAY = timedelta(days=1)
_DAY_S = 86_400


def _seconds(value: Any) -> int:
    """Accept `07:30` or `07:30:00`, up to `24:00`; return seconds since midnight."""
    if isinstance(value, time):
        return value.hour * 3600 + value.minute * 60 + value.second
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _DAY_S:
        return value  # as YAML 1.1 reads 7:30:00
    found = _CLOCK.fullmatch(string(value).strip())
    hour, minute, second = (int(part or 0) for part in found.groups()) if found is not None else (25, 0, 0)
    total = hour * 3600 + minute * 60 + second
    if minute > 59 or second > 59 or total > _DAY_S:
        raise Invalid(phrase("expected a time such as 15:30:00, got {value}", value=show(value)))
    return total


def _blocks(settings: Settings, day: datetime) -> Iterator[tuple[datetime, datetime, Mapping[str, Any]]]:
    """Yield the hours of a day: begin, end, and the data that goes with them."""
    midnight = day.replace(hour=0, minute=0, second=0, microsecond=0)
    for block in settings[DAYS[day.weekday()]]:
        yield _at(midnight, block["from"]), _at(midnight, block["to"]), block["data"]


def _at(midnight: datetime, seconds: int) -> datetime:
    day = midnight + _DAY * (seconds // _DAY_S)
    return day.replace(hour=seconds % _DAY_S // 3600, minute=seconds % 3600 // 60, second=seconds % 60)


def _now(settings: Settings, kept: Held | None, home: HelperHome) -> Held:
    now = home.local
    inside = next(
        (data for begin, end, data in _blocks(settings, now) if begin.timestamp() <= home.now < end.timestamp()), None
    )
    ahead = (
        moment
        for days in range(8)
        for begin, end, _ in _blocks(settings, now + days * _DAY)
        for moment in (begin, end)
        if moment.timestamp() > home.now
    )
    following = min(ahead, key=datetime.timestamp, default=None)
    return Held(
        "off" if inside is None else "on",
        {"next_event": following.isoformat() if following is not None else None, **(inside or {})},
        following.timestamp() if following is not None else None,
    )


def _week(settings: Settings, home: HelperHome) -> dict[str, Any]:
    """Return the hours of each day, as they were written."""
    return {
        day: [
            {
                "from": _clock(block["from"]),
                "to": _clock(block["to"]),
                **({"data": block["data"]} if block["data"] else {}),
            }
            for block in settings[day]
        ]
        for day in DAYS
    }


def _clock(seconds: int) -> str:
    if seconds == _DAY_S:
        return "23:59:59.999999"  # as Home Assistant says midnight at the end
    return f"{seconds // 3600:02}:{seconds % 3600 // 60:02}:{seconds % 60:02}"


def _rule(settings: dict[str, Any]) -> dict[str, Any]:
    for day in DAYS:
        settings[day] = sorted(settings[day], key=lambda block: block["from"])
        for index, block in enumerate(settings[day]):
            if block["from"] >= block["to"]:
                raise Invalid(phrase("expected a time after from"), path=[day, index, "to"])
            if index and settings[day][index - 1]["to"] > block["from"]:
                raise Invalid(phrase("these hours and those before them overlap"), path=[day, index, "from"])
    return settings


_TIME = Described(_seconds, {"type": "string"}, "time")
_BLOCK = {
    Required("from", description="When it begins, such as 07:30:00"): _TIME,
    Required("to", description="When it ends; 24:00:00 is midnight"): _TIME,
    Optional("data", default=dict, description="Attributes that it has meanwhile"): {str: object},
}

SCHEDULE = HelperKind(
    "schedule",
    "Hours of the week, by name: on within them, off outside",
    {
        Optional(day, default=list, description=f"The hours of {day.capitalize()}"): All(
            [_BLOCK], Length(max=BLOCKS_LIMIT)
        )
        for day in DAYS
    },
    _now,
    {"get_schedule": HelperService(unchanged, answer=_week)},
    _rule,
    wake=_now,
    is_kept=False,
)
