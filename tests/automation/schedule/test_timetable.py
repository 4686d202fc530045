"""The timetable fires each occurrence once, on time, and says what it let go."""

from __future__ import annotations

from hub.automation.schedule.contract import CatchUp, Due
from hub.automation.schedule.every import Every
from hub.automation.schedule.timetable import Timetable
from hub.core.clock import ManualClock
from hub.core.tasks import TaskOwner

START = 1_767_225_600.0
HOUR = 3600.0


async def test_a_schedule_fires_at_each_of_its_times() -> None:
    clock = ManualClock(START)
    timetable = Timetable(clock, TaskOwner("test"))
    fired: list[Due] = []
    timetable.add(Every(HOUR), fired.append)

    await clock.advance(3 * HOUR)

    assert [due.planned for due in fired] == [START + HOUR, START + 2 * HOUR, START + 3 * HOUR]
    assert fired[0] == Due(START + HOUR, START + HOUR)


async def test_a_suspended_machine_catches_up_the_last_one() -> None:
    clock = ManualClock(START)
    timetable = Timetable(clock, TaskOwner("test"))
    fired: list[Due] = []
    timetable.add(Every(HOUR), fired.append, catch_up=CatchUp.LAST)

    await clock.advance(1)
    clock.jump(3 * HOUR + 600)
    await clock.advance(30)

    assert [(due.planned, due.missed, due.caught_up) for due in fired] == [(START + 3 * HOUR, 2, True)]
