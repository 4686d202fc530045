from __future__ import annotations

import datetime as dt

import pytest

from web.core.i18n import catalogue
from web.core.moments import left, moment, weekday


def on(month: int, day: int, hour: int, minute: int, second: int = 0) -> dt.datetime:
    return dt.datetime(2026, month, day, hour, minute, second, tzinfo=dt.UTC)


NOW = on(11, 24, 15, 2)


@pytest.mark.parametrize(
    ("at", "english", "chinese"),
    [
        (on(11, 24, 15, 2, 20), "in 1 min", "1 分钟后"),
        (on(11, 24, 16, 0), "in 58 min", "58 分钟后"),
        (on(11, 24, 17, 0), "in 2 h", "2 小时后"),
        (on(11, 24, 20, 5), "20:05", "20:05"),
        (on(11, 24, 7, 30), "7:30", "7:30"),
        (on(11, 25, 7, 0), "tomorrow 7:00", "明天 7:00"),
        (on(11, 23, 23, 59), "yesterday", "昨天"),
        (on(11, 27, 9, 0), "Friday 9:00", "星期五 9:00"),
        (on(11, 20, 9, 0), "Friday", "星期五"),
        (on(5, 12, 9, 0), "12 May", "5月12日"),
    ],
)
def test_a_time_is_said_as_a_person_says_it(at: dt.datetime, english: str, chinese: str) -> None:
    assert moment(at, NOW, catalogue("en")) == english
    assert moment(at, NOW, catalogue("zh-CN")) == chinese


def test_a_date_has_the_name_of_its_day() -> None:
    assert weekday(NOW.date(), catalogue("en")) == "Tuesday 24 November"
    assert weekday(NOW.date(), catalogue("zh-CN")) == "11月24日 星期二"


@pytest.mark.parametrize(("seconds", "text"), [(252.9, "4:12"), (5, "0:05"), (3_725, "1:02:05"), (-3, "0:00")])
def test_what_is_left_of_a_short_time(seconds: float, text: str) -> None:
    assert left(seconds) == text
