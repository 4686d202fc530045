"""What is missed is let go, merged or fired, as asked, and never without bound."""

from __future__ import annotations

from datetime import UTC

import pytest
from hypothesis import given, settings, strategies as st

from hub.automation.schedule.contract import CatchUp, due_between
from hub.automation.schedule.cron import Cron
from hub.automation.schedule.every import Every
from hub.automation.schedule.fixed import At
from hub.automation.schedule.missed import (
    MAX_COUNTED,
    MAX_FIRED,
    MAX_ON_TIME,
    ClockCheck,
    Missed,
    last_between,
    plan_look,
    plan_missed,
)
from tests.lengths import examples

HOUR = 3600.0
NONE, LAST, ALL = CatchUp.NONE, CatchUp.LAST, CatchUp.ALL


@pytest.mark.parametrize(
    ("catch_up", "within_s", "wanted"),
    [
        (NONE, None, Missed([], 3, 3 * HOUR)),
        (LAST, None, Missed([3 * HOUR], 2, 3 * HOUR)),
        (ALL, None, Missed([HOUR, 2 * HOUR, 3 * HOUR], 0, 3 * HOUR)),
        (LAST, HOUR, Missed([3 * HOUR], 2, 3 * HOUR)),
        (LAST, HOUR / 2, Missed([3 * HOUR], 2, 3 * HOUR)),
        (LAST, HOUR / 2 - 1, Missed([], 3, 3 * HOUR)),
        (ALL, 2 * HOUR, Missed([2 * HOUR, 3 * HOUR], 1, 3 * HOUR)),
        (ALL, 0.0, Missed([], 3, 3 * HOUR)),
    ],
)
def test_three_hours_of_an_hourly_schedule(catch_up: CatchUp, within_s: float | None, wanted: Missed) -> None:
    assert plan_missed(Every(HOUR), 0.0, 3.5 * HOUR, catch_up, within_s) == wanted


@pytest.mark.parametrize("catch_up", CatchUp)
def test_nothing_missed_is_nothing_to_do(catch_up: CatchUp) -> None:
    assert plan_missed(Every(HOUR), 0.0, HOUR - 1, catch_up) == Missed([], 0)
    assert plan_look(At(10.0), 10.0, 1e9, catch_up) == ClockCheck([], [])


def test_three_years_of_seconds_fire_the_latest_and_are_counted_up_to_a_bound() -> None:
    now = 3 * 365 * 86400.0

    missed = plan_missed(Every(1), 0.0, now, ALL)

    assert missed.fire == [now - MAX_FIRED + 1 + each for each in range(MAX_FIRED)]
    assert missed.skipped + len(missed.fire) == MAX_COUNTED


@pytest.mark.parametrize(
    ("catch_up", "wanted"),
    [
        (NONE, ClockCheck([], [4 * HOUR], 3)),
        (LAST, ClockCheck([], [4 * HOUR], 3)),
        (ALL, ClockCheck([HOUR, 2 * HOUR, 3 * HOUR], [4 * HOUR], 0)),
    ],
)
def test_one_on_time_stands_for_those_missed_before_it(catch_up: CatchUp, wanted: ClockCheck) -> None:
    assert plan_look(Every(HOUR), 0.0, 4 * HOUR + 60, catch_up) == wanted


@pytest.mark.parametrize(
    ("late_s", "wanted"),
    [(0.0, ClockCheck([], [HOUR])), (60.0, ClockCheck([], [HOUR])), (60.5, ClockCheck([], [], 1, HOUR))],
)
def test_a_minute_late_is_on_time(late_s: float, wanted: ClockCheck) -> None:
    assert plan_look(Every(HOUR), 0.0, HOUR + late_s, NONE) == wanted


def test_a_stall_of_half_a_minute_fires_the_latest_few_of_a_short_interval() -> None:
    look = plan_look(Every(1), 0.0, 30.0, NONE)

    assert look == ClockCheck([], [float(each) for each in range(31 - MAX_ON_TIME, 31)], 30 - MAX_ON_TIME)


def test_what_is_let_go_is_told_with_its_latest() -> None:
    assert plan_look(At(5.0), 0.0, 500.0, NONE) == ClockCheck([], [], 1, 5.0)
    assert plan_look(At(5.0), 0.0, 500.0, LAST) == ClockCheck([5.0], [])
    assert plan_look(At(5.0), 0.0, 500.0, LAST, within_s=400.0) == ClockCheck([], [], 1, 5.0)
    assert plan_look(At(5.0), 0.0, 500.0, LAST, within_s=495.0) == ClockCheck([5.0], [])


SCHEDULES = st.one_of(
    st.builds(Every, st.integers(50, 200_000), st.integers(0, 5_000_000)),
    st.builds(At, st.integers(0, 3_000_000)),
    st.sampled_from(["*/7 3 * * *", "30 2 * * 1", "0 0 1 * *", "* * * * *", "5,6 8 */3 * *"]).map(
        lambda x: Cron(x, UTC)
    ),
)


@settings(max_examples=examples(200), deadline=None)
@given(
    SCHEDULES, st.integers(0, 3_000_000), st.integers(0, 3_000_000), st.sampled_from(CatchUp), st.integers(0, 900_000)
)
def test_a_plan_agrees_with_the_list_of_all_that_was_missed(
    schedule: Every | At | Cron, after: int, span: int, catch_up: CatchUp, within_s: int
) -> None:
    now = float(after + span)
    everything = due_between(schedule, after, now, limit=4_000_000)
    young = [due for due in everything if due >= now - within_s]
    wanted = {NONE: [], LAST: young[-1:], ALL: young[-MAX_FIRED:]}[catch_up]

    missed = plan_missed(schedule, after, now, catch_up, within_s)

    assert missed.fire == wanted
    assert missed.skipped == min(len(everything), MAX_COUNTED) - len(wanted)
    assert last_between(schedule, after, now) == (everything[-1] if everything else None)
