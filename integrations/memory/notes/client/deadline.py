"""Search with a deadline: the index's answer if it comes in time, else a search through the files."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from hub.memory.contract import SearchAnswer

USUAL_SHARE = 0.25
"""Of the time: an index that is awake mostly answers in it, and nothing is read beside."""
IN_TIME_SHARE = 0.85
"""Of the time: what is not there by then is gone without, so that whoever asked gets what is there."""
LATE = "the index did not answer in time"


async def within_deadline(
    index: asyncio.Future[tuple[SearchAnswer | None, str | None]],
    files: Callable[[float, str | None], Awaitable[SearchAnswer]],
    within_s: float,
    *,
    awake: bool,
) -> SearchAnswer:
    """Return the index's answer, or the result from the files if it does not come in time.

    Args:
        index: Its answer, or None and why there is none. It is left alone when it is late: so a sleeping index wakes.
        files: Searches the files for a number of seconds, and reports why.
        within_s: The time.
        awake: Whether the index may answer at once; one that starts is not waited for when the files have told.
    """
    loop = asyncio.get_running_loop()
    until = loop.time() + within_s * IN_TIME_SHARE
    if awake:
        await asyncio.wait([index], timeout=within_s * USUAL_SHARE)
    answer, why = index.result() if index.done() else (None, LATE)
    if answer is not None:
        return answer
    looking = asyncio.ensure_future(files(until - loop.time(), why))
    try:
        if not index.done():
            waiting: list[asyncio.Future[Any]] = [index] if awake else [index, looking]
            await asyncio.wait(waiting, timeout=until - loop.time(), return_when=asyncio.FIRST_COMPLETED)
            answer = index.result()[0] if index.done() else None
        return await looking if answer is None else answer
    finally:
        looking.cancel()
