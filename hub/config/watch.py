"""Watch the configuration files of a running hub and reload when they change."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import aclosing
from pathlib import Path

from hub.config.files import YAML_SUFFIXES
from hub.core.file_changes import WatchOptions, file_changes

OPTIONS = WatchOptions(debounce_ms=200, step_ms=50, recursive=False)


async def watch_files(find_folders: Callable[[], Sequence[Path]], reload: Callable[[], Awaitable[None]]) -> None:
    """Reload when the watch begins and whenever a YAML file of the configuration changes, until cancelled.

    Args:
        find_folders: Returns the folders to watch; called again after each reload.
        reload: Reloads the configuration.
    """
    while True:
        folders = find_folders()
        stop = asyncio.Event()
        async with aclosing(await file_changes(folders, _is_yaml, stop, OPTIONS)) as changes:
            await reload()  # for changes made before
            while find_folders() == folders:
                await anext(changes)
                await reload()


def _is_yaml(_change: object, path: str) -> bool:
    return path.endswith(YAML_SUFFIXES)
