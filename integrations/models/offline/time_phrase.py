"""A time in a sentence, and what both languages share in parsing it. Pure functions."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime, time, timedelta

from msgspec import Struct

AMOUNT_LIMIT_S = 100_000 * 86_400
EVENING_HOUR = 20


class ParsedTime(Struct, frozen=True):
    """A time or a rhythm that was read from words.

    Attributes:
        kind: `at`, `every` or `cron`, as the tool `schedule` calls them.
        value: For `at` a delay such as `90s`, or a local time without zone; for `every` seconds as `7200s`; for `cron`
            an expression.
        morning: The next morning at that clock, where "at 7" was read as seven in the evening.
    """

    kind: str
    value: str
    morning: str | None = None


Reading = Callable[[re.Match[str], datetime], ParsedTime | None]
"""Reads what a pattern found, given the local time; None when it means no time after all."""


def delay(seconds: float) -> ParsedTime | None:
    """Return the time a number of seconds from now."""
    return ParsedTime("at", f"{round(seconds)}s") if 0 < seconds <= AMOUNT_LIMIT_S else None


def next_clock(clock: tuple[int, int], now: datetime, *, vague: bool) -> ParsedTime:
    """Return the next time a clock shows this; "at 5" in the afternoon is five in the afternoon."""
    found = datetime.combine(now.date(), time(*clock))
    here = now.replace(tzinfo=None)
    if found > here:
        return at(found)
    morning = at(found + timedelta(days=1))
    if vague and clock[0] < 12 and found + timedelta(hours=12) > here:
        return ParsedTime("at", at(found + timedelta(hours=12)).value, morning.value)
    return morning


def on_month_day(month: int, day: int, clock: tuple[int, int] | None, now: datetime) -> ParsedTime | None:
    """Return the next time that a calendar shows this day."""
    if clock is None:
        return None
    for year in (now.year, now.year + 1):
        try:
            found = datetime(year, month, day, *clock)  # noqa: DTZ001  local time, as it was said
        except ValueError:
            continue
        if found > now.replace(tzinfo=None):
            return at(found)
    return None


def at(found: datetime) -> ParsedTime:
    """Return a local time."""
    return ParsedTime("at", found.isoformat(timespec="minutes"))
