"""Runs the code of integrations within a time limit of the hub's clock."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any

from hub.core.clock import Clock
from hub.core.errors import TimedOut
from hub.core.tasks import TaskOwner

_log = logging.getLogger(__name__)

SLOW_AFTER_S = 10.0
CANCEL_LIMIT_S = 2.0


class TimeLimit:
    """Cancels work that takes too long, and logs slow work.

    Args:
        clock: Measures the limits.
        tasks: Owner of what runs.
    """

    def __init__(self, clock: Clock, tasks: TaskOwner) -> None:
        self._clock = clock
        self._tasks = tasks

    async def run(self, work: Coroutine[Any, Any, Any], limit_s: float, what: str) -> None:
        """Run to the end, or cancel it after `limit_s` seconds.

        Raises:
            TimedOut: It took longer.
            Exception: What the work raised.
        """
        task = self._tasks.spawn(_outcome(work), name=what)
        limit = self._tasks.spawn(self._clock.sleep(limit_s), name=f"limit of {what}")
        slow = self._tasks.spawn(self._log_slow(what), name=f"watch of {what}")
        try:
            await asyncio.wait({task, limit}, return_when=asyncio.FIRST_COMPLETED)
            if not task.done():
                task.cancel()
                await asyncio.wait({task}, timeout=CANCEL_LIMIT_S)
                raise TimedOut(f"{what} took longer than {limit_s:g} s and was stopped")
            error = task.result()
            if error is not None:
                raise error
        finally:
            for each in (task, limit, slow):
                each.cancel()

    async def _log_slow(self, what: str) -> None:
        await self._clock.sleep(SLOW_AFTER_S)
        _log.warning("%s is slow: %.0f s and not done", what, SLOW_AFTER_S)


async def _outcome(work: Coroutine[Any, Any, Any]) -> Exception | None:
    """Return a coroutine's result or exception, so that its task does not fail."""
    try:
        await work
    except Exception as error:  # handed to whoever waits
        return error
    return None
