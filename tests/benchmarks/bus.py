"""The event bus: events per second, and how firing scales with listeners that wait for something else."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from hub.core.context import system_context
from hub.core.events import Event, EventBus
from hub.core.tasks import TaskOwner
from tests.benchmarks.table import Row, row

ROUNDS = 5
EVENTS = 100_000
BATCH = 500


def measure() -> list[Row]:
    """Fire into one plain listener, one coroutine listener, and into many that filter by data."""
    return asyncio.run(_measure())


async def _measure() -> list[Row]:
    rows = [
        row("bus: 1 plain listener", "events/s", [await _plain() for _ in range(ROUNDS)], "> 400 k"),
        row("bus: 1 coroutine listener", "events/s", [await _coroutine() for _ in range(ROUNDS)], "> 150 k"),
    ]
    for count in (1, 1_000, 5_000):
        rows.append(row(f"bus: fire → listener, one of {count:,} by data", "µs", _told_apart(count), "flat"))
    return rows


async def _plain() -> float:
    bus, context, seen = EventBus(TaskOwner("bench")), system_context(), []
    bus.listen("door", lambda event: seen.append(1))
    begun = time.perf_counter()
    for number in range(EVENTS):
        bus.fire("door", {"number": number}, context)
    return EVENTS / (time.perf_counter() - begun)


async def _coroutine() -> float:
    tasks = TaskOwner("bench")
    bus, context, seen = EventBus(tasks), system_context(), []

    async def listener(event: Event) -> None:
        seen.append(1)

    bus.listen("door", listener)
    begun = time.perf_counter()
    for _ in range(EVENTS // BATCH):
        for number in range(BATCH):
            bus.fire("door", {"number": number}, context)
        await tasks.drain(timeout_s=60)
    return EVENTS / (time.perf_counter() - begun)


def _told_apart(count: int) -> list[float]:
    bus, context = EventBus(TaskOwner("bench")), system_context()
    heard: list[int] = []
    for number in range(count):
        bus.listen("door", lambda event: heard.append(time.perf_counter_ns()), {"name": f"door-{number}"})
    taken = []
    for number in range(2_000):
        data: dict[str, Any] = {"name": f"door-{number * 7 % count}"}
        begun = time.perf_counter_ns()
        bus.fire("door", data, context)
        taken.append((heard[-1] - begun) / 1000)
    return taken
