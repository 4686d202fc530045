"""The weather and the events of days to come: the reply from what the home tells of them.

Pure functions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime, timedelta
from typing import Any

from integrations.models.offline.devices import Device, find, state_words
from integrations.models.offline.entries import lines
from integrations.models.offline.recognizer import ENGLISH
from integrations.models.offline.replies import reply

EVENTS_LIMIT = 15
WEEK = 7
_AFTER = {"day after tomorrow": 2, "大后天": 3, "后天": 2, "tomorrow": 1, "明天": 1, "明日": 1, "明早": 1, "明晚": 1}
"""Of two that are in a text the first is meant."""
_WEEKEND = re.compile(r"weekend|周末")
_THIS_WEEK = re.compile(
    r"next (?:few|couple of) days|(?:this|the) week|these days|这周|这星期|本周|最近几天|这几天", re.I
)
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_HAN_DAYS = re.compile(r"(?:星期|礼拜|周)([一二三四五六日天])")
SATURDAY, SUNDAY = 5, 6


def days_meant(said: str, today: date) -> list[date]:
    """Return the days that words mean, in order: "tomorrow", "Friday", "this weekend"; today if they mean none."""
    text = said.casefold()
    if _WEEKEND.search(text):
        first = today + timedelta(days=max(0, SATURDAY - today.weekday()))
        return [first, first + timedelta(days=1)] if first.weekday() == SATURDAY else [first]
    if _THIS_WEEK.search(text):
        return [today + timedelta(days=each) for each in range(WEEK)]
    named = next((number for number, name in enumerate(_WEEKDAYS) if name in text), None)
    if (han := _HAN_DAYS.search(text)) is not None:
        named = min("一二三四五六日天".index(han[1]), SUNDAY)
    if named is not None:
        return [today + timedelta(days=(named - today.weekday()) % WEEK)]
    return [today + timedelta(days=next((after for words, after in _AFTER.items() if words in text), 0))]


def forecast(devices: Sequence[Device], slots: Mapping[str, str], language: str, now: datetime) -> str | None:
    """Return the weather of the days that are meant; None where the home tells no weather.

    Args:
        devices: The places whose weather is known, with their forecasts.
    """
    place = find(devices, slots["name"]) if devices else None
    if place is None:
        return None
    if place.coming is None:  # a station that tells nothing of tomorrow may tell of now
        return reply("state", language, name=place.name, state=place.now(language))
    days = days_meant(slots["day"], now.date())
    shown = [
        reply(
            "forecast_day", language, day=_day(day, slots["day"], days, language), weather=_said(row, place, language)
        )
        for day in days
        for row in place.coming
        if f"{row.get('datetime', '')}"[:10] == day.isoformat()
    ]
    return "\n".join(shown) or reply("forecast_none", language)


def events(devices: Sequence[Device], slots: Mapping[str, str], language: str, now: datetime) -> str | None:
    """Return what is on the calendars of the days that are meant; None where the home has none.

    Args:
        devices: The calendars, with their events.
    """
    if not devices:
        return None
    if failed := [each.name for each in devices if each.coming is None]:
        return reply("calendar_failed", language, names=", ".join(failed))
    days = days_meant(slots["day"], now.date())
    first, last = days[0].isoformat(), days[-1].isoformat()
    rows = (row for each in devices for row in each.coming or () if _touches(row, first, last))
    found = sorted(rows, key=lambda row: f"{row.get('start', '')}")
    day = _day(days[0], slots["day"], days[:1], language)
    if not found:
        return reply("calendar_day_empty", language, day=day)
    told = [_event(row, language, with_day=len(days) > 1) for row in found[:EVENTS_LIMIT]]
    if left := len(found[EVENTS_LIMIT:]):
        told.append(reply("and_more", language, count=str(left)))
    return reply("calendar_day", language, day=day, lines=lines(told))


def _touches(row: Mapping[str, Any], first: str, last: str) -> bool:
    """Whether an event is on one of these days; the end of a whole day is the next one."""
    start, end = f"{row.get('start', '')}", f"{row.get('end', '')}"
    is_over = end <= first if len(end) == len(first) else end[:10] < first
    return start[:10] <= last and (not is_over or start[:10] >= first)


def _day(day: date, said: str, days: Sequence[date], language: str) -> str:
    """Return a day as it was said, or by its date where several are meant."""
    if len(days) > 1:
        return _short(day, language)
    return said[:1].upper() + said[1:]


def _short(day: date, language: str) -> str:
    if language == ENGLISH:
        return _WEEKDAYS[day.weekday()].capitalize()
    return f"星期{'一二三四五六日'[day.weekday()]}"


def _said(row: Mapping[str, Any], place: Device, language: str) -> str:
    return (", " if language == ENGLISH else "，").join(_parts(row, place.attributes, language))


def _parts(row: Mapping[str, Any], units: Mapping[str, Any], language: str) -> Iterator[str]:
    yield state_words(f"{row.get('condition') or 'unknown'}", language)
    high, low = row.get("temperature"), row.get("templow")
    unit = f"{units.get('temperature_unit', '°')}"
    if high is not None and low is not None:
        yield reply("forecast_heat", language, low=f"{low:g}", high=f"{high:g}", unit=unit)
    elif high is not None:
        yield f"{high:g} {unit}"
    if amount := row.get("precipitation"):
        yield reply("forecast_rain", language, amount=f"{amount:g} {units.get('precipitation_unit', 'mm')}")
    if percent := row.get("precipitation_probability"):
        yield reply("forecast_chance", language, percent=f"{percent:g}")


def _event(row: Mapping[str, Any], language: str, *, with_day: bool) -> str:
    start = f"{row.get('start', '')}"
    clock = start[11:16] or reply("all_day", language)
    try:
        day = f"{_short(date.fromisoformat(start[:10]), language)} " if with_day else ""
    except ValueError:
        day = ""
    where = f" ({row['location']})" if row.get("location") else ""
    return f"{day}{clock} {row.get('summary', '')}{where}"
