"""A clock that begins in the past and is moved until it is released: then it is the real one."""

from __future__ import annotations

import asyncio
import heapq
import time
from collections.abc import Callable
from itertools import count

from hub.core.clock import Clock

LOOK_S = 0.0004
"""What each look at the clock takes, so that what happened in the past took some time."""
IDLE_S = 0.02
"""What nothing happens for so long in waits for the clock."""
TURNS = 12
"""How often the others get their turn before the clock goes on."""


class PastClock(Clock):
    """Stands still but for looks at it, until `travel`, `spend` or `until` moves it.

    Args:
        start: Seconds since the epoch at the beginning.
    """

    def __init__(self, start: float) -> None:
        self._wall = start
        self._offset = -start
        self._is_past = True
        self._waiting: list[tuple[float, int, asyncio.Future[None]]] = []
        self._order = count()

    # Clock has the system's own functions in these places.
    def time(self) -> float:
        """Return seconds since the epoch."""
        if not self._is_past:
            return time.time()
        self._wall += LOOK_S
        return self._wall

    def monotonic(self) -> float:
        """Return seconds on a clock that never jumps."""
        return (self._wall if self._is_past else time.monotonic()) + self._offset

    async def sleep(self, seconds: float) -> None:
        """Wait until the clock was moved on by that much."""
        due = self.monotonic() + seconds
        while self._is_past and (seconds <= 0 or self.monotonic() < due):
            if seconds <= 0:
                await asyncio.sleep(0)
                return
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            heapq.heappush(self._waiting, (due, next(self._order), waiter))
            await waiter
        await asyncio.sleep(due - self.monotonic())

    async def spend(self, seconds: float) -> None:
        """Let that much time pass at once, in the past; wait for it once the clock is real."""
        if self._is_past:
            self._wall += seconds
            seconds = 0
        await asyncio.sleep(seconds)

    async def travel(self, when: float) -> None:
        """Go to a time (seconds since the epoch), waking everyone who waited for a time before it."""
        self._wall = max(self._wall, when)
        while self._waiting and self._waiting[0][0] <= self.monotonic():
            waiter = heapq.heappop(self._waiting)[2]
            if not waiter.done():
                waiter.set_result(None)
        for _ in range(TURNS):
            await asyncio.sleep(0)

    async def until(self, is_over: Callable[[], bool]) -> None:
        """Wait for what others do; when nothing but the clock holds them up, it moves to the next sleeper."""
        while not is_over():
            before = self._wall
            await asyncio.sleep(IDLE_S / 10)
            idle = 0
            while not is_over() and idle < 10 and self._wall == before:
                await asyncio.sleep(IDLE_S / 10)
                idle += 1
            if not is_over() and self._wall == before and self._waiting:
                await self.travel(self._waiting[0][0] - self._offset)

    def release(self) -> None:
        """Be the real clock from now on."""
        self._offset += self._wall - time.monotonic()
        self._is_past = False
        for _, _, waiter in self._waiting:
            if not waiter.done():
                waiter.set_result(None)
        self._waiting.clear()
