"""Runs work on an agent's memory files: in a thread, one change at a time for each workspace."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TypeVar

from msgspec import Struct

from hub.core.errors import HubError, NotFound, Unavailable
from hub.security.root import Root
from integrations.memory.notes.files.history import Records
from integrations.memory.notes.files.journal import Journal
from integrations.memory.notes.files.memory_files import MemoryFiles

T = TypeVar("T")


class FileWorker(Struct, frozen=True):
    """The files of one agent; every method blocks."""

    files: MemoryFiles
    journal: Journal
    history: Records


class FileWorkers:
    """The workers of all agents.

    Args:
        root_of: Gives the whole workspace of an agent.
        history_of: Gives the directory in which the changes of its memory are kept.
        now: Seconds since the epoch.
        changed: Called with the agent and the paths after each change.
    """

    def __init__(
        self,
        root_of: Callable[[str], Root],
        history_of: Callable[[str], Path],
        now: Callable[[], float],
        changed: Callable[[str, Sequence[str]], Awaitable[None]],
    ) -> None:
        self._root_of = root_of
        self._history_of = history_of
        self._now = now
        self._changed = changed
        self._workers: dict[str, FileWorker] = {}
        self._locks: dict[Path, asyncio.Lock] = {}

    async def look(self, agent_id: str, work: Callable[[FileWorker], T]) -> T:
        """Run read-only `work` on the files. Cancellation does not wait.

        Raises:
            Unavailable: The disk cannot be read.
        """
        return await asyncio.to_thread(_guarded, work, self._desk(agent_id))

    async def change(self, agent_id: str, work: Callable[[FileWorker], tuple[T, Sequence[str]]]) -> T:
        """Run `work`, which returns its result and the changed paths, after earlier changes.

        Cancelling waits until it is done: half of it would be done anyway.

        Raises:
            Unavailable: The disk cannot be written.
        """
        worker = self._desk(agent_id)
        lock = self._locks.setdefault(worker.files.root.path, asyncio.Lock())
        async with lock:
            doing = asyncio.ensure_future(asyncio.to_thread(_guarded, work, worker))
            try:
                result, paths = await asyncio.shield(doing)
            except asyncio.CancelledError:
                await asyncio.wait([doing])
                raise
        if paths:
            await self._changed(agent_id, paths)
        return result

    def _desk(self, agent_id: str) -> FileWorker:
        root, known = self._root_of(agent_id), self._workers.get(agent_id)
        if known is None or known.files.root.path != root.path:  # an agent may be given another workspace
            files, history = MemoryFiles(root), Records(self._history_of(agent_id))
            journal = Journal(files, history, lambda: int(self._now() * 1_000))
            known = self._workers[agent_id] = FileWorker(files, journal, history)
        return known


def _guarded(work: Callable[[FileWorker], T], worker: FileWorker) -> T:
    try:
        return work(worker)
    except HubError:
        raise
    except FileNotFoundError as error:
        raise NotFound(f"there is no memory file {error.filename}") from error
    except OSError as error:
        where = f" at {error.filename}" if isinstance(error.filename, str) else ""
        raise Unavailable(f"memory cannot be read or written{where}: {error.strerror or error}") from error
