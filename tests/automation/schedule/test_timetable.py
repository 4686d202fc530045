"""The timetable fires each occurrence once, however the clock jumps, and says what it let go."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings, strategies as st

from hub.automation.schedule.contract import CatchUp, Due, due_between
from hub.automation.schedule.cron import Cron
from hub.automation.schedule.every import Every
from hub.automation.schedule.fixed import At
from hub.automation.schedule.missed import MAX_FIRED, MAX_ON_TIME
from hub.automation.schedule.timetable import Timetable
from hub.core.clock import Clock, ManualClock
from hub.core.errors import InvalidRequest
from hub.core.tasks import TaskOwner
from tests.lengths import examples

START = 1_767_225_600.0
MINUTE = 60.0
HOUR = 3600.0
DAY = 24 * HOUR
BERLIN = ZoneInfo("Europe/Berlin")


class Hall:
    """A timetable with a clock that a test drives, and what it fired."""

    def __init__(self, start: float = START) -> None:
        self.clock = ManualClock(start)
        self.tasks = TaskOwner("test")
        self.timetable = Timetable(self.clock, self.tasks)
        self.fired: list[Due] = []
        self.skipped: list[Due] = []

    async def jump(self, seconds: float) -> None:
        """Move the wall clock, and let the timetable look at it."""
        await self.clock.advance(0)
        self.clock.jump(seconds)
        await self.clock.advance(30)

    def hours(self) -> list[float]:
        return [(due.planned - START) / HOUR for due in self.fired]


async def test_a_schedule_fires_at_each_of_its_times() -> None:
    hall = Hall()
    hall.timetable.add(Every(HOUR), hall.fired.append)

    await hall.clock.advance(3 * HOUR)

    assert hall.fired == [Due(START + hour * HOUR, START + hour * HOUR) for hour in (1, 2, 3)]


async def test_nothing_fires_inside_the_call_that_adds_it() -> None:
    hall = Hall()

    hall.timetable.add(Every(HOUR), hall.fired.append, after=START - HOUR - 1)
    before = list(hall.fired)
    await hall.clock.advance(0)

    assert before == []
    assert len(hall.fired) == 1


async def test_an_earlier_entry_wakes_the_timetable() -> None:
    hall = Hall()
    hall.timetable.add(At(START + 25), hall.fired.append)
    await hall.clock.advance(1)

    hall.timetable.add(At(START + 5), hall.fired.append)
    await hall.clock.advance(5)

    assert hall.fired == [Due(START + 5, START + 5)]


async def test_what_is_taken_out_does_not_fire() -> None:
    hall = Hall()
    entry = hall.timetable.add(Every(HOUR), hall.fired.append)

    entry()
    entry()
    await hall.clock.advance(2 * HOUR)

    assert hall.fired == []
    assert len(hall.timetable) == 0
    assert hall.timetable.next_due(entry) is None


async def test_an_entry_that_takes_itself_out_fires_no_more_of_what_it_missed() -> None:
    hall = Hall()

    def once(due: Due) -> None:
        hall.fired.append(due)
        entry()

    entry = hall.timetable.add(Every(HOUR), once, catch_up=CatchUp.ALL)
    await hall.jump(5 * HOUR)

    assert hall.hours() == [1]


async def test_the_next_due_time_is_known() -> None:
    hall = Hall()
    hourly = hall.timetable.add(Every(HOUR), hall.fired.append)
    once = hall.timetable.add(At(START + 10), hall.fired.append)

    first = [hall.timetable.next_due(entry) for entry in (hourly, once)]
    await hall.clock.advance(HOUR)
    second = [hall.timetable.next_due(entry) for entry in (hourly, once)]

    assert first == [START + HOUR, START + 10]
    assert second == [START + 2 * HOUR, None]


async def test_a_callback_that_raises_is_named_and_stops_nothing(caplog: pytest.LogCaptureFixture) -> None:
    hall = Hall()

    def broken_job(due: Due) -> None:
        raise ValueError(due.planned)

    hall.timetable.add(Every(HOUR), broken_job)
    hall.timetable.add(Every(HOUR), hall.fired.append)
    with caplog.at_level(logging.ERROR):
        await hall.clock.advance(2 * HOUR)

    assert hall.hours() == [1, 2]
    assert sum("broken_job raised" in record.getMessage() for record in caplog.records) == 2


@dataclass(frozen=True)
class BreaksAfter:
    """A schedule whose rule fails from a certain time on."""

    until: float

    def next_after(self, after: float) -> float | None:
        if after >= self.until:
            raise ArithmeticError("no more")
        return self.until


async def test_a_schedule_that_fails_stops_no_other(caplog: pytest.LogCaptureFixture) -> None:
    hall = Hall()
    broken = hall.timetable.add(BreaksAfter(START + 10), hall.fired.append)
    hall.timetable.add(At(START + 20), hall.fired.append)

    await hall.clock.advance(30)

    assert Due(START + 20, START + 20) in hall.fired
    assert hall.timetable.next_due(broken) is None
    assert "BreaksAfter" in caplog.text


async def test_a_schedule_that_cannot_be_read_is_refused_at_once() -> None:
    hall = Hall()

    with pytest.raises(InvalidRequest, match="minute"):
        hall.timetable.add(Cron("61 * * * *", BERLIN), hall.fired.append)

    assert len(hall.timetable) == 0


@pytest.mark.parametrize(
    ("catch_up", "within_s", "hours", "missed"),
    [
        (CatchUp.NONE, None, [], []),
        (CatchUp.LAST, None, [3], [2]),
        (CatchUp.ALL, None, [1, 2, 3], [0, 0, 0]),
        (CatchUp.LAST, 600.0, [], []),
        (CatchUp.ALL, 1.5 * HOUR, [2, 3], [1, 0]),
    ],
)
async def test_a_suspended_machine(
    catch_up: CatchUp, within_s: float | None, hours: list[float], missed: list[int]
) -> None:
    hall = Hall()
    hall.timetable.add(Every(HOUR), hall.fired.append, catch_up=catch_up, within_s=within_s)

    await hall.jump(3 * HOUR + 900)

    assert hall.hours() == hours
    assert [due.missed for due in hall.fired] == missed
    assert all(due.caught_up for due in hall.fired)


@pytest.mark.parametrize(
    ("down_s", "catch_up", "wanted"),
    [
        (MINUTE, CatchUp.NONE, []),
        (MINUTE, CatchUp.LAST, []),
        (MINUTE, CatchUp.ALL, []),
        (3 * HOUR, CatchUp.NONE, []),
        (3 * HOUR, CatchUp.LAST, [-0.5]),
        (3 * HOUR, CatchUp.ALL, [-2.5, -1.5, -0.5]),
        (3 * DAY, CatchUp.NONE, []),
        (3 * DAY, CatchUp.LAST, [-0.5]),
        (3 * DAY, CatchUp.ALL, [hour - 71.5 for hour in range(72)]),
    ],
)
async def test_the_hub_was_down(down_s: float, catch_up: CatchUp, wanted: list[float]) -> None:
    hall = Hall()
    half_past = Every(HOUR, anchor=START - 1000 * HOUR - HOUR / 2)

    hall.timetable.add(half_past, hall.fired.append, after=START - down_s, catch_up=catch_up)
    await hall.clock.advance(HOUR / 2)

    assert hall.hours() == [*wanted, 0.5]
    assert hall.fired[-1].missed == (int(down_s // HOUR) if catch_up is CatchUp.NONE else 0)


@pytest.mark.parametrize(("catch_up", "fired"), [(CatchUp.NONE, 0), (CatchUp.LAST, 1), (CatchUp.ALL, 3)])
async def test_what_was_due_while_the_hub_was_down_is_missed_however_short_that_was(
    catch_up: CatchUp, fired: int
) -> None:
    hall = Hall()

    await hall.clock.advance(5)
    hall.timetable.add(Every(10), hall.fired.append, after=START - 21, catch_up=catch_up)
    await hall.clock.advance(1)

    assert [due.planned for due in hall.fired] == [START - 20, START - 10, START][3 - fired :]
    assert all(due.caught_up for due in hall.fired)


async def test_the_same_occurrence_does_not_fire_again_after_a_restart() -> None:
    hall = Hall()

    hall.timetable.add(Every(HOUR), hall.fired.append, after=START, catch_up=CatchUp.ALL)
    await hall.clock.advance(10)

    assert hall.fired == []


async def test_what_is_let_go_is_told_at_once_to_who_asks() -> None:
    hall = Hall()
    hall.timetable.add(Every(HOUR), hall.fired.append, on_skipped=hall.skipped.append)

    await hall.jump(3 * HOUR + 900)
    await hall.clock.advance(HOUR)

    assert [(due.planned, due.missed) for due in hall.skipped] == [(START + 3 * HOUR, 2)]
    assert [(due.planned, due.missed) for due in hall.fired] == [(START + 4 * HOUR, 0)]


async def test_a_clock_that_goes_back_fires_nothing_twice() -> None:
    hall = Hall()
    hall.timetable.add(Every(HOUR), hall.fired.append)
    await hall.clock.advance(3 * HOUR)

    await hall.jump(-2.5 * HOUR)
    await hall.clock.advance(4 * HOUR)

    assert hall.hours() == [1, 2, 3, 4]


async def test_a_clock_that_goes_back_makes_what_was_let_go_come_due() -> None:
    hall = Hall()
    hall.timetable.add(Every(HOUR), hall.fired.append)

    await hall.jump(5.5 * HOUR)
    await hall.jump(-5.5 * HOUR)
    await hall.clock.advance(2 * HOUR)

    assert hall.hours() == [1, 2]


async def test_a_clock_that_goes_back_more_than_a_day_is_believed() -> None:
    hall = Hall()
    hall.timetable.add(Every(HOUR), hall.fired.append)
    await hall.jump(5000 * DAY + HOUR - 30)
    await hall.clock.advance(10)
    wrong = list(hall.fired)

    await hall.jump(-5000 * DAY)
    await hall.clock.advance(HOUR)

    assert [due.planned for due in wrong] == [START + 5000 * DAY + HOUR]
    assert hall.hours()[1:] == [2]


async def test_a_stored_time_from_a_future_that_never_was_is_not_believed() -> None:
    hall = Hall()

    hall.timetable.add(Every(HOUR), hall.fired.append, after=START + 5000 * DAY)
    await hall.clock.advance(HOUR)

    assert hall.hours() == [1]


async def test_what_is_armed_rings_in_order_and_may_arm_others() -> None:
    hall = Hall()
    rung: list[str] = []

    def second(_: Due) -> None:
        rung.append("second")
        hall.timetable.add(At(START + 25), lambda _: rung.append("third"))

    hall.timetable.add(At(START + 20), second)
    hall.timetable.add(At(START + 10), lambda _: rung.append("first"))
    await hall.clock.advance(25)

    assert rung == ["first", "second", "third"]


async def test_an_empty_timetable_has_no_task_and_wakes_again() -> None:
    hall = Hall()
    once = hall.timetable.add(At(START + 10), lambda _: once())
    await hall.clock.advance(10)

    idle = hall.tasks.names()
    hall.timetable.add(At(START + 20), hall.fired.append)
    await hall.clock.advance(10)

    assert idle == []
    assert hall.hours() == [20 / HOUR]


async def test_a_stopped_owner_fires_and_takes_nothing_more() -> None:
    hall = Hall()
    hall.timetable.add(Every(HOUR), hall.fired.append)
    await hall.clock.advance(10)

    late = await hall.tasks.cancel_all()
    await hall.clock.advance(2 * HOUR)

    assert late == []
    assert hall.fired == []
    with pytest.raises(RuntimeError, match="stopped"):
        hall.timetable.add(At(START + HOUR), hall.fired.append)


async def test_ten_thousand_entries_come_and_go_in_a_bounded_heap() -> None:
    hall = Hall()
    kept = [hall.timetable.add(Every(HOUR, anchor=float(each)), hall.fired.append) for each in range(100)]

    for each in range(10_000):
        hall.timetable.add(At(START + DAY + each), hall.fired.append)()
    await hall.clock.advance(HOUR)

    assert len(hall.timetable) == len(kept)
    assert len(hall.fired) == 100
    assert len(hall.timetable._heap) < 1_000


@pytest.mark.parametrize("turn", ["2026-03-28", "2026-10-24"])
async def test_two_days_around_a_change_of_the_clock_fire_as_the_schedule_says(turn: str) -> None:
    start = datetime.fromisoformat(turn).replace(tzinfo=BERLIN).timestamp()
    hall = Hall(start)
    schedules = [Cron(text, BERLIN) for text in ("30 2 * * *", "*/10 * * * *", "0 */2 * * *", "0,30 1-3 * * *")]
    fired: list[list[float]] = [[] for _ in schedules]
    for schedule, times in zip(schedules, fired, strict=True):
        hall.timetable.add(schedule, lambda due, times=times: times.append(due.planned))  # type: ignore[misc]

    await hall.clock.advance(2 * DAY)

    assert fired == [due_between(schedule, start, start + 2 * DAY) for schedule in schedules]


async def test_the_real_clock_is_waited_for() -> None:
    clock = Clock()
    tasks = TaskOwner("test")
    rung = asyncio.Event()

    Timetable(clock, tasks).add(At(clock.time() + 0.02), lambda _: rung.set())

    async with asyncio.timeout(30):
        await rung.wait()
    assert await tasks.cancel_all() == []


JUMPS = st.lists(
    st.one_of(st.floats(-5 * HOUR, 20 * HOUR), st.floats(-100, 100), st.floats(0, 10 * DAY)), min_size=1, max_size=12
)


@settings(max_examples=examples(60), deadline=None)
@given(JUMPS, st.sampled_from(CatchUp), st.sampled_from([7.0, 61.0, HOUR, DAY]), st.none() | st.floats(0, 2 * DAY))
async def test_no_jump_makes_a_storm_or_fires_anything_twice(
    jumps: list[float], catch_up: CatchUp, interval_s: float, within_s: float | None
) -> None:
    hall = Hall()
    hall.timetable.add(Every(interval_s), hall.fired.append, catch_up=catch_up, within_s=within_s)
    counts, latest = [], START

    for jump in jumps:
        before = len(hall.fired)
        await hall.jump(max(jump, latest - DAY - hall.clock.time()))
        latest = max(latest, hall.clock.time())
        counts.append(len(hall.fired) - before)

    planned = [due.planned for due in hall.fired]
    assert max(counts) <= MAX_FIRED + 2 * MAX_ON_TIME
    assert [at for at, times in Counter(planned).items() if times > 1] == []
    assert all(earlier < later for earlier, later in pairwise(planned))
    assert all(due.planned <= due.now for due in hall.fired)
    assert all(due.caught_up == (due.now - due.planned > 60) for due in hall.fired)
    assert within_s is None or all(due.now - due.planned <= max(within_s, 60) for due in hall.fired)
