"""Watches the configuration files of a running hub and reloads when they change."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from hub.config.files import YAML_SUFFIXES

if TYPE_CHECKING:
    from hub.config.store import ConfigStore, OnReload

DEBOUNCE_MS = 200
STEP_MS = 50


async def watch_files(store: ConfigStore, on_reload: OnReload) -> None:
    """Reload whenever a YAML file of the configuration changes, until cancelled.

    Args:
        store: Whose files.
        on_reload: Awaited with each result that changed, or refused, something.
    """
    watchfiles = await asyncio.to_thread(_load)
    while True:
        folders = _folders(store)
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
                result = await store.reload()
                if result.changed or result.errors or result.left_recovery:
                    await on_reload(result)
                if _folders(store) != folders:
                    stop.set()


async def _from_the_start(changes: AsyncGenerator[Any, None]) -> AsyncGenerator[None, None]:
    """Yield once when the watch has begun, because nobody saw what changed before, and then with every change."""
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


def _folders(store: ConfigStore) -> list[Path]:
    """Return every folder that holds a file of the configuration, or whose files are included."""
    names = {str(Path(name).parent) for name in store.files_read} | set(store.folders_read) | {"."}
    return sorted(folder for name in names if (folder := store.home / name).is_dir())


def _is_yaml(_change: object, path: str) -> bool:
    return path.endswith(YAML_SUFFIXES)
