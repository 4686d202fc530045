"""Changes of files in folders."""

from __future__ import annotations

import asyncio
import os
import platform
from collections.abc import AsyncGenerator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from msgspec import Struct

WAIT_MS = 5_000
POLL_DELAY_MS = 300

Keep = Callable[[Any, str], bool]
"""Whether the kind of a change (`watchfiles.Change`) and its path count."""


class WatchOptions(Struct, frozen=True):
    """How folders are watched.

    Attributes:
        debounce_ms: The longest time for which changes are collected.
        step_ms: How often it checks for more changes.
        recursive: Whether folders below them are watched too.
        ignore_permission_denied: Whether folders that cannot be read are passed over.
    """

    debounce_ms: int
    step_ms: int
    recursive: bool = True
    ignore_permission_denied: bool = False


async def file_changes(
    folders: Sequence[Path], keep: Keep | None, stop: asyncio.Event, options: WatchOptions
) -> AsyncGenerator[set[tuple[Any, str]], None]:
    """Watch folders, and return the changes from now on: sets of kind and path.

    This is `watchfiles.awatch`, which would take 1.5 MB for the sake of other event loops.

    Args:
        keep: The changes that count; None for the library's choice, without those of editors and version control.
        stop: Ends it; set when the changes are closed.

    Raises:
        OSError: A folder is not there or cannot be watched.
    """
    watcher, kind, default = await asyncio.to_thread(_open, [str(folder) for folder in folders], options)
    return _changes(watcher, kind, keep or default, stop, options)


def _open(folders: list[str], options: WatchOptions) -> tuple[Any, Any, Keep]:
    from watchfiles._rust_notify import RustNotify  # documented as the way to it
    from watchfiles.filters import DefaultFilter
    from watchfiles.main import Change

    # Changes that Windows makes on its own disks are not reported to the Linux that runs in it.
    polls = bool(os.environ.get("WATCHFILES_FORCE_POLLING")) or "microsoft" in platform.release()
    watcher = RustNotify(folders, False, polls, POLL_DELAY_MS, options.recursive, options.ignore_permission_denied)
    return watcher, Change, DefaultFilter()


async def _changes(
    watcher: Any, kind: Any, keep: Keep, stop: asyncio.Event, options: WatchOptions
) -> AsyncGenerator[set[tuple[Any, str]], None]:
    thread = ThreadPoolExecutor(1, "file changes")
    look = partial(watcher.watch, options.debounce_ms, options.step_ms, WAIT_MS, stop)
    try:
        while (found := await asyncio.get_running_loop().run_in_executor(thread, look)) != "stop":
            changes = set() if found == "timeout" else {(kind(number), path) for number, path in found}
            if kept := {change for change in changes if keep(*change)}:
                yield kept
    finally:
        stop.set()
        thread.submit(watcher.close)
        thread.shutdown(wait=False)
