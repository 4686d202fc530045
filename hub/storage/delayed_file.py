"""A versioned file that is written soon after what it keeps has changed, one write at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from hub.core.executors import DOCUMENTS
from hub.core.tasks import TaskOwner
from hub.storage.versioned_file import VersionedFile


class DelayedFile:
    """Writes a file for somebody.

    Args:
        file: The file.
        data: Returns what is to be in it.
        tasks: Owns the writing.
        sleep: Waits, seconds.
        delay_s: Changes within this time are written together.
    """

    def __init__(
        self,
        file: VersionedFile,
        data: Callable[[], Any],
        tasks: TaskOwner,
        sleep: Callable[[float], Awaitable[None]],
        delay_s: float,
    ) -> None:
        self._file, self._data, self._tasks = file, data, tasks
        self._sleep, self._delay_s = sleep, delay_s
        self._saving: asyncio.Task[None] | None = None
        self._lock = asyncio.Lock()
        self._dirty = False

    def changed(self) -> None:
        """Write what there is, soon."""
        self._dirty = True
        if self._saving is None or self._saving.done():
            self._saving = self._tasks.spawn(self._save(), name=f"save {self._file.path.name}")

    async def flush(self) -> None:
        """Write changes now; they are on disk when this returns."""
        async with self._lock:
            if not self._dirty:
                return
            self._dirty = False
            writing = asyncio.ensure_future(DOCUMENTS.run(self._file.write, self._data()))
            try:
                await asyncio.shield(writing)
            except asyncio.CancelledError:
                await asyncio.wait({writing})  # a thread cannot be cancelled: the next write comes after it
                self._dirty = self._dirty or writing.exception() is not None
                raise
            except BaseException:
                self._dirty = True
                raise

    async def close(self) -> None:
        """Write pending changes."""
        if self._saving is not None:
            self._saving.cancel()
            await asyncio.wait({self._saving})
        await self.flush()

    async def _save(self) -> None:
        while self._dirty:
            await self._sleep(self._delay_s)
            await self.flush()
