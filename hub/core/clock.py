"""The clock: for people, for durations, and one that tests drive; and how long a hub may act."""

from __future__ import annotations

import asyncio
import heapq
import time
from datetime import UTC, datetime
from itertools import count
from time import monotonic

RECHECK_S = 30.0
"""A wait for a wall-clock time looks again at least this often: a suspended machine stops monotonic time."""
QUIET_TURNS = 3
"""After so many turns in which nobody else ran, nothing is left to run: sockets and threads had their chance."""


class Clock:
    """The real clock."""

    # The system's own functions: a message asks for the time fifty times.
    time = staticmethod(time.time)
    """Return seconds since the epoch."""
    monotonic = staticmethod(monotonic)
    """Return seconds on a clock that never jumps."""

    def now(self) -> datetime:
        """Return the wall time in UTC."""
        return datetime.fromtimestamp(self.time(), UTC)

    async def sleep(self, seconds: float) -> None:
        """Wait on the monotonic clock; cancelling it ends the wait."""
        await asyncio.sleep(seconds)

    async def sleep_until(self, when: float) -> None:
        """Wait until the wall clock shows `when` (seconds since the epoch), however it jumps meanwhile."""
        while (left := when - self.time()) > 0:
            await self.sleep(min(left, RECHECK_S))


class ManualClock(Clock):
    """A clock that stands still until `advance` or `jump` moves it.

    Args:
        start: Seconds since the epoch at the beginning.
    """

    def __init__(self, start: float = 1_767_225_600.0) -> None:
        self._wall = start
        self._monotonic = 0.0
        self._waiting: list[tuple[float, int, asyncio.Future[None]]] = []
        self._order = count()

    def time(self) -> float:
        return self._wall

    def monotonic(self) -> float:
        return self._monotonic

    @property
    def sleepers(self) -> int:
        """How many wait for it."""
        return sum(not waiter.done() for *_, waiter in self._waiting)

    async def sleep(self, seconds: float) -> None:
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._waiting, (self._monotonic + seconds, next(self._order), waiter))
        await waiter

    async def advance(self, seconds: float) -> None:
        """Let `seconds` pass on both clocks, waking sleepers in order and letting each run before the next."""
        target = self._monotonic + seconds
        await _settle()
        while self._waiting and self._waiting[0][0] <= target:
            due, _, waiter = heapq.heappop(self._waiting)
            step = max(0.0, due - self._monotonic)
            self._monotonic += step
            self._wall += step
            if not waiter.done():
                waiter.set_result(None)
            await _settle()
        self._wall += target - self._monotonic
        self._monotonic = target
        await _settle()

    def jump(self, seconds: float) -> None:
        """Move the wall clock alone, as NTP, a person or a suspended machine does."""
        self._wall += seconds


class Lease:
    """The right to act outside: to send, to run a tool, to command a node. A hub on its own always has it."""

    async def held(self) -> None:
        """Return at once while it is held, with nothing in between; else wait until it is held again."""


ALWAYS = Lease()


async def _settle() -> None:
    """Let woken tasks run for a bounded number of event loop turns."""
    ready = getattr(asyncio.get_running_loop(), "_ready", (None,))  # of other loops it is not known
    quiet = 0
    for _ in range(20):
        await asyncio.sleep(0)
        quiet = 0 if ready else quiet + 1
        if quiet == QUIET_TURNS:
            return
