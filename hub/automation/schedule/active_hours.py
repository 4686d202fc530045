"""Active hours: the part of the day, on some days, in which something may happen."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime, time, timedelta, tzinfo

from msgspec import Struct

from hub.automation.schedule.daily import EVERY_DAY, parse_time_of_day, parse_weekdays
from hub.automation.schedule.wall import fixed_instant, local
from hub.core.errors import InvalidRequest

MIDNIGHT = time(0)

_DAY = timedelta(days=1)
_DAYS_AHEAD = 15
"""A week without a window (summer time swallowed the only one) is followed by one that has it."""


class ActiveHours(Struct, frozen=True):
    """A window from `start` to `end` on each of some weekdays; an end at or before the start is on the next day.

    Start and end are fixed wall times: the first of a doubled hour, the first valid instant after a missing one. A
    window belongs to the day on which it opens.

    Args:
        start: When it opens.
        end: When it closes; that second is outside already. 00:00 is the end of the day.
        zone: The time zone.
        weekdays: 0 (Monday) to 6 (Sunday), at least one.

    Raises:
        InvalidRequest: No weekday is given, or start and end are the same and not both 00:00 (the whole day).
    """

    start: time
    end: time
    zone: tzinfo
    weekdays: frozenset[int] = EVERY_DAY

    def __post_init__(self) -> None:
        if self.start == self.end != MIDNIGHT:
            raise InvalidRequest(
                f"active_hours: start and end are both {self.start:%H:%M}; for the whole day write 00:00 to 24:00"
            )
        if not self.weekdays or not self.weekdays <= EVERY_DAY:
            raise InvalidRequest("active_hours: expected at least one weekday")

    def contains(self, instant: float) -> bool:
        """Return whether `instant` (seconds since the epoch) is in a window."""
        return self.next_open(instant) == instant

    def next_open(self, instant: float) -> float:
        """Return `instant` itself when it is in a window, else when the next one opens (seconds since the epoch)."""
        for opens, closes in self._windows(local(instant, self.zone).date()):
            if instant < closes and opens < closes:
                return max(opens, instant)
        raise InvalidRequest(f"active_hours: no window opens within {_DAYS_AHEAD} days")

    def _windows(self, today: date) -> Iterator[tuple[float, float]]:
        """The windows that open yesterday and later, as instants, in order."""
        for ahead in range(-1, _DAYS_AHEAD):
            day = today + ahead * _DAY
            if day.weekday() in self.weekdays:
                last_day = day if self.start < self.end else day + _DAY
                yield self._at(day, self.start), self._at(last_day, self.end)

    def _at(self, day: date, clock: time) -> float:
        return fixed_instant(datetime.combine(day, clock), self.zone)


def parse_active_hours(start: object, end: object, zone: tzinfo, weekdays: object = None) -> ActiveHours:
    """Read a window: `HH:MM` twice (`24:00` is an end), and weekdays `mon` to `sun` or None for every day.

    Raises:
        InvalidRequest: One of them is something else.
    """
    closes = MIDNIGHT if isinstance(end, str) and end.strip() in ("24:00", "24:00:00") else parse_time_of_day(end)
    return ActiveHours(parse_time_of_day(start), closes, zone, parse_weekdays(weekdays))
