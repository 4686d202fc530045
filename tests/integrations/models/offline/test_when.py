from __future__ import annotations

from datetime import datetime

import pytest
from hypothesis import given, strategies as st

from integrations.models.offline.time_phrase import ParsedTime
from integrations.models.offline.when import amount_of, find_time

NOW = datetime(2026, 11, 21, 15, 20)  # noqa: DTZ001  local time, a Saturday


@pytest.mark.parametrize(
    ("said", "kind", "value", "wish"),
    [
        ("call Anna in 20 minutes", "at", "1200s", "call Anna"),
        ("to put the cake in the oven in 20 minutes", "at", "1200s", "put the cake in the oven"),
        ("in an hour and a half to leave", "at", "5400s", "leave"),
        ("in 1 hour and 30 minutes check", "at", "5400s", "check"),
        ("to call mum tomorrow at 9", "at", "2026-11-22T09:00", "call mum"),
        ("at 5 to leave", "at", "2026-11-21T17:00", "leave"),
        ("at noon tomorrow to eat", "at", "2026-11-22T12:00", "eat"),
        ("at 7 in the evening call", "at", "2026-11-21T19:00", "call"),
        ("to check the page in the morning", "at", "2026-11-22T08:00", "check the page"),
        ("on friday to pay rent", "at", "2026-11-27T09:00", "pay rent"),
        ("at 5pm on monday meet", "at", "2026-11-23T17:00", "meet"),
        ("on 24 december at 18:00 to light candles", "at", "2026-12-24T18:00", "light candles"),
        ("on 1 march to file", "at", "2027-03-01T09:00", "file"),
        ("to renew on 2027-01-05 10:00", "at", "2027-01-05T10:00", "renew"),
        ("drink water every 2 hours", "every", "7200s", "drink water"),
        ("every hour to drink", "every", "3600s", "drink"),
        ("every morning at 7:30 stretch", "cron", "30 7 * * *", "stretch"),
        ("every monday at 9 to put the bins out", "cron", "0 9 * * 1", "put the bins out"),
        ("every sunday rest", "cron", "0 8 * * 0", "rest"),
        ("every Monday and Thursday at 6pm to water the plants", "cron", "0 18 * * 1,4", "water the plants"),
        ("at 7 every saturday, sunday and monday to run", "cron", "0 7 * * 0,1,6", "run"),
        ("every weekday at seven", "cron", "0 7 * * 1-5", ""),
        ("on weekdays at half past six to run", "cron", "30 6 * * 1-5", "run"),
        ("at a quarter to 8 pm on mondays and fridays", "cron", "45 19 * * 1,5", ""),
        ("at six forty five tomorrow", "at", "2026-11-22T06:45", ""),
        ("look at one of them at 5", "at", "2026-11-21T17:00", "look at one of them"),
        ("工作日早上七点", "cron", "0 7 * * 1-5", ""),
        ("每个周末九点跑步", "cron", "0 9 * * 0,6", "跑步"),
        ("每周一和周四下午6点倒垃圾", "cron", "0 18 * * 1,4", "倒垃圾"),
        ("20分钟后关火", "at", "1200s", "关火"),
        ("一个半小时后出发", "at", "5400s", "出发"),
        ("明天早上八点开会", "at", "2026-11-22T08:00", "开会"),
        ("今天下午三点半打电话", "at", "2026-11-21T15:30", "打电话"),
        ("今晚锁门", "at", "2026-11-21T20:00", "锁门"),
        ("周五交房租", "at", "2026-11-27T09:00", "交房租"),
        ("8点吃饭", "at", "2026-11-21T20:00", "吃饭"),
        ("12月24日晚上六点点蜡烛", "at", "2026-12-24T18:00", "点蜡烛"),
        ("每天早上七点吃药", "cron", "0 7 * * *", "吃药"),
        ("每周一上午9点开会", "cron", "0 9 * * 1", "开会"),
        ("每周日休息", "cron", "0 8 * * 0", "休息"),
        ("每两小时喝水", "every", "7200s", "喝水"),
    ],
)
def test_a_time_is_found_and_taken_out_of_the_wish(said: str, kind: str, value: str, wish: str) -> None:
    found = find_time(said, NOW)

    assert found is not None
    assert (found[0].kind, found[0].value, found[1]) == (kind, value, wish)


@pytest.mark.parametrize("said", ["buy milk", "", "at 25:00 leave", "in 0 minutes go", "on 31 february", "买牛奶"])
def test_what_names_no_time_names_none(said: str) -> None:
    assert find_time(said, NOW) is None


@pytest.mark.parametrize(
    ("said", "seconds"),
    [("20 minutes", 1200), ("an hour", 3600), ("one and a half hours", 5400), ("半小时", 1800), ("二十五分钟", 1500)],
)
def test_a_bare_amount_is_a_delay(said: str, seconds: int) -> None:
    assert amount_of(said) == ParsedTime("at", f"{seconds}s")


@given(st.text(max_size=200))
def test_no_text_breaks_the_search(said: str) -> None:
    found = find_time(said, NOW)

    assert found is None or found[0].kind in {"at", "every", "cron"}


@given(st.integers(1, 999), st.sampled_from([("seconds", 1), ("minutes", 60), ("hours", 3600), ("days", 86400)]))
def test_every_amount_is_told_in_seconds(number: int, unit: tuple[str, int]) -> None:
    assert find_time(f"tea in {number} {unit[0]}", NOW) == (ParsedTime("at", f"{number * unit[1]}s"), "tea")
