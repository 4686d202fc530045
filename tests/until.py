"""Waiting for what another task, thread, process or server comes to."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import TypeVar

from hub.core.clock import Clock, ManualClock

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


def skip_time(seconds: float) -> None:
    """Let so much time pass at once on the event loop's clock, as for a process that was suspended.

    A limit that is to be met can then be long, so that whatever comes before it comes in time on any machine.
    """
    loop = asyncio.get_running_loop()
    shown = loop.time
    loop.time = lambda: shown() + seconds  # type: ignore[method-assign]


class ShiftedClock(Clock):
    """The real clock, but that it shows another time.

    Args:
        start: What it shows at first, seconds since the epoch; the real time without it.
    """

    def __init__(self, start: float | None = None) -> None:
        self._ahead_s = 0.0 if start is None else start - time.time()
        self._passed_s = 0.0

    def time(self) -> float:
        return time.time() + self._ahead_s + self._passed_s

    def monotonic(self) -> float:
        return time.monotonic() + self._passed_s

    def skip(self, seconds: float) -> None:
        """Let so much time pass at once; who sleeps meanwhile sleeps on."""
        self._passed_s += seconds


async def as_time_passes(clock: ManualClock, seconds: float, find: Callable[[], Found]) -> Found:
    """Move a clock on, again and again, until something is found that is true, and return it.

    One step is not enough where a loop writes a file between its pauses: it may not have begun the next pause yet.
    """
    async with asyncio.timeout(LIMIT_S):
        while not (found := find()):
            await clock.advance(seconds)
            await asyncio.sleep(LOOK_S)
    return found
