"""`time_pattern`: whenever the clock shows matching hours, minutes and seconds, as in Home Assistant."""

from __future__ import annotations

from datetime import date, tzinfo

from msgspec import Struct

from hub.automation.schedule.wall import WallPattern, next_following
from hub.core.errors import InvalidRequest
from hub.core.schema import show

MAX_HOUR = 23
MAX_MINUTE = 59


class TimePattern(Struct, frozen=True):
    """Due whenever the clock of `zone` shows a matching time; through daylight saving, it follows elapsed time.

    Made by `parse_time_pattern`.

    Args:
        pattern: Sorted hours, minutes and seconds, on every day.
        zone: The time zone.
    """

    pattern: WallPattern
    zone: tzinfo

    def next_after(self, after: float) -> float | None:
        """Return the first due time strictly after `after`."""
        return next_following(self.zone, after, self.pattern.first_from)


def parse_time_pattern(
    zone: tzinfo, *, hours: object = None, minutes: object = None, seconds: object = None
) -> TimePattern:
    """Read the three keys of a `time_pattern` trigger.

    Each is a number, a list of numbers, `*` for any, or `/n` for those that n divides. A larger unit that is left out
    means any, a smaller one 0.

    Raises:
        InvalidRequest: All three are left out, or one is none of these; the message names it.
    """
    if hours is None and minutes is None and seconds is None:
        raise InvalidRequest("time_pattern: expected at least one of hours, minutes and seconds")
    if minutes is None:
        minutes = "*" if hours is None else 0
    if seconds is None:
        seconds = 0
    pattern = WallPattern(
        _matching("hours", "*" if hours is None else hours, MAX_HOUR),
        _matching("minutes", minutes, MAX_MINUTE),
        _matching("seconds", seconds, MAX_MINUTE),
        _every_day,
    )
    return TimePattern(pattern, zone)


def _every_day(day: date) -> date:
    return day


def _matching(name: str, value: object, maximum: int) -> tuple[int, ...]:
    if isinstance(value, list | tuple) and value:
        return tuple(sorted({_number(name, each, maximum, value) for each in value}))
    text = value.strip() if isinstance(value, str) else ""
    if text == "*":
        return tuple(range(maximum + 1))
    if text.startswith("/"):
        step = _number(name, text[1:], maximum, value)
        if step == 0:
            raise _refused(name, value, maximum)
        return tuple(range(0, maximum + 1, step))
    return (_number(name, value, maximum, value),)


def _number(name: str, value: object, maximum: int, whole: object) -> int:
    if isinstance(value, str) and value.strip().isascii() and value.strip().isdigit():
        value = int(value[:8])
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= maximum:
        raise _refused(name, whole, maximum)
    return value


def _refused(name: str, value: object, maximum: int) -> InvalidRequest:
    return InvalidRequest(
        f'time_pattern: {name}: expected 0 to {maximum}, "*", "/5" or a list of numbers, got {show(value)}',
        details={"field": name},
    )
