"""A hub's worth of automation in a process of its own, to be killed: it runs steps or goes on with what it finds.

Arguments: the database, a file that notes are appended to, the steps as JSON, and how much later it is, in seconds.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path

from msgspec.structs import replace

from hub.automation.running.execute import execute
from hub.automation.running.waiting import WaitingRuns
from hub.automation.schedule.timetable import Timetable
from hub.core.clock import Clock
from hub.core.services import ServiceCall
from tests.automation.actions.bench import ANYTHING, Bench
from tests.automation.ground import make_parts
from tests.databases import make_database


class LaterClock(Clock):
    """The real clock, put forward."""

    def __init__(self, later_s: float) -> None:
        self._later_s = later_s

    def time(self) -> float:
        return super().time() + self._later_s


async def live(database: Path, notes: Path, steps: list[object], later_s: float) -> None:
    db = make_database(database)
    await db.open()
    clock = LaterClock(later_s)
    made = make_parts()
    parts = replace(made, clock=clock, timetable=Timetable(clock, made.tasks))
    bench = Bench(parts)
    runs = WaitingRuns(db, clock.time)

    async def note(call: ServiceCall) -> None:
        with notes.open("a", encoding="utf-8") as file:
            file.write(f"{call.data['n']}\n")
            file.flush()
            os.fsync(file.fileno())
        if call.data.get("hang"):
            await asyncio.Event().wait()

    parts.services.register("test", "note", note, ANYTHING)
    found = await runs.load()
    new = bench.run(steps, keeper=runs)
    todo = [waiting.restore(new.plan, parts) for waiting in found] or [new]
    for run in todo:
        ended = await execute(run)
        print(ended.outcome.value, ended.error, flush=True)
    await db.close()


if __name__ == "__main__":
    asyncio.run(live(Path(sys.argv[1]), Path(sys.argv[2]), json.loads(sys.argv[3]), float(sys.argv[4])))
