"""`at`: one instant, as people write it."""

from __future__ import annotations

import re
from datetime import UTC, datetime, time, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from msgspec import Struct

from hub.automation.schedule.daily import Daily, parse_time_of_day
from hub.automation.schedule.wall import fixed_instant
from hub.core.errors import InvalidRequest
from hub.core.lazy_pattern import LazyPattern
from hub.core.schema import Invalid, positive_seconds, show

EXPECTED = (
    'expected a date with a time such as "2026-03-01 07:30" (an offset or a zone may follow), a time of day such as '
    '"18:00" for the next one, or a duration from now such as "20m" or "1h 30m"'
)
SECONDS_FROM = 1_000_000_000
SECONDS_UNTIL = 10_000_000_000
"""Between these (the years 2001 and 2286) a number is clearly seconds since the epoch; milliseconds lie above."""
LATEST = datetime(9000, 1, 1, tzinfo=UTC).timestamp()

_DURATION = LazyPattern(r"(?:in\s+|\+\s*)?((?:\d+(?:\.\d+)?\s*[dhms]\s*)+)", re.IGNORECASE | re.ASCII)
_DATE = LazyPattern(r"\d{4}-?\d{2}-?\d{2}|\d{4}-?W\d{2}(?:-?\d)?", re.IGNORECASE | re.ASCII)
_ZONED = LazyPattern(r"(.*\S)\s++([A-Za-z][\w+-]*+(?:/[\w+-]++)*+)", re.ASCII)
_NUMBER = LazyPattern(r"-?\d+(?:\.\d+)?", re.ASCII)


class At(Struct, frozen=True):
    """Due once, at `when` (seconds since the epoch)."""

    when: float

    def next_after(self, after: float) -> float | None:
        """Return `when` while it lies strictly after `after`, then None."""
        return self.when if self.when > after else None


def parse_at(text: object, base: float, zone: tzinfo) -> float:
    """Read one instant.

    Args:
        text: A date with a time (ISO 8601, `T` or a blank between them; then an offset, `Z`, a blank and the name
            of a zone, or nothing), a time of day (the next one), a duration from now, or seconds since the epoch.
        base: The value of "now", in seconds since the epoch.
        zone: The zone of a text that names none. In a doubled hour the first is used; a missing time
            means the first instant after the gap.

    Returns:
        Seconds since the epoch; it may lie in the past.

    Raises:
        InvalidRequest: It is none of these; the message says what was expected.
    """
    if isinstance(text, datetime):
        return _instant(text, zone, text.isoformat(" "))
    if isinstance(text, int | float) and not isinstance(text, bool):
        return _seconds(float(text))
    if not isinstance(text, str):
        raise _refused(text)
    words = " ".join(text.split())
    if _NUMBER.fullmatch(words) and not _DATE.fullmatch(words):
        return _seconds(float(words))
    if match := _DURATION.fullmatch(words):
        return base + _duration(match[1], text)
    if _DATE.fullmatch(words):
        raise InvalidRequest(f"at: {show(text)} has no time of day; write it after the date, such as {words} 07:30")
    if (clock := _time_of_day(words)) is not None:
        return _next_time(clock, base, zone)
    return _date_time(words, zone, text)


def _seconds(value: float) -> float:
    if SECONDS_FROM <= value < SECONDS_UNTIL:
        return value
    if SECONDS_FROM * 1000 <= value < SECONDS_UNTIL * 1000:
        raise InvalidRequest(
            f"at: {value:.0f} looks like milliseconds since the epoch; give seconds ({value / 1000:.0f}) or a date"
        )
    raise InvalidRequest(f"at: the number {value:g} has no unit; {EXPECTED}")


def _duration(words: str, text: str) -> float:
    try:
        return float(positive_seconds(re.sub(r"\s+(?=[dhms])", "", words.strip().lower())))
    except Invalid as error:
        raise _refused(text) from error


def _time_of_day(words: str) -> time | None:
    try:
        return parse_time_of_day(words)
    except InvalidRequest:
        return None


def _next_time(clock: time, base: float, zone: tzinfo) -> float:
    due = Daily(clock, zone).next_after(base)
    if due is None:
        raise InvalidRequest(f"at: there is no {clock} after the year 9990")
    return due


def _date_time(words: str, zone: tzinfo, text: str) -> float:
    if match := _ZONED.fullmatch(words):
        words, zone = match[1], _zone(match[2], zone, text)
    try:
        return _instant(datetime.fromisoformat(re.sub(r" at (?=\d)", " ", words, flags=re.IGNORECASE)), zone, text)
    except ValueError as error:
        raise _refused(text) from error


def _zone(name: str, zone: tzinfo, text: str) -> tzinfo:
    if name.upper() in ("Z", "UTC"):
        return UTC
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise InvalidRequest(
            f"at: {show(name)} in {show(text)} is not a time zone; expected an IANA name such as Europe/Berlin"
        ) from error


def _instant(moment: datetime, zone: tzinfo, text: str) -> float:
    try:
        found = moment.timestamp() if moment.tzinfo is not None else _local_instant(moment, zone)
    except (OverflowError, ValueError):
        found = LATEST
    if not 0 <= found < LATEST:
        raise InvalidRequest(f"at: {show(text)} is outside the years 1970 to 8999")
    return found


def _local_instant(moment: datetime, zone: tzinfo) -> float:
    whole = fixed_instant(moment.replace(microsecond=0), zone)
    return whole + moment.microsecond / 1_000_000 if _exists(moment, whole, zone) else whole


def _exists(moment: datetime, instant: float, zone: tzinfo) -> bool:
    return datetime.fromtimestamp(instant, zone).replace(tzinfo=None, fold=0) == moment.replace(microsecond=0, fold=0)


def _refused(text: object) -> InvalidRequest:
    return InvalidRequest(f"at: {EXPECTED}, got {show(text)}", details={"field": "at"})
