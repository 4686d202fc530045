"""Lanes: how many runs may be active at once, and who waits for whom.

A session's lane admits one run at a time, the lane `main` sixteen, interactive before background. A run never waits for
a lane that its own context chain holds: that would be waiting for itself.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from enum import IntEnum
from functools import partial
from typing import Any

from hub.core.context import Context
from hub.core.errors import Conflict, LimitExceeded

MAIN = "main"
NESTED = "nested"
DEFAULT_LIMITS: Mapping[str, int] = {MAIN: 16, "cron": 4, "hook": 4, NESTED: 16}
WAITING_LIMIT = 10_000


class Priority(IntEnum):
    """Priority in a full lane."""

    INTERACTIVE = 0
    BACKGROUND = 1


class _Lane:
    __slots__ = ("holders", "limit", "name", "waiting")

    def __init__(self, name: str, limit: int) -> None:
        self.name = name
        self.limit = limit
        self.holders: set[str] = set()
        # One queue for each priority, in their order.
        self.waiting: list[deque[tuple[asyncio.Future[None], str]]] = [deque(), deque()]

    def wake(self) -> None:
        for queue in self.waiting:
            while queue and len(self.holders) < self.limit:
                waiter, holder = queue.popleft()
                if waiter.done():
                    continue
                self.holders.add(holder)
                waiter.set_result(None)


class Lanes:
    """All lanes by name: those of sessions appear and disappear, the shared ones have configured limits.

    Args:
        limits: Shared lanes and how many may hold each at once, over the defaults.
        beyond: Those of the process, when it carries several homes: whoever has a place in `main` needs one there too.
    """

    def __init__(self, limits: Mapping[str, int] | None = None, beyond: Lanes | None = None) -> None:
        self._beyond = beyond
        self._limits = {**DEFAULT_LIMITS, **(limits or {})}
        self._lanes: dict[str, _Lane] = {}

    def set_limits(self, limits: Mapping[str, int]) -> None:
        """Change limits during runs; a lane over its new limit drains by itself."""
        self._limits = {**DEFAULT_LIMITS, **limits}
        for lane in self._lanes.values():
            if lane.name in self._limits:
                lane.limit = self._limits[lane.name]
                lane.wake()

    def holds(self, name: str, context: Context) -> bool:
        """Whether `context` or one of its ancestors holds the lane."""
        lane = self._lanes.get(name)
        if lane is None:
            return False
        return context.id in lane.holders or not lane.holders.isdisjoint(context.chain)

    @asynccontextmanager
    async def hold(self, name: str, context: Context, priority: Priority = Priority.INTERACTIVE) -> AsyncIterator[None]:
        """Hold a place in a lane for the duration of a block; see `take`."""
        release = await self.take(name, context, priority)
        try:
            yield
        finally:
            release()

    async def take(self, name: str, context: Context, priority: Priority = Priority.INTERACTIVE) -> Callable[[], None]:
        """Wait for a place in the lane `name`, under `context.id`; return the function that releases it.

        A shared lane that the chain holds already is exchanged for the lane `nested`.

        Raises:
            Conflict: The chain already holds this lane of a session; queue the message instead of waiting.
            LimitExceeded: Ten thousand wait already.

        Cancelling it while it waits gives up the place in the queue.
        """
        if self.holds(name, context):
            if name not in self._limits:
                raise Conflict(f"this run already holds {name}; it cannot wait for itself")
            name = f"{NESTED}:{context.id}" if self.holds(NESTED, context) else NESTED
        lane = self._lanes.get(name)
        if lane is None:
            lane = self._lanes[name] = _Lane(name, self._limits.get(name, 1))
        if len(lane.holders) < lane.limit and not any(lane.waiting):
            lane.holders.add(context.id)
        else:
            await self._wait(lane, context, priority)
        release = partial(self._release, lane, context.id)
        if self._beyond is None or name != MAIN:
            return release
        try:
            release_beyond = await self._beyond.take(MAIN, context, priority)
        except BaseException:
            release()
            raise

        def release_both() -> None:
            release_beyond()
            release()

        return release_both

    def snapshot(self) -> dict[str, Any]:
        """Return the holders and the number of waiters, by lane."""
        return {
            name: {"running": len(lane.holders), "waiting": sum(map(len, lane.waiting)), "limit": lane.limit}
            for name, lane in sorted(self._lanes.items())
        }

    async def _wait(self, lane: _Lane, context: Context, priority: Priority) -> None:
        if sum(map(len, lane.waiting)) >= WAITING_LIMIT:
            raise LimitExceeded(f"{WAITING_LIMIT} runs already wait for the lane {lane.name}")
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        lane.waiting[priority].append((waiter, context.id))
        try:
            await waiter
        except asyncio.CancelledError:
            if waiter.done() and not waiter.cancelled():
                self._release(lane, context.id)
            else:
                waiter.cancel()
                self._forget(lane, waiter, priority)
            raise

    def _forget(self, lane: _Lane, waiter: asyncio.Future[None], priority: Priority) -> None:
        lane.waiting[priority] = deque(entry for entry in lane.waiting[priority] if entry[0] is not waiter)

    def _release(self, lane: _Lane, holder: str) -> None:
        lane.holders.discard(holder)
        if any(lane.waiting):
            lane.wake()
        if not lane.holders and lane.name not in self._limits and not any(lane.waiting):
            self._lanes.pop(lane.name, None)
