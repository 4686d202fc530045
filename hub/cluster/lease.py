"""The lease of a worker: how long after its last good heartbeat it may still act outside of itself."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

from hub.core.clock import Lease

LEASE_S = 6.0
"""After so long without a heartbeat a worker is taken for dead."""
MARGIN_S = 1.0
"""So long before that it does nothing more outside: what it begins last has ended by then, or is on its way."""
LOOK_S = 0.1


def boot_time() -> float:
    """Return seconds since the machine was started: nobody sets this clock, and it goes on while a machine sleeps."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class WorkerLease(Lease):
    """Held until `LEASE_S - MARGIN_S` after the start of the last heartbeat that arrived; any thread may renew it.

    Args:
        now: The time since the machine was started, seconds.
        sleep: Waits so many seconds.
    """

    def __init__(
        self,
        now: Callable[[], float] = boot_time,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        self.now = now
        self._sleep = sleep
        self._until = float("-inf")

    @property
    def is_held(self) -> bool:
        """Whether it is held now."""
        return self.now() < self._until

    def renew(self, begun: float) -> None:
        """Note that a heartbeat arrived.

        Args:
            begun: When it was begun.
        """
        self._until = begun + LEASE_S - MARGIN_S

    async def held(self) -> None:
        while not self.is_held:
            await self._sleep(LOOK_S)
