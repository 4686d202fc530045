"""Watches the directories of skills, so that commands and the dashboard follow changes; runs check by themselves."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import aclosing
from pathlib import Path

from hub.core.file_changes import WatchOptions, file_changes

OPTIONS = WatchOptions(debounce_ms=250, step_ms=50)


async def watch_folders(
    folders: Callable[[], Sequence[Path]], moved: asyncio.Event, changed: Callable[[], Awaitable[None]]
) -> None:
    """Call `changed` whenever something in the folders changes, until cancelled.

    Args:
        folders: Returns the folders that exist; called again after `moved`.
        moved: Set when they may be others; without a folder, nothing is watched until then.
        changed: Looks at them.
    """
    while True:
        moved.clear()
        watched = folders()
        if not watched:
            await moved.wait()
            continue
        async with aclosing(await file_changes(watched, None, moved, OPTIONS)) as changes:
            async for _ in changes:
                await changed()
