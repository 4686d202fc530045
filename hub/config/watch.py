"""Watch the configuration files of a running hub and reload when they change."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from pathlib import Path
from types import ModuleType
from typing import Any

from hub.config.files import YAML_SUFFIXES

DEBOUNCE_MS = 200
STEP_MS = 50


async def watch_files(find_folders: Callable[[], Sequence[Path]], reload: Callable[[], Awaitable[None]]) -> None:
    """Reload when the watch begins and whenever a YAML file of the configuration changes, until cancelled.

    Args:
        find_folders: Returns the folders to watch; asked again after each reload.
        reload: Reloads the configuration.
    """
    watchfiles = await asyncio.to_thread(_load)
    while True:
        folders = find_folders()
        stop = asyncio.Event()
        changes = watchfiles.awatch(
            *folders,
            watch_filter=_is_yaml,
            debounce=DEBOUNCE_MS,
            step=STEP_MS,
            recursive=False,
            stop_event=stop,
        )
        async with aclosing(_from_the_start(changes)) as news:
            async for _ in news:
                await reload()
                if find_folders() != folders:
                    stop.set()


async def _from_the_start(changes: AsyncGenerator[Any, None]) -> AsyncGenerator[None, None]:
    """Yield once when the watch has started, for changes made before, and then with every change."""
    following = asyncio.ensure_future(anext(changes, None))
    try:
        await asyncio.sleep(0)
        yield
        while await following is not None:
            yield
            following = asyncio.ensure_future(anext(changes, None))
    finally:
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)
        await changes.aclose()


def _load() -> ModuleType:
    import watchfiles

    return watchfiles


def _is_yaml(_change: object, path: str) -> bool:
    return path.endswith(YAML_SUFFIXES)
