"""Changes to events that are there (RFC 5545): a whole series, one of its events, or one and all after it.

Pure functions; they are run in the process for content from outside, since calendars are read for them.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, tzinfo
from typing import Any

from msgspec import Struct, convert, structs

from hub.core.errors import InvalidRequest, NotFound
from hub.core.phrases import phrase
from integrations.tools.calendar.events import moment_in

OCCURRENCES_LIMIT = 10_000
_OF_SERIES = ("RRULE", "RDATE", "EXDATE", "RECURRENCE-ID")
_MOMENTS = ("EXDATE", "RDATE")
_DAYS = frozenset({"BYDAY", "BYMONTHDAY", "BYYEARDAY", "BYWEEKNO"})
"""Of a rule, what names the days by itself, whichever day the series begins on."""
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


def edited_apart(source: str, which: Any, change: Any, stamp: Any) -> list[str]:
    """Do as `edited`; return the calendar, and one of the series that began, if any: a server keeps each in a file.

    The source of that rule is RFC 4791, section 4.1.
    """
    import icalendar

    text, uid = edited(source, which, change, stamp), convert(stamp, Stamp, from_attributes=True).new_uid
    if uid not in text:
        return [text, ""]
    kept, begun = (icalendar.Calendar.from_ical(text) for _ in range(2))
    kept.subcomponents = [each for each in kept.subcomponents if not _is_of(each, uid)]
    begun.subcomponents = [each for each in begun.subcomponents if each.name != "VEVENT" or _is_of(each, uid)]
    return [_written(kept), _written(begun)]


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
        singles = [each for each in own if each is not master]
        _apply_to_series(master, singles, change, stamp)
        if "RRULE" not in master:
            calendar.subcomponents = [each for each in calendar.subcomponents if each not in singles]
    elif which.future:
        rule = _rest_of(master, at)
        made = _copy(master, stamp.new_uid)
        _retime(made, at)
        made.add("RRULE", rule)
        singles, moments = _end_before(calendar, own, master, at)
        for name, moment in moments:
            made.add(name, moment)
        if (first := next((each for each in singles if _is_at(each, at)), None)) is not None:
            if change.start is not None:
                singles.remove(first)
            _apply(first, structs.replace(change, rrule=None), stamp)
        _apply_to_series(made, singles, change, stamp)
        calendar.add_component(made)
        for each in singles if "RRULE" in made else ():
            each.pop("UID")
            each.add("UID", stamp.new_uid)
            calendar.add_component(each)
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
    own = [each for each in calendar.walk("VEVENT") if _is_of(each, which.uid)]
    if not own:
        raise NotFound(phrase("there is no event {uid} in this calendar", uid=which.uid))
    return calendar, own


def _is_of(component: Any, uid: str) -> bool:
    return component.name == "VEVENT" and str(component.get("UID", "")) == uid


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


def _end_before(
    calendar: Any, own: list[Any], master: Any, at: date | datetime
) -> tuple[list[Any], list[tuple[str, Any]]]:
    """End a series before a moment; return what it had from there on: its single events, and its moments by name."""
    zone = _zone_of(master["DTSTART"].dt)
    rule = master["RRULE"]
    rule.pop("COUNT", None)
    last = at - timedelta(seconds=1) if isinstance(at, datetime) else at - timedelta(days=1)
    rule["UNTIL"] = [last.astimezone(UTC) if isinstance(last, datetime) and last.tzinfo is not None else last]
    moments = []
    for name in _MOMENTS:
        for moment in _taken(master, name):
            if _is_from(moment, at, zone):
                moments.append((name, moment))
            else:
                master.add(name, moment)
    singles = [each for each in own if "RECURRENCE-ID" in each and _is_from(each["RECURRENCE-ID"].dt, at, zone)]
    calendar.subcomponents = [each for each in calendar.subcomponents if each not in singles]
    return singles, moments


def _taken(event: Any, name: str) -> list[Any]:
    """Take the moments of a name out of an event, however many lines they are on."""
    lines = event.pop(name, [])
    return [each.dt for line in (lines if isinstance(lines, list) else [lines]) for each in line.dts]


def _is_from(moment: Any, at: date | datetime, zone: tzinfo | None) -> bool:
    """Return whether a moment, or a period, is at another or after it."""
    start = moment[0] if isinstance(moment, tuple) else moment
    if not isinstance(start, datetime):
        return bool(start >= _on_clock(at, zone).date())
    return _on_clock(start, zone) >= _on_clock(at, zone)


def _zone_of(start: date | datetime) -> tzinfo | None:
    return start.tzinfo if isinstance(start, datetime) else None


def _on_clock(at: date | datetime, zone: tzinfo | None) -> datetime:
    """Return what calendar and clock show in a zone; midnight of a day."""
    if not isinstance(at, datetime):
        return datetime.combine(at, datetime.min.time())
    return (at.astimezone(zone) if zone is not None and at.tzinfo is not None else at).replace(tzinfo=None)


def _mover(before: date | datetime, after: date | datetime, *, days: bool) -> Callable[[Any], Any]:
    """Return what moves a moment of a series as far as its start, on its clocks: they may change in between.

    Args:
        before, after: The start as it was and as it is.
        days: Whether the days move too, not only the time of day.
    """
    zone = _zone_of(before)
    start, target = _on_clock(before, zone), _on_clock(after, _zone_of(after))
    if not days:
        target = datetime.combine(start.date(), target.time())

    def moved(at: Any) -> Any:
        if isinstance(at, tuple):
            return moved(at[0]), at[1] if isinstance(at[1], timedelta) else moved(at[1])
        if isinstance(before, datetime) and not isinstance(at, datetime):
            return at + (target.date() - start.date())
        fresh = target + (_on_clock(at, zone) - start)
        return fresh.replace(tzinfo=after.tzinfo) if isinstance(after, datetime) else fresh.date()

    return moved


def _apply_to_series(master: Any, singles: list[Any], change: EventChange, stamp: Stamp) -> None:
    """Change a series: what is deleted stays so, and single events stay in place of the same ones."""
    before, rule = master["DTSTART"].dt, master["RRULE"].to_ical() if "RRULE" in master else b""
    _apply(master, change, stamp)
    after = master["DTSTART"].dt
    if "RRULE" not in master:
        for name in _MOMENTS:
            master.pop(name, None)
        return
    fresh = master["RRULE"]
    as_before = fresh.to_ical() == rule
    moved = _mover(before, after, days=not (as_before and _DAYS & set(fresh)))
    if change.start is None:
        return
    for name in _MOMENTS:
        for moment in _taken(master, name):
            master.add(name, moved(moment))
    if as_before and "UNTIL" in fresh:
        until = moved(fresh["UNTIL"][0])
        fresh["UNTIL"] = [until.astimezone(UTC) if isinstance(until, datetime) and until.tzinfo is not None else until]
    for each in singles:
        at = each.pop("RECURRENCE-ID").dt
        each.add("RECURRENCE-ID", moved(at))
        if not _same(each["DTSTART"].dt, at):
            continue  # somebody put it elsewhere
        _retime(each, moved(at))
        if isinstance(before, datetime) is not isinstance(after, datetime):
            for name in ("DTEND", "DURATION"):
                each.pop(name, None)
            each.add("DTEND", moved(at) + (master["DTEND"].dt - after))


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
