"""Changes to events that are there (RFC 5545): a whole series, one of its events, or one and all after it.

Pure functions; they are run in the process for content from outside, since calendars are read for them.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any

from msgspec import Struct, convert

from hub.core.errors import InvalidRequest, NotFound
from hub.core.phrases import phrase
from integrations.tools.calendar.events import moment_in

OCCURRENCES_LIMIT = 10_000
_OF_SERIES = ("RRULE", "RDATE", "EXDATE", "RECURRENCE-ID")
_TEXTS = {"summary": "SUMMARY", "location": "LOCATION", "description": "DESCRIPTION"}


class EventChange(Struct, frozen=True):
    """What an event becomes; None leaves what was there.

    Attributes:
        start, end: Days, or moments, in ISO 8601; both or none.
        rrule: How it is repeated; an empty text for not at all.
    """

    start: str | None = None
    end: str | None = None
    summary: str | None = None
    location: str | None = None
    description: str | None = None
    rrule: str | None = None


class Which(Struct, frozen=True):
    """Which events of a calendar are changed.

    Attributes:
        recurrence_id: One of a series; all of them without it.
        future: Whether those after it too.
    """

    uid: str
    recurrence_id: str = ""
    future: bool = False


class Stamp(Struct, frozen=True):
    """When and where a change is made.

    Attributes:
        at: Now, in ISO 8601.
        zone: The home's time zone.
        new_uid: The id of a series that begins.
    """

    at: str
    zone: str
    new_uid: str


def edited(source: str, which: Any, change: Any, stamp: Any) -> str:
    """Return a calendar in which an event is changed, or is no more; empty when none is left.

    Args:
        which, change, stamp: The structs of this module, or their fields; no change for what is removed.

    Raises:
        NotFound, InvalidRequest: As `changed`.
    """
    found = convert(which, Which, from_attributes=True)
    if change is None:
        return removed(source, found)
    made = convert(change, EventChange, from_attributes=True)
    return changed(source, found, made, convert(stamp, Stamp, from_attributes=True))


def changed(source: str, which: Which, change: EventChange, stamp: Stamp) -> str:
    """Return a calendar in which an event is changed.

    Raises:
        NotFound: There is no such event.
        InvalidRequest: It is not one of a series, or cannot become so.
    """
    calendar, own = _found(source, which)
    master = _master(own)
    at = _occurrence(master, which)
    if at is None or (which.future and at == master["DTSTART"].dt):
        _apply(master, change, stamp)
    elif which.future:
        rule = _rest_of(master, at)
        made = _copy(master, stamp.new_uid)
        _retime(made, at)
        made.add("RRULE", rule)
        _end_before(calendar, own, master, at)
        _apply(made, change, stamp)
        calendar.add_component(made)
    else:
        single = next((each for each in own if _is_at(each, at)), None)
        if single is None:
            single = _copy(master, which.uid)
            _retime(single, at)
            single.add("RECURRENCE-ID", at)
            calendar.add_component(single)
        _apply(single, change, stamp)
        single.pop("RRULE", None)
    return _written(calendar)


def removed(source: str, which: Which) -> str:
    """Return a calendar without an event; empty when none is left. Raises as `changed`."""
    calendar, own = _found(source, which)
    master = _master(own)
    at = _occurrence(master, which)
    if at is None or (which.future and at == master["DTSTART"].dt):
        calendar.subcomponents = [each for each in calendar.subcomponents if each not in own]
    elif which.future:
        _end_before(calendar, own, master, at)
    else:
        calendar.subcomponents = [each for each in calendar.subcomponents if not (each in own and _is_at(each, at))]
        master.add("EXDATE", at)
    return _written(calendar) if calendar.walk("VEVENT") else ""


def _found(source: str, which: Which) -> tuple[Any, list[Any]]:
    import icalendar

    calendar = icalendar.Calendar.from_ical(source)
    own = [each for each in calendar.walk("VEVENT") if str(each.get("UID", "")) == which.uid]
    if not own:
        raise NotFound(phrase("there is no event {uid} in this calendar", uid=which.uid))
    return calendar, own


def _master(own: list[Any]) -> Any:
    return next((each for each in own if "RECURRENCE-ID" not in each), own[0])


def _occurrence(master: Any, which: Which) -> date | datetime | None:
    """Return the moment that a recurrence id names, as the series has it; None for the whole of it."""
    if not which.recurrence_id:
        return None
    if "RRULE" not in master:
        raise InvalidRequest(phrase("this event is not repeated; leave {key} out", key="recurrence_id"))
    start, text = master["DTSTART"].dt, which.recurrence_id
    try:
        if not isinstance(start, datetime):
            return datetime.strptime(text[:8], "%Y%m%d").date()  # noqa: DTZ007  a day
        naive = datetime.strptime(text.removesuffix("Z"), "%Y%m%dT%H%M%S")  # noqa: DTZ007  its zone is that of the series
    except ValueError:
        raise InvalidRequest(
            phrase("expected {what}, got {value}", what="a recurrence_id such as 20261130T180000", value=text)
        ) from None
    return (
        naive.replace(tzinfo=UTC).astimezone(start.tzinfo) if text.endswith("Z") else naive.replace(tzinfo=start.tzinfo)
    )


def _is_at(event: Any, at: date | datetime) -> bool:
    return "RECURRENCE-ID" in event and _same(event["RECURRENCE-ID"].dt, at)


def _same(one: date | datetime, other: date | datetime) -> bool:
    return isinstance(one, datetime) is isinstance(other, datetime) and one == other


def _copy(master: Any, uid: str) -> Any:
    """Return a copy of an event, as one that is not repeated."""
    made = type(master).from_ical(master.to_ical())
    for name in (*_OF_SERIES, "UID"):
        made.pop(name, None)
    made.add("UID", uid)
    return made


def _retime(event: Any, at: date | datetime) -> None:
    """Move an event to a moment; it stays as long as it was."""
    start = event.pop("DTSTART").dt
    event.add("DTSTART", at)
    if "DTEND" in event:
        length = event.pop("DTEND").dt - start
        event.add("DTEND", at + length)


def _rest_of(master: Any, at: date | datetime) -> Any:
    """Return the rule for what comes from a moment on: of a counted one, as many as are left."""
    rule = type(master["RRULE"]).from_ical(master["RRULE"].to_ical().decode())
    if "COUNT" in rule:
        rule["COUNT"] = [max(1, rule["COUNT"][0] - _before(master, at))]
    return rule


def _before(master: Any, at: date | datetime) -> int:
    """Return how many events of a series are before a moment."""
    from dateutil.rrule import rrulestr  # type: ignore[import-untyped]

    start = master["DTSTART"].dt
    first, until = (
        each.replace(tzinfo=None) if isinstance(each, datetime) else datetime.combine(each, datetime.min.time())
        for each in (start, at)
    )
    count = 0
    for when in rrulestr(master["RRULE"].to_ical().decode(), dtstart=first):
        if when >= until or count >= OCCURRENCES_LIMIT:
            break
        count += 1
    return count


def _end_before(calendar: Any, own: list[Any], master: Any, at: date | datetime) -> None:
    """End a series before a moment."""
    rule = master["RRULE"]
    rule.pop("COUNT", None)
    last = at - timedelta(seconds=1) if isinstance(at, datetime) else at - timedelta(days=1)
    rule["UNTIL"] = [last.astimezone(UTC) if isinstance(last, datetime) and last.tzinfo is not None else last]
    later = [each for each in own if "RECURRENCE-ID" in each and each["RECURRENCE-ID"].dt >= at]
    calendar.subcomponents = [each for each in calendar.subcomponents if each not in later]


def _apply(event: Any, change: EventChange, stamp: Stamp) -> None:
    import icalendar

    for key, name in _TEXTS.items():
        if (text := getattr(change, key)) is not None:
            event.pop(name, None)
            if text:
                event.add(name, text)
    if change.start is not None and change.end is not None:
        for name in ("DTSTART", "DTEND", "DURATION"):
            event.pop(name, None)
        event.add("DTSTART", moment_in(change.start, stamp.zone))
        event.add("DTEND", moment_in(change.end, stamp.zone))
    if change.rrule is not None:
        event.pop("RRULE", None)
        if change.rrule:
            event.add("RRULE", icalendar.vRecur.from_ical(change.rrule))
    now = datetime.fromisoformat(stamp.at)
    sequence = int(event.pop("SEQUENCE", 0)) + 1
    for name in ("DTSTAMP", "LAST-MODIFIED"):
        event.pop(name, None)
        event.add(name, now)
    event.add("SEQUENCE", sequence)


def _written(calendar: Any) -> str:
    calendar.add_missing_timezones()
    return bytes(calendar.to_ical()).decode()
