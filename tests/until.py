"""Waiting for what another task, thread, process or server comes to."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

from hub.core.clock import ManualClock

LIMIT_S = 30.0
"""Longer than any machine needs."""
LOOK_S = 0.005

Found = TypeVar("Found")


async def until(find: Callable[[], Found], limit_s: float = LIMIT_S) -> Found:
    """Wait until something is found that is true, and return it."""
    async with asyncio.timeout(limit_s):
        while not (found := find()):  # noqa: ASYNC110  no event tells of it
            await asyncio.sleep(LOOK_S)
    return found


async def as_time_passes(clock: ManualClock, seconds: float, find: Callable[[], Found]) -> Found:
    """Move a clock on, again and again, until something is found that is true, and return it.

    One step is not enough where a loop writes a file between its pauses: it may not have begun the next pause yet.
    """
    async with asyncio.timeout(LIMIT_S):
        while not (found := find()):
            await clock.advance(seconds)
            await asyncio.sleep(LOOK_S)
    return found
