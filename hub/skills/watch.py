"""Watches the directories of skills, so that commands and the dashboard follow changes; runs look by themselves."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import aclosing
from pathlib import Path
from types import ModuleType

DEBOUNCE_MS = 250
STEP_MS = 50


async def watch_folders(
    folders: Callable[[], Sequence[Path]], moved: asyncio.Event, changed: Callable[[], Awaitable[None]]
) -> None:
    """Call `changed` whenever something in the folders changes, until cancelled.

    Args:
        folders: Returns the folders that exist; asked again after `moved`.
        moved: Set when they may be others; without a folder, nothing is watched until then.
        changed: Looks at them.
    """
    while True:
        moved.clear()
        watched = folders()
        if not watched:
            await moved.wait()
            continue
        watchfiles = await asyncio.to_thread(_load)
        changes = watchfiles.awatch(*watched, debounce=DEBOUNCE_MS, step=STEP_MS, stop_event=moved)
        async with aclosing(changes) as news:
            async for _ in news:
                await changed()


def _load() -> ModuleType:
    import watchfiles

    return watchfiles
