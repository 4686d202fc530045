"""What the engine stands on, real but for the clock: a bus, states, services, a timetable, templates, people."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from threading import Barrier
from typing import Any, TypeVar, cast
from zoneinfo import ZoneInfo

from hub.automation.contract import ConditionContext, Judge, Location, RunSpending
from hub.automation.definition.kinds import OUR_KINDS
from hub.automation.engine.parts import AutomationParts
from hub.automation.schedule.timetable import Timetable
from hub.core.clock import ManualClock
from hub.core.context import SYSTEM, Context
from hub.core.events import EventBus
from hub.core.repairs import Repairs
from hub.core.services import ServiceRegistry
from hub.core.sql import SqlConnection
from hub.core.states import StateMachine
from hub.core.tasks import TaskOwner
from hub.security.people import People, Person
from hub.storage.database import Database
from hub.storage.history import HistoryStore
from hub.storage.readers import READ_LIMIT_S, THREADS
from hub.template.engine import TemplateEngine
from tests.databases import make_database

T = TypeVar("T")
BERLIN = ZoneInfo("Europe/Berlin")
NEW_YEAR = 1_767_225_600.0
"""2026-01-01 00:00 UTC, a Thursday; 01:00 in Berlin."""


def make_parts(
    home: Path = Path("/nowhere"),
    *,
    start: float = NEW_YEAR,
    judge: Judge | None = None,
    spending: RunSpending | None = None,
    history: HistoryStore | None = None,
    location: Location | None = None,
    people: People | None = None,
) -> AutomationParts:
    """Make parts whose clock is a `ManualClock` that begins at `start`."""
    clock = ManualClock(start)
    tasks = TaskOwner("test")
    bus = EventBus(tasks, clock.time)
    states = StateMachine(bus, clock.time)
    residents = people or People([Person("anna", "Anna", owner=True), Person("ben", "Ben")])
    return AutomationParts(
        bus,
        states,
        ServiceRegistry(bus),
        clock,
        Timetable(clock, tasks),
        TemplateEngine(states, clock, lambda: BERLIN, custom_templates=home / "custom_templates"),
        tasks,
        Repairs(bus, clock.time),
        home,
        lambda: BERLIN,
        lambda: location,
        lambda: residents,
        OUR_KINDS,
        judge,
        spending,
        history,
    )


def clock_of(parts: AutomationParts) -> ManualClock:
    """Return the clock of parts made by `make_parts`."""
    assert isinstance(parts.clock, ManualClock)
    return parts.clock


def asking(
    parts: AutomationParts, variables: dict[str, Any] | None = None, *, templates: bool = True
) -> ConditionContext:
    """Ask as the automation `morning`, with the rights of the hub."""
    return ConditionContext(parts, variables or {}, Context(SYSTEM), "morning", templates)


class CountedDatabase(Database):
    """The database of a hub, which counts what it is asked."""

    def __init__(self, path: Path) -> None:
        self.inner = make_database(path)
        self.asked = 0
        self.dead = False

    def kill(self) -> None:
        """Write nothing more, as after `kill -9`: what is asked for then is done and undone."""
        self.dead = True

    async def open(self) -> None:
        await self.inner.open()

    async def close(self) -> None:
        await self.inner.close()

    async def write(self, fn: Callable[[SqlConnection], T]) -> T:
        self.asked += 1
        if self.dead:
            return await self._undone(fn)
        return await self.inner.write(fn)

    async def read(self, fn: Callable[[SqlConnection], T], *, limit_s: float = READ_LIMIT_S) -> T:
        self.asked += 1
        return await self.inner.read(fn, limit_s=limit_s)

    def post(self, fn: Callable[[SqlConnection], Any]) -> bool:
        self.asked += 1
        return not self.dead and self.inner.post(fn)

    async def _undone(self, fn: Callable[[SqlConnection], T]) -> T:
        class Undone(Exception):
            """Ends the transaction."""

        def work(connection: SqlConnection) -> None:
            raise Undone(fn(connection))

        try:
            await self.inner.write(work)
        except Undone as error:
            return cast(T, error.args[0])
        raise AssertionError("a transaction was not undone")


async def finish_database_work(db: Database) -> None:
    """Wait until every read and write submitted so far has been answered; a `CountedDatabase` counts none of it."""
    met = Barrier(THREADS)  # each reader gets here only when it has done what it had begun
    inner = db.inner if isinstance(db, CountedDatabase) else db
    await asyncio.gather(inner.write(lambda _: None), *(inner.read(lambda _: met.wait()) for _ in range(THREADS)))
