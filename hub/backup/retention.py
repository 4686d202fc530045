"""The backups to keep: the last of each of a number of days, weeks and months. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import date, datetime, tzinfo

from msgspec import Struct

from hub.backup.manifest import BackupName


class Keep(Struct, frozen=True):
    """How many days, weeks and months have a backup that is kept."""

    daily: int = 7
    weekly: int = 4
    monthly: int = 6


def superfluous(backups: Iterable[BackupName], keep: Keep, zone: tzinfo) -> list[BackupName]:
    """Return the backups of one home that are kept no longer; never the newest.

    Args:
        zone: In which a day begins and ends.
    """
    newest_first = sorted(backups, key=lambda each: each.order, reverse=True)
    kept = {each.name for each in newest_first[:1]}
    for count, period in ((keep.daily, _day), (keep.weekly, _week), (keep.monthly, _month)):
        kept |= _last_of_each(newest_first, count, period, zone)
    return [each for each in newest_first if each.name not in kept]


def _last_of_each(
    newest_first: Iterable[BackupName], count: int, period: Callable[[date], tuple[int, ...]], zone: tzinfo
) -> set[str]:
    found: dict[tuple[int, ...], str] = {}
    for each in newest_first:
        found.setdefault(period(datetime.fromtimestamp(each.made_ms / 1000, zone).date()), each.name)
    return set(list(found.values())[:count])


def _day(day: date) -> tuple[int, ...]:
    return day.year, day.month, day.day


def _week(day: date) -> tuple[int, ...]:
    return tuple(day.isocalendar()[:2])


def _month(day: date) -> tuple[int, ...]:
    return day.year, day.month
