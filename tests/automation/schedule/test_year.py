"""A year of fifty schedules in four zones equals what walking through it minute by minute finds.

An ordinary run walks through the days around the changes of the clocks and the ends of months, a long one through all.

The walk shares nothing with the code: it looks at the clock of the zone at every minute of UTC, notes when each wall
time is shown first, and where the clock leaps, gives the wall times it leaps over to the minute behind the leap.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from zoneinfo import ZoneInfo

import pytest

from hub.automation.schedule.contract import Schedule, due_between
from hub.automation.schedule.cron import Cron
from hub.automation.schedule.daily import Daily, parse_weekdays
from hub.automation.schedule.every import Every
from hub.automation.schedule.pattern import parse_time_pattern
from tests.lengths import LONG

FROM = datetime(2026, 1, 1, tzinfo=UTC)
UNTIL = datetime(2027, 1, 1, tzinfo=UTC)
SPANS = (
    [("2026-01-01", "2027-01-01")]
    if LONG
    else [
        ("2026-03-06", "2026-03-16"),
        ("2026-03-26", "2026-04-07"),
        ("2026-05-30", "2026-06-03"),
        ("2026-10-01", "2026-10-06"),
        ("2026-10-23", "2026-11-03"),
        ("2026-12-29", "2027-01-02"),
    ]
)
MINUTE = timedelta(minutes=1)

Day = Callable[[date], bool]
Shown = dict[datetime, list[float]]
ALL_HOURS = range(24)
ALL_MINUTES = range(60)


def any_day(_: date) -> bool:
    return True


def on(*names: str) -> Day:
    """Days named by their English abbreviation, as the calendar of the standard library prints it."""
    return lambda day: day.strftime("%a").lower() in names


def dated(*days: int) -> Day:
    return lambda day: day.day in days


def last_of_month(day: date) -> bool:
    return (day + timedelta(days=1)).month != day.month


def nth(name: str, number: int) -> Day:
    return lambda day: day.strftime("%a").lower() == name and (day.day + 6) // 7 == number


@dataclass(frozen=True)
class Wall:
    """A schedule of wall times, and the plain sets that say the same."""

    make: Callable[[tzinfo], Schedule]
    hours: Collection[int]
    minutes: Collection[int]
    day: Day = any_day
    follows: bool = False


def cron(expression: str, hours: Collection[int], minutes: Collection[int], day: Day = any_day) -> Wall:
    return Wall(lambda zone: Cron(expression, zone), hours, minutes, day)


def interval(expression: str, hours: Collection[int], minutes: Collection[int], day: Day = any_day) -> Wall:
    return Wall(lambda zone: Cron(expression, zone), hours, minutes, day, follows=True)


def daily(at: time, names: list[str] | None = None) -> Wall:
    weekdays = parse_weekdays(names)
    return Wall(lambda zone: Daily(at, zone, weekdays), [at.hour], [at.minute], on(*names) if names else any_day)


def pattern(hours: object, minutes: object, *, is_hours: Collection[int], is_minutes: Collection[int]) -> Wall:
    return Wall(lambda zone: parse_time_pattern(zone, hours=hours, minutes=minutes), is_hours, is_minutes, follows=True)


WALLS = {
    "daily at half past seven": cron("30 7 * * *", [7], [30]),
    "daily in the gap of most": cron("30 2 * * *", [2], [30]),
    "daily at two": cron("0 2 * * *", [2], [0]),
    "daily at the end of the gap": cron("0 3 * * *", [3], [0]),
    "two in one gap": cron("15,45 2 * * *", [2], [15, 45]),
    "in the gap and at its end": cron("0,30 2,3 * * *", [2, 3], [0, 30]),
    "in the doubled hour of New York and Lord Howe": cron("45 1 * * *", [1], [45]),
    "all through the night": cron("20 0-6 * * *", range(7), [20]),
    "every ten minutes of an hour that is named": cron("0-59/10 2 * * *", [2], range(0, 60, 10)),
    "just before the gap": cron("59 1 * * *", [1], [59]),
    "in the gap of Lord Howe": cron("10 2 * * *", [2], [10]),
    "midnight by alias": cron("@daily", [0], [0]),
    "weekly by alias": cron("@weekly", [0], [0], on("sun")),
    "monthly by alias": cron("@monthly", [0], [0], dated(1)),
    "yearly by alias": cron("@yearly", [0], [0], lambda day: (day.month, day.day) == (1, 1)),
    "workdays": cron("0 9 * * 1-5", [9], [0], on("mon", "tue", "wed", "thu", "fri")),
    "workdays by name": cron("0 9 * * MON-FRI", [9], [0], on("mon", "tue", "wed", "thu", "fri")),
    "weekend": cron("15 10 * * sat,sun", [10], [15], on("sat", "sun")),
    "sunday as seven": cron("30 2 * * 7", [2], [30], on("sun")),
    "sunday as zero": cron("30 1 * * 0", [1], [30], on("sun")),
    "saturday to monday": cron("5 5 * * 6-7,1", [5], [5], on("sat", "sun", "mon")),
    "the first and the fifteenth": cron("0 12 1,15 * *", [12], [0], dated(1, 15)),
    "every other date": cron("0 6 */2 * *", [6], [0], dated(*range(1, 32, 2))),
    "the thirty-first": cron("0 0 31 * *", [0], [0], dated(31)),
    "the last of each month": cron("30 23 L * *", [23], [30], last_of_month),
    "the second friday": cron("0 18 * * fri#2", [18], [0], nth("fri", 2)),
    "the fifth sunday": cron("30 2 * * 0#5", [2], [30], nth("sun", 5)),
    "the last thursday": cron(
        "0 8 * * L4", [8], [0], lambda day: on("thu")(day) and (day + timedelta(days=7)).month != day.month
    ),
    "a date or a weekday": cron("0 4 13 * 5", [4], [0], lambda day: day.day == 13 or on("fri")(day)),
    "in summer": cron("0 5 * jun-aug *", [5], [0], lambda day: day.month in (6, 7, 8)),
    "each quarter": cron("0 7 1 */3 *", [7], [0], lambda day: day.day == 1 and day.month in (1, 4, 7, 10)),
    "every minute of three hours": interval("* 1-3 * * *", [1, 2, 3], ALL_MINUTES),
    "every quarter of an hour": interval("*/15 * * * *", ALL_HOURS, range(0, 60, 15)),
    "every hour": interval("0 * * * *", ALL_HOURS, [0]),
    "hourly by alias": interval("@hourly", ALL_HOURS, [0]),
    "half past every hour": interval("30 * * * *", ALL_HOURS, [30]),
    "every two hours": interval("0 */2 * * *", range(0, 24, 2), [0]),
    "half past every other hour": interval("30 */2 * * *", range(0, 24, 2), [30]),
    "through one hour": interval("*/15 2 * * *", [2], range(0, 60, 15)),
    "through the night of sunday": interval("*/20 0-4 * * sun", range(5), [0, 20, 40], on("sun")),
    "every ten minutes by day": interval("*/10 8-20 * * *", range(8, 21), range(0, 60, 10)),
    "wake up": daily(time(6, 45)),
    "wake up in the gap": daily(time(2, 15)),
    "wake up on sunday": daily(time(2, 30), ["sun"]),
    "wake up on workdays": daily(time(7, 0), ["mon", "tue", "wed", "thu", "fri"]),
    "pattern of minutes": pattern(None, "/20", is_hours=ALL_HOURS, is_minutes=[0, 20, 40]),
    "pattern of hours": pattern("/3", None, is_hours=range(0, 24, 3), is_minutes=[0]),
    "pattern of both": pattern("2", "/30", is_hours=[2], is_minutes=[0, 30]),
}
EVERY = {"every hour and a half": (5400, 0), "every week": (7 * 86400, FROM.timestamp() + 1234)}

ZONES = ["Europe/Berlin", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe"]


def walk(zone: tzinfo, start: datetime, end: datetime) -> tuple[Shown, dict[datetime, float]]:
    """Return when each wall time is shown, and to which instant those belong that are leapt over."""
    shown: Shown = defaultdict(list)
    leapt: dict[datetime, float] = {}
    moment, previous = start - MINUTE, None
    while moment <= end:
        wall = moment.astimezone(zone).replace(tzinfo=None, fold=0)
        shown[wall].append(moment.timestamp())
        while previous is not None and previous + MINUTE < wall:
            previous += MINUTE
            leapt[previous] = moment.timestamp()
        previous = wall
        moment += MINUTE
    return shown, leapt


def expected(wall: Wall, shown: Shown, leapt: dict[datetime, float], start: float, end: float) -> list[float]:
    days = sorted({each.date() for each in shown})
    found: set[float] = set()
    for day in filter(wall.day, days):
        for hour in wall.hours:
            for minute in wall.minutes:
                at = datetime(day.year, day.month, day.day, hour, minute)  # noqa: DTZ001
                times = shown.get(at, [])
                found.update(times if wall.follows else times[:1])
                found.update([leapt[at]] if at in leapt and not wall.follows else [])
    return sorted(instant for instant in found if start < instant <= end)


def test_there_are_fifty_schedules() -> None:
    assert len(WALLS) + len(EVERY) == 50


@pytest.mark.parametrize("name", ZONES)
@pytest.mark.parametrize(("first", "last"), SPANS)
def test_every_firing_equals_the_walk_through_it(name: str, first: str, last: str) -> None:
    zone = ZoneInfo(name)
    start, end = (datetime.fromisoformat(each).replace(tzinfo=UTC) for each in (first, last))
    shown, leapt = walk(zone, start, end)
    span = start.timestamp(), end.timestamp()
    wanted = {key: expected(wall, shown, leapt, *span) for key, wall in WALLS.items()}

    found = {key: due_between(wall.make(zone), *span, limit=1_000_000) for key, wall in WALLS.items()}

    assert [key for key in WALLS if found[key] != wanted[key]] == []


@pytest.mark.parametrize("key", EVERY)
def test_an_interval_is_the_same_in_every_zone(key: str) -> None:
    interval_s, anchor = EVERY[key]
    start, end = int(FROM.timestamp()), int(UNTIL.timestamp())

    found = due_between(Every(interval_s, anchor), start, end)

    assert found == [at for at in range(int(anchor), end + 1, interval_s) if at > start]
