"""Converts wall-clock times of a zone to instants, through both daylight-saving changes.

A *wall time* is a naive `datetime` of whole seconds, as a clock on a wall of that zone shows it. Twice a year that
clock lies: an hour is missing, another comes twice. Every schedule that speaks of wall times is one of two:

- *fixed* ("at half past two"): in the doubled hour it is due once, at the first; a missing time is due at the first
  instant after the gap, and several in one gap are due once, together;
- *following* ("every five minutes"): due whenever the clock shows a matching time, so it keeps real time: in both
  of the doubled hours, and not at all in a missing one.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta, tzinfo

from msgspec import Struct

FirstFrom = Callable[[datetime], datetime | None]
"""The first matching wall time at or after one; None when there is none."""

NextDay = Callable[[date], date | None]
"""The first matching day at or after one; None when there is none."""

_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001  (a wall time has no zone)
_SECOND = timedelta(seconds=1)
_DAY = timedelta(days=1)
_EARLIEST = datetime(1901, 1, 1, tzinfo=UTC).timestamp()
_LATEST = datetime(9990, 1, 1, tzinfo=UTC).timestamp()


class WallPattern(Struct, frozen=True):
    """Which wall times match: a set of days, and the sorted hours, minutes and seconds on each of them."""

    hours: tuple[int, ...]
    minutes: tuple[int, ...]
    seconds: tuple[int, ...]
    next_day: NextDay

    def first_from(self, wall: datetime) -> datetime | None:
        """Return the first matching wall time at or after `wall`, or None."""
        today = wall.date()
        day = self.next_day(today)
        if day == today:
            if (found := self._time_from(wall.hour, wall.minute, wall.second)) is not None:
                return datetime.combine(today, found)
            day = self.next_day(today + _DAY)
        if day is None:
            return None
        return datetime.combine(day, time(self.hours[0], self.minutes[0], self.seconds[0]))

    def _time_from(self, hour: int, minute: int, second: int) -> time | None:
        at_hour = bisect_left(self.hours, hour)
        if at_hour == len(self.hours):
            return None
        if self.hours[at_hour] > hour:
            return time(self.hours[at_hour], self.minutes[0], self.seconds[0])
        at_minute = bisect_left(self.minutes, minute)
        if at_minute < len(self.minutes) and self.minutes[at_minute] == minute:
            at_second = bisect_left(self.seconds, second)
            if at_second < len(self.seconds):
                return time(hour, minute, self.seconds[at_second])
            at_minute += 1
        if at_minute < len(self.minutes):
            return time(hour, self.minutes[at_minute], self.seconds[0])
        if at_hour + 1 < len(self.hours):
            return time(self.hours[at_hour + 1], self.minutes[0], self.seconds[0])
        return None


def next_fixed(zone: tzinfo, after: float, first_from: FirstFrom) -> float | None:
    """Return the first instant strictly after `after` at which a *fixed* wall time is due, or None."""
    if after > _LATEST:
        return None
    wall: datetime | None = local(max(after, _EARLIEST), zone).replace(tzinfo=None, microsecond=0, fold=0)
    while wall is not None and (wall := first_from(wall)) is not None:
        instant = fixed_instant(wall, zone)
        if instant > after:
            return instant
        wall += _SECOND
    return None


def next_following(zone: tzinfo, after: float, first_from: FirstFrom) -> float | None:
    """Return the first instant strictly after `after` at which the clock shows a matching wall time, or None."""
    if after > _LATEST:
        return None
    here = local(max(after, _EARLIEST), zone)
    wall: datetime | None = here.replace(tzinfo=None, microsecond=0, fold=0)
    first, second = _offsets(here.replace(microsecond=0, fold=0), zone)
    repeats_from = repeats_to = None
    if first > second and here.fold == 0:
        turn = _transition(after, after + (first - second), zone)
        repeats_from, repeats_to = _wall(turn, second), _wall(turn, first)
    while wall is not None and (wall := first_from(wall)) is not None:
        if repeats_from is not None and repeats_to is not None and wall >= repeats_to:
            again = first_from(repeats_from)
            if again is not None and again < repeats_to:
                return _instant(again, second)
            repeats_from = None
        shown = _shown_at(wall, zone)
        for instant in shown if repeats_from is None else shown[:1]:
            if instant > after:
                return instant
        wall += _SECOND
    return None


def fixed_instant(wall: datetime, zone: tzinfo) -> float:
    """Return when `wall` is due as a fixed time: at the first of two such times, or right after a gap."""
    first, second = _offsets(wall, zone)
    if first < second:
        return _transition(_instant(wall, second), _instant(wall, first), zone)
    return _instant(wall, first)


def local(instant: float, zone: tzinfo) -> datetime:
    """Return what the clock of `zone` shows at `instant`; `fold` is 1 in the second of a doubled hour."""
    return datetime.fromtimestamp(instant, zone)


def _shown_at(wall: datetime, zone: tzinfo) -> tuple[float, ...]:
    """The instants at which the clock of `zone` shows `wall`: none, one or two, in order."""
    first, second = _offsets(wall, zone)
    if first == second:
        return (_instant(wall, first),)
    if first < second:
        return ()
    return (_instant(wall, first), _instant(wall, second))


def _offsets(wall: datetime, zone: tzinfo) -> tuple[float, float]:
    """The two readings of a wall time: seconds east of Greenwich before and after a change that may concern it."""
    return (
        (zone.utcoffset(wall) or timedelta()).total_seconds(),
        (zone.utcoffset(wall.replace(fold=1)) or timedelta()).total_seconds(),
    )


def _instant(wall: datetime, offset_s: float) -> float:
    return (wall - _EPOCH).total_seconds() - offset_s


def _wall(instant: float, offset_s: float) -> datetime:
    return _EPOCH + timedelta(seconds=instant + offset_s)


def _transition(before: float, until: float, zone: tzinfo) -> float:
    """The whole second in (`before`, `until`] at which the offset changes; it must change exactly once between them."""
    low, high = int(before // 1), int(-(-until // 1))
    old = local(low, zone).utcoffset()
    while high - low > 1:
        middle = (low + high) // 2
        if local(middle, zone).utcoffset() == old:
            low = middle
        else:
            high = middle
    return float(high)
