"""What holds for every schedule: strictly later, in order, and the same answer each time."""

from __future__ import annotations

from datetime import time
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings, strategies as st

from hub.automation.schedule.contract import Schedule, due_between
from hub.automation.schedule.cron import Cron
from hub.automation.schedule.daily import Daily
from hub.automation.schedule.every import Every
from hub.automation.schedule.fixed import At
from hub.automation.schedule.pattern import parse_time_pattern
from hub.core.errors import InvalidRequest
from hub.entities.sun import GeoPosition, Sun, SunEvent
from tests.lengths import examples

BERLIN = ZoneInfo("Europe/Berlin")
SPRING, AUTUMN = 1_774_746_000, 1_792_890_000
NEAR_A_CHANGE = st.one_of(
    st.floats(SPRING - 9000, SPRING + 9000), st.floats(AUTUMN - 9000, AUTUMN + 9000), st.floats(0, 4e9)
)

ZONES = st.sampled_from(["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Africa/Cairo", "UTC"]).map(
    ZoneInfo
)
EXPRESSIONS = st.sampled_from(
    ["*/10 * * * *", "30 2 * * *", "0 */2 * * *", "15,45 1-3 * * 0", "0 0 L * *", "5 4 * * 1#1"]
)
PATTERNS: list[dict[str, Any]] = [{"seconds": "/20"}, {"minutes": "/15"}, {"hours": 2, "minutes": "*"}]
SCHEDULES = st.one_of(
    st.builds(At, st.floats(0, 4e9)),
    st.builds(Every, st.floats(1, 1e7), st.floats(0, 4e9)),
    st.builds(Cron, EXPRESSIONS, ZONES, st.floats(0, 900), st.text(max_size=5)),
    st.builds(Daily, st.times().map(lambda at: at.replace(microsecond=0)), ZONES),
    st.builds(lambda zone, keys: parse_time_pattern(zone, **keys), ZONES, st.sampled_from(PATTERNS)),
    st.builds(
        Sun,
        st.sampled_from(SunEvent),
        st.builds(GeoPosition, st.floats(-89, 89), st.floats(-180, 180)),
        st.floats(-1e5, 1e5),
    ),
)


@settings(max_examples=examples(400), deadline=None)
@given(SCHEDULES, NEAR_A_CHANGE, st.floats(0, 20_000))
def test_the_next_time_is_strictly_later_and_in_order(schedule: Schedule, after: float, step: float) -> None:
    first = schedule.next_after(after)
    later = schedule.next_after(after + step)

    assert schedule.next_after(after) == first
    assert first is None or first > after
    assert first is not None or later is None
    assert first is None or later is None or first <= later
    assert first is None or first <= after + step or later == first


@pytest.mark.parametrize("after", [-1e13, -1e10, 0.0, 2.5e11, 2.6e11, 1e13])
def test_no_time_is_too_far_away(after: float) -> None:
    schedules: list[Schedule] = [
        Cron("30 2 * * *", BERLIN),
        Cron("* * * * *", BERLIN),
        Daily(time(2, 30), BERLIN),
        Sun(SunEvent.SUNRISE, GeoPosition(52, 13)),
        Every(60),
    ]

    found = [schedule.next_after(after) for schedule in schedules]

    assert all(due is None or due > after for due in found)


def test_a_list_of_due_times_begins_behind_its_start_and_includes_its_end() -> None:
    assert due_between(Every(10), 10.0, 40.0) == [20.0, 30.0, 40.0]
    assert due_between(Every(10), 0.0, 1e9, limit=2) == [10.0, 20.0]
    assert due_between(At(5.0), 5.0, 9.0) == []


def test_an_interval_begins_with_its_anchor() -> None:
    assert due_between(Every(100, anchor=1050.0), 0.0, 1300.0) == [1050.0, 1150.0, 1250.0]


@pytest.mark.parametrize(("interval_s", "anchor"), [(0.5, 0), (0, 0), (-60, 0), (float("nan"), 0), (60, float("inf"))])
def test_a_bad_interval_is_refused(interval_s: float, anchor: float) -> None:
    with pytest.raises(InvalidRequest, match="every: "):
        Every(interval_s, anchor)
