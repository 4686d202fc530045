from __future__ import annotations

import datetime as dt

import pytest

from web.core.i18n import catalogue
from web.core.moments import clock, spoken, time_left, title


def on(month: int, day: int, hour: int, minute: int, second: int = 0, year: int = 2026) -> dt.datetime:
    return dt.datetime(year, month, day, hour, minute, second, tzinfo=dt.UTC)


NOW = on(11, 24, 15, 2)
LATER = [
    (on(11, 24, 7, 30), "7:30", "7:30"),
    (on(11, 24, 17, 0), "17:00", "17:00"),
    (on(11, 25, 7, 0), "tomorrow 7:00", "明天 7:00"),
    (on(11, 23, 23, 59), "yesterday 23:59", "昨天 23:59"),
    (on(11, 27, 9, 0), "Friday 9:00", "星期五 9:00"),
    (on(11, 20, 9, 5), "Friday 9:05", "星期五 9:05"),
    (on(5, 12, 9, 0), "12 May, 9:00", "5月12日 9:00"),
    (on(5, 12, 9, 0, year=2025), "12 May 2025", "2025年5月12日"),
]
NEAR = [
    (on(11, 24, 15, 2, 20), "in 1 min", "1 分钟后"),
    (on(11, 24, 16, 0), "in 58 min", "58 分钟后"),
    (NOW, "just now", "刚刚"),
    (on(11, 24, 14, 50), "12 min ago", "12 分钟前"),
]


@pytest.mark.parametrize(("at", "english", "chinese"), NEAR + LATER)
def test_a_time_is_said_as_a_person_says_it(at: dt.datetime, english: str, chinese: str) -> None:
    said = spoken(at.timestamp(), NOW.timestamp(), dt.UTC)
    assert (said, catalogue("zh-CN").gettext(said)) == (english, chinese)


@pytest.mark.parametrize(
    ("at", "english"), [*((at, english) for at, english, _ in LATER), (on(11, 24, 15, 1), "15:01")]
)
def test_a_time_that_stays_is_told_by_the_clock(at: dt.datetime, english: str) -> None:
    assert clock(at.timestamp(), NOW.timestamp(), dt.UTC) == english


@pytest.mark.parametrize(
    ("at", "english", "chinese"),
    [
        (on(11, 24, 0, 5), "12:05 am", "上午12:05"),
        (on(11, 24, 12, 0), "12:00 pm", "下午12:00"),
        (on(11, 25, 19, 30), "tomorrow 7:30 pm", "明天 下午7:30"),
    ],
)
def test_hours_are_counted_to_twelve_where_people_do(at: dt.datetime, english: str, chinese: str) -> None:
    said = clock(at.timestamp(), NOW.timestamp(), dt.UTC, twelve=True)
    assert (said, catalogue("zh-CN").gettext(said)) == (english, chinese)


def test_a_time_is_that_of_where_people_are() -> None:
    east = dt.timezone(dt.timedelta(hours=9))
    assert clock(NOW.timestamp(), NOW.timestamp() - 86_400, east, exact=True) == "tomorrow 0:02:00"


@pytest.mark.parametrize(
    ("day", "english", "chinese"),
    [
        (dt.date(2026, 11, 24), "Today", "今天"),
        (dt.date(2026, 11, 23), "Yesterday", "昨天"),
        (dt.date(2026, 11, 17), "Tuesday 17 November", "11月17日 星期二"),
        (dt.date(2025, 11, 24), "Monday 24 November 2025", "2025年11月24日 星期一"),
    ],
)
def test_a_date_has_the_name_of_its_day(day: dt.date, english: str, chinese: str) -> None:
    said = title(day, NOW.date())
    assert (said, catalogue("zh-CN").gettext(said)) == (english, chinese)


@pytest.mark.parametrize(("seconds", "text"), [(252.9, "4:12"), (5, "0:05"), (3_725, "1:02:05"), (-3, "0:00")])
def test_what_is_left_of_a_short_time(seconds: float, text: str) -> None:
    assert time_left(seconds) == text
