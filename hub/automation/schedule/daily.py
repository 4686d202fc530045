"""`time`: a time of day, on all or some days of the week."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, time, timedelta, tzinfo
from functools import cached_property

from hub.automation.schedule.wall import WallPattern, next_fixed
from hub.core.errors import InvalidRequest
from hub.core.schema import show

WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
EVERY_DAY = frozenset(range(7))

_TIME = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)(?::([0-5]\d))?", re.ASCII)


@dataclass(frozen=True)
class Daily:
    """Due once a day at a fixed wall time, on the given weekdays.

    Args:
        at: The time of day, in whole seconds.
        zone: The zone whose clock shows it.
        weekdays: 0 (Monday) to 6 (Sunday), at least one.

    Raises:
        InvalidRequest: No weekday is given, or an unknown one.
    """

    at: time
    zone: tzinfo
    weekdays: frozenset[int] = EVERY_DAY

    def __post_init__(self) -> None:
        if not self.weekdays or not self.weekdays <= EVERY_DAY:
            raise InvalidRequest("weekday: expected at least one of " + ", ".join(WEEKDAYS))

    def next_after(self, after: float) -> float | None:
        """Return the first due time strictly after `after`."""
        return next_fixed(self.zone, after, self._pattern.first_from)

    @cached_property
    def _pattern(self) -> WallPattern:
        return WallPattern((self.at.hour,), (self.at.minute,), (self.at.second,), self._next_day)

    def _next_day(self, day: date) -> date | None:
        while day.weekday() not in self.weekdays:
            day += timedelta(days=1)
        return day


def parse_time_of_day(value: object) -> time:
    """Read `HH:MM` or `HH:MM:SS`.

    Raises:
        InvalidRequest: It is something else.
    """
    match = _TIME.fullmatch(value.strip()) if isinstance(value, str) else None
    if match is None:
        raise InvalidRequest(
            f'expected a time of day such as "07:30" or "07:30:15" from 00:00 to 23:59:59, got {show(value)}'
        )
    hour, minute, second = match.groups()
    return time(int(hour), int(minute), int(second or 0))


def parse_weekdays(value: object) -> frozenset[int]:
    """Read one weekday or a list of them, `mon` to `sun`; None means every day.

    Raises:
        InvalidRequest: The list is empty, or one of them is not a weekday.
    """
    if value is None:
        return EVERY_DAY
    names = value if isinstance(value, Iterable) and not isinstance(value, str | bytes | dict) else [value]
    found = set()
    for name in names:
        if not isinstance(name, str) or name.strip().lower() not in WEEKDAYS:
            raise InvalidRequest(f"weekday: expected {', '.join(WEEKDAYS)}, got {show(name)}")
        found.add(WEEKDAYS.index(name.strip().lower()))
    if not found:
        raise InvalidRequest("weekday: the list is empty; name at least one day, or leave the key out for every day")
    return frozenset(found)
