"""Waiting for what another task, thread, process or server comes to."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

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
