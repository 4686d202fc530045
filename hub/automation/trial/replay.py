"""Replays a past period: a separate bus, states, clock and timetable, fed from recorded history."""

from __future__ import annotations

import asyncio
import heapq
import sys
from collections.abc import Awaitable, Callable, Coroutine
from itertools import count
from typing import Any, TypeVar

from msgspec.structs import replace

from hub.automation.contract import RecordedSource, RunSpending
from hub.automation.engine.firing_queue import FiringQueue
from hub.automation.engine.parts import AutomationParts
from hub.automation.schedule.timetable import ScheduledEntry, Timetable
from hub.core.clock import Clock
from hub.core.events import EventBus
from hub.core.repairs import Repairs
from hub.core.states import StateMachine
from hub.core.tasks import TaskOwner

T = TypeVar("T")

TURNS = 5
"""Turns of the event loop that are given to tasks which a moment set in motion."""


class ReplayClock(Clock):
    """A clock that only `Replay.until` moves; it wakes sleepers in passing."""

    def __init__(self, start: float) -> None:
        self._start = start
        self._now = start
        self._waiting: list[tuple[float, int, asyncio.Future[None]]] = []
        self._order = count()

    def time(self) -> float:
        return self._now

    def monotonic(self) -> float:
        return self._now - self._start

    async def sleep(self, seconds: float) -> None:
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._waiting, (self._now + seconds, next(self._order), waiter))
        await waiter

    def set_time(self, when: float) -> None:
        """Set the time while nothing sleeps: for the state before the beginning."""
        self._now = when

    def next_wakeup(self) -> float | None:
        """Return the wake-up time of the next sleeper."""
        while self._waiting and self._waiting[0][2].done():
            heapq.heappop(self._waiting)
        return self._waiting[0][0] if self._waiting else None

    def move_to(self, when: float) -> bool:
        """Advance the time; return whether a sleeper woke."""
        self._now = max(self._now, when)
        woke = False
        while self._waiting and self._waiting[0][0] <= self._now:
            waiter = heapq.heappop(self._waiting)[2]
            if not waiter.done():
                waiter.set_result(None)
                woke = True
        return woke


class SteppedTimetable(Timetable):
    """A timetable without a task, driven by its caller."""

    def _arm(self, entry: ScheduledEntry) -> None:
        self._entries.add(entry)
        self._push(entry)

    def next_time(self) -> float | None:
        """Return the next due time."""
        while self._heap and self._heap[0][2].due != self._heap[0][0]:
            heapq.heappop(self._heap)
            self._dead -= 1
        return self._heap[0][0] if self._heap else None

    async def fire_due(self) -> None:
        """Fire due entries now."""
        await self._look(self._clock.time())


class _SpentThen:
    """The spending up to the time of a clock."""

    def __init__(self, spending: RunSpending, clock: Clock) -> None:
        self._spending = spending
        self._clock = clock

    def cost_usd(self, *, since: float, agent: str | None = None, automation: str | None = None) -> float:
        """Return the dollars spent since a time."""
        all_since = self._spending.cost_usd(since=since, agent=agent, automation=automation)
        return all_since - self._spending.cost_usd(since=self._clock.time(), agent=agent, automation=automation)

    def tokens(self, *, since: float, agent: str | None = None, automation: str | None = None) -> int:
        """Return the tokens used since a time."""
        all_since = self._spending.tokens(since=since, agent=agent, automation=automation)
        return all_since - self._spending.tokens(since=self._clock.time(), agent=agent, automation=automation)


class _Tasks(TaskOwner):
    """A task owner that knows which tasks have not run yet."""

    def __init__(self) -> None:
        super().__init__("backtest")
        self.fresh = False

    def spawn(self, coroutine: Coroutine[Any, Any, T], *, name: str) -> asyncio.Task[T]:
        self.fresh = True
        return super().spawn(coroutine, name=name)


class Replay:
    """Advances time from `start`.

    Args:
        parts: The hub's; nothing of it is changed.
        start: Seconds since the epoch.
    """

    def __init__(self, parts: AutomationParts, start: float) -> None:
        self.clock = ReplayClock(start)
        self._tasks = _Tasks()
        bus = EventBus(self._tasks, self.clock.time)
        states = StateMachine(bus, self.clock.time)
        self._timetable = SteppedTimetable(self.clock, self._tasks)
        self.parts = replace(
            parts,
            bus=bus,
            states=states,
            clock=self.clock,
            timetable=self._timetable,
            templates=parts.templates.over(states, self.clock),
            tasks=self._tasks,
            repairs=Repairs(bus, self.clock.time),
            judge=None,
            spending=None if parts.spending is None else _SpentThen(parts.spending, self.clock),
            history=None,
            sources={
                kind: source.replayed(bus, self.clock)
                for kind, source in parts.sources.items()
                if isinstance(source, RecordedSource)
            },
            firings=FiringQueue(sys.maxsize),
        )

    async def until(self, when: float, drain: Callable[[], Awaitable[bool]]) -> None:
        """Advance time to `when`; everything due in between comes due at its time.

        Args:
            drain: Awaited after each moment at which something may have fired; False ends it.
        """
        while (due := self._next()) is not None and due <= when:
            woke = self.clock.move_to(due)
            await self._timetable.fire_due()
            await self.settle(woke=woke)
            if not await drain():
                return
        await self.settle(woke=self.clock.move_to(when))
        await drain()

    async def settle(self, *, woke: bool = False) -> None:
        """Let pending tasks run, if there are any."""
        if not woke and not self._tasks.fresh:
            return
        for _ in range(TURNS):
            self._tasks.fresh = False
            await asyncio.sleep(0)

    async def close(self) -> None:
        """Cancel all waits."""
        await self._tasks.cancel_all(timeout_s=1.0)

    def _next(self) -> float | None:
        due, waking = self._timetable.next_time(), self.clock.next_wakeup()
        return due if waking is None else waking if due is None else min(due, waking)
