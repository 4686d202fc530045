"""Events as calendars write them (RFC 5545): those of a time range are read, with repetitions; a new one is written.

Reading is done in the process for content from outside: a repetition can be made to take long.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date, datetime, timedelta, tzinfo
from typing import Any
from zoneinfo import ZoneInfo

from msgspec import Struct

from hub.core.errors import InvalidRequest

EVENTS_LIMIT = 2_000
"""Of one calendar in one range; more are refused, rather than some left out."""
TEXT_CHARS = 500


class CalendarEvent(Struct, frozen=True):
    """An event; `start` and `end` are moments in the home's time zone, or days, in ISO 8601.

    Attributes:
        recurrence_id: Distinguishes it from the other occurrences of a repeated one.
        rrule: How it is repeated.
    """

    start: str
    end: str
    title: str
    location: str = ""
    description: str = ""
    uid: str = ""
    recurrence_id: str = ""
    rrule: str = ""

    def times(self, zone: tzinfo) -> tuple[float, float]:
        """Return when it begins and ends, in seconds since the epoch; days begin at midnight at home."""
        found = (datetime.fromisoformat(each) for each in (self.start, self.end))
        start, end = (each.replace(tzinfo=zone) if each.tzinfo is None else each for each in found)
        return start.timestamp(), end.timestamp()


def read_events(
    body: bytes, since: str, until: str, zone: str, first: int | None = None, search: str = ""
) -> list[CalendarEvent]:
    """Return the events of a range, in their order, from an ICS file or a CalDAV answer.

    Args:
        since, until: In ISO 8601.
        zone: The home's time zone, also for events without one.
        first: How many are wanted; all without it.
        search: A regular expression that the title, place or description of an event begins with.

    Raises:
        InvalidRequest: There are too many.
    """
    import icalendar
    import recurring_ical_events  # type: ignore[import-untyped]

    found: list[CalendarEvent] = []
    for source in _sources(body):
        for calendar in icalendar.Calendar.from_ical(source, multiple=True):
            query = recurring_ical_events.of(calendar, keep_recurrence_attributes=True, skip_bad_series=True)
            series: list[Any] = calendar.walk("VEVENT")
            rules = {
                str(each.get("UID", "")): each["RRULE"].to_ical().decode()
                for each in series
                if "RRULE" in each and "RECURRENCE-ID" not in each
            }
            between = query.between(datetime.fromisoformat(since), datetime.fromisoformat(until))
            found += [_event(each, ZoneInfo(zone), rules) for each in between]
    begins = re.compile(search)
    found = [each for each in found if any(map(begins.match, (each.title, each.location, each.description)))]
    if first is None and len(found) > EVENTS_LIMIT:
        raise InvalidRequest(f"it has more than {EVENTS_LIMIT} events in that time; ask for a shorter one")
    return sorted(found, key=lambda each: (each.start, each.title))[:first]


def _sources(body: bytes) -> list[bytes | str]:
    """Return the calendars in an answer: an ICS file is one, a multistatus (RFC 4791) has one for each event."""
    if not body.lstrip(b"\xef\xbb\xbf \r\n").startswith(b"<"):
        return [body]
    from xml.etree import ElementTree as ET

    root = ET.fromstring(body)  # noqa: S314
    return [each.text for each in root.iter("{urn:ietf:params:xml:ns:caldav}calendar-data") if each.text]


def _event(source: Any, zone: ZoneInfo, rules: Mapping[str, str]) -> CalendarEvent:
    start = source["DTSTART"].dt
    end = source["DTEND"].dt if "DTEND" in source else start + source.get("DURATION", _Instant()).dt
    if not isinstance(start, datetime) and not start < end:
        end = start + timedelta(days=1)
    title, where, more, uid = (
        str(source.get(name, ""))[:TEXT_CHARS] for name in ("SUMMARY", "LOCATION", "DESCRIPTION", "UID")
    )
    rule = rules.get(uid, "")
    at = source["RECURRENCE-ID"].to_ical().decode() if rule and "RECURRENCE-ID" in source else ""
    return CalendarEvent(_shown(start, zone), _shown(end, zone), title, where, more, uid, at, rule)


class _Instant:
    dt = timedelta()


def _shown(when: date | datetime, zone: ZoneInfo) -> str:
    if not isinstance(when, datetime):
        return when.isoformat()
    moment = when.replace(tzinfo=zone) if when.tzinfo is None else when.astimezone(zone)
    return moment.isoformat(timespec="seconds")


def by_minutes(when: str) -> str:
    """Return a moment without its seconds; a day as it is."""
    return when if is_day(when) else datetime.fromisoformat(when).isoformat(timespec="minutes")


def is_day(text: str) -> bool:
    """Whether a text in ISO 8601 is a day, without a time."""
    return len(text) == len("2026-01-01")


def new_event(uid: str, event: CalendarEvent, now: datetime, zone: str = "UTC") -> bytes:
    """Return a calendar with one new event."""
    return with_event(b"", uid, event, now, zone)


def with_event(body: bytes, uid: str, event: CalendarEvent, now: datetime, zone: str = "UTC") -> bytes:
    """Return a calendar with a further event; one that is empty is begun.

    Args:
        zone: On whose clocks a repeated one stays at its time, in summer and winter.

    Raises:
        ValueError: It is not a calendar.
    """
    return _with_event(body, uid, event, now, zone)


def _with_event(body: bytes, uid: str, event: CalendarEvent, now: datetime, zone: str) -> bytes:
    import icalendar

    made = icalendar.Event()
    made.add("UID", uid)
    made.add("DTSTAMP", now)
    made.add("DTSTART", moment_in(event.start, zone if event.rrule else "UTC"))
    made.add("DTEND", moment_in(event.end, zone if event.rrule else "UTC"))
    if event.rrule:
        made.add("RRULE", icalendar.vRecur.from_ical(event.rrule))
    texts = {"SUMMARY": event.title, "LOCATION": event.location, "DESCRIPTION": event.description}
    for name, text in texts.items():
        if text:
            made.add(name, text)
    if body.strip():
        calendar = icalendar.Calendar.from_ical(body)
    else:
        calendar = icalendar.Calendar()
        calendar.add("PRODID", "-//Homarus//EN")
        calendar.add("VERSION", "2.0")
    calendar.add_component(made)
    if event.rrule:
        calendar.add_missing_timezones()
    return bytes(calendar.to_ical())


def moment_in(text: str, zone: str) -> date | datetime:
    """Return a day, or a moment on the clocks of a zone."""
    return date.fromisoformat(text) if is_day(text) else datetime.fromisoformat(text).astimezone(ZoneInfo(zone))
