"""Time of day, time patterns and active hours: what they read, and what they make of summer time."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime, time
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings, strategies as st

from hub.automation.schedule.active_hours import ActiveHours, parse_active_hours
from hub.automation.schedule.contract import due_between
from hub.automation.schedule.daily import Daily, parse_time_of_day, parse_weekdays
from hub.automation.schedule.pattern import parse_time_pattern
from hub.core.errors import InvalidRequest
from tests.lengths import examples

BERLIN = ZoneInfo("Europe/Berlin")
NOON = datetime(2026, 6, 1, 12, tzinfo=BERLIN).timestamp()  # a Monday
SPRING = datetime(2026, 3, 29, tzinfo=BERLIN).timestamp()
AUTUMN = datetime(2026, 10, 25, tzinfo=BERLIN).timestamp()
DAY = 24 * 3600.0


def shown(instants: list[float], zone: ZoneInfo = BERLIN) -> list[str]:
    return [datetime.fromtimestamp(at, zone).strftime("%a %H:%M:%S") for at in instants]


def test_a_time_of_day_comes_on_its_weekdays() -> None:
    daily = Daily(time(7, 30, 15), BERLIN, parse_weekdays(["mon", "Thu"]))

    found = due_between(daily, NOON, NOON + 10 * DAY)

    assert shown(found) == ["Thu 07:30:15", "Mon 07:30:15", "Thu 07:30:15"]


@pytest.mark.parametrize(
    ("text", "wanted"), [("07:30", time(7, 30)), ("7:30", time(7, 30)), (" 23:59:59 ", time(23, 59, 59))]
)
def test_a_time_of_day_is_read(text: str, wanted: time) -> None:
    assert parse_time_of_day(text) == wanted


@pytest.mark.parametrize("value", ["24:00", "7", "07:60", "07:30:60", "", "noon", 27000, None, "07:30 pm", "٠٧:٣٠"])
def test_what_is_no_time_of_day_is_refused(value: object) -> None:
    with pytest.raises(InvalidRequest, match="07:30"):
        parse_time_of_day(value)


@pytest.mark.parametrize("value", [[], ["monday"], "mo", [1], {"mon": 1}, 0, ["mon", None]])
def test_what_is_no_weekday_is_refused(value: object) -> None:
    with pytest.raises(InvalidRequest, match="weekday"):
        parse_weekdays(value)


def test_no_weekday_key_means_every_day() -> None:
    assert parse_weekdays(None) == frozenset(range(7))
    assert parse_weekdays("sun") == {6}


@pytest.mark.parametrize(
    ("keys", "wanted"),
    [
        ({"minutes": "/20"}, ["Mon 12:20:00", "Mon 12:40:00", "Mon 13:00:00"]),
        ({"minutes": 5}, ["Mon 12:05:00", "Mon 13:05:00", "Mon 14:05:00"]),
        ({"hours": "*"}, ["Mon 13:00:00", "Mon 14:00:00", "Mon 15:00:00"]),
        ({"hours": "/7"}, ["Mon 14:00:00", "Mon 21:00:00", "Tue 00:00:00"]),
        ({"seconds": "/30"}, ["Mon 12:00:30", "Mon 12:01:00", "Mon 12:01:30"]),
        ({"hours": "13", "seconds": "5"}, ["Mon 13:00:05", "Tue 13:00:05", "Wed 13:00:05"]),
        ({"hours": 13, "minutes": [50, 10], "seconds": 7}, ["Mon 13:10:07", "Mon 13:50:07", "Tue 13:10:07"]),
        ({"minutes": "*", "seconds": 1}, ["Mon 12:00:01", "Mon 12:01:01", "Mon 12:02:01"]),
    ],
)
def test_a_pattern_is_read_as_home_assistant_reads_it(keys: dict[str, object], wanted: list[str]) -> None:
    pattern = parse_time_pattern(BERLIN, **keys)

    assert shown(due_between(pattern, NOON, NOON + 9 * DAY, limit=3)) == wanted


@pytest.mark.parametrize(
    "keys",
    [
        {},
        {"hours": 24},
        {"minutes": 60},
        {"seconds": -1},
        {"minutes": "/0"},
        {"minutes": "/"},
        {"minutes": "*/5"},
        {"minutes": "5-9"},
        {"minutes": []},
        {"minutes": [1, 61]},
        {"minutes": True},
        {"minutes": 1.5},
        {"minutes": "9" * 5000},
    ],
)
def test_a_bad_pattern_is_refused(keys: dict[str, object]) -> None:
    with pytest.raises(InvalidRequest, match="time_pattern: "):
        parse_time_pattern(BERLIN, **keys)


def test_a_pattern_of_seconds_runs_through_both_doubled_hours() -> None:
    pattern = parse_time_pattern(BERLIN, hours=2, minutes="*", seconds="/30")

    found = due_between(pattern, AUTUMN, AUTUMN + 6 * 3600)

    assert len(found) == 2 * 120
    assert {later - earlier for earlier, later in itertools.pairwise(found)} == {30.0}


def at(day: int, hour: int, minute: int = 0, month: int = 6) -> float:
    return datetime(2026, month, day, hour, minute, tzinfo=BERLIN).timestamp()


@pytest.mark.parametrize(
    ("hours", "instant", "inside", "opens"),
    [
        (("08:00", "22:00", None), at(1, 8), True, at(1, 8)),
        (("08:00", "22:00", None), at(1, 7, 59), False, at(1, 8)),
        (("08:00", "22:00", None), at(1, 22), False, at(2, 8)),
        (("22:00", "06:00", None), at(2, 3), True, at(2, 3)),
        (("22:00", "06:00", None), at(2, 6), False, at(2, 22)),
        (("22:00", "06:00", ["mon"]), at(2, 3), True, at(2, 3)),
        (("22:00", "06:00", ["tue"]), at(2, 3), False, at(2, 22)),
        (("09:00", "24:00", ["fri"]), at(1, 12), False, at(5, 9)),
        (("09:00", "24:00", ["fri"]), at(5, 23, 59), True, at(5, 23, 59)),
        (("09:00", "24:00", ["fri"]), at(6, 0), False, at(12, 9)),
        (("00:00", "24:00", None), at(6, 0), True, at(6, 0)),
        (("02:15", "02:45", None), at(29, 1, month=3), False, at(30, 2, 15, month=3)),
        (("02:15", "02:45", ["sun"]), at(28, 1, month=3), False, at(5, 2, 15, month=4)),
        (("02:30", "04:00", None), at(29, 1, month=3), False, at(29, 3, month=3)),
    ],
)
def test_active_hours(hours: tuple[str, str, list[str] | None], instant: float, inside: bool, opens: float) -> None:
    window = parse_active_hours(hours[0], hours[1], BERLIN, hours[2])

    assert window.contains(instant) is inside
    assert window.next_open(instant) == opens


def test_a_window_that_opens_in_the_doubled_hour_stays_open_through_it() -> None:
    window = parse_active_hours("02:30", "03:30", BERLIN)
    first = datetime(2026, 10, 25, 0, 30, tzinfo=UTC).timestamp()

    inside = [window.contains(first + minutes * 60) for minutes in (-1, 0, 40, 60, 119, 120)]

    assert inside == [False, True, True, True, True, False]


@pytest.mark.parametrize(("start", "end"), [("08:00", "08:00"), ("24:00", "08:00"), ("8", "22:00"), (8, 22)])
def test_bad_active_hours_are_refused(start: object, end: object) -> None:
    with pytest.raises(InvalidRequest):
        parse_active_hours(start, end, BERLIN)


TIMES = st.times().map(lambda moment: moment.replace(microsecond=0))
ZONES = st.sampled_from(["Europe/Berlin", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe", "Africa/Cairo"])


@settings(max_examples=examples(200), deadline=None)
@given(
    TIMES, TIMES.filter(bool), ZONES, st.sets(st.integers(0, 6), min_size=1), st.integers(1_700_000_000, 1_800_000_000)
)
def test_active_hours_open_where_they_say(start: time, end: time, zone: str, days: set[int], instant: int) -> None:
    window = ActiveHours(start, end if end != start else time(0), ZoneInfo(zone), frozenset(days))

    opens = window.next_open(instant)

    assert opens >= instant
    assert window.contains(opens)
    assert window.contains(instant) == (opens == instant)
    assert opens == instant or not window.contains(opens - 1)
