"""The index of one agent: its current version, the work on it, and a new version while that is built."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import time
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from hub.memory.engine_contract import EngineMissing, EngineUnavailable, IndexDamaged
from integrations.memory.notes.index.current_version import (
    Current,
    holds,
    is_there,
    next_name,
    read_current,
    remove,
    take_lock,
    versions,
    write_current,
)
from integrations.memory.notes.index.embedders import ChosenEmbedder, Embedders
from integrations.memory.notes.index.engine_thread import EngineThread, Urgency
from integrations.memory.notes.index.engines import Engines
from integrations.memory.notes.index.filling import Filling, Progress
from integrations.memory.notes.index.index_version import UNSOUND, VECTORS, IndexVersion
from integrations.memory.notes.index.index_work import EMBEDDINGS, INDEX, IndexUnavailable, IndexWork, text_of
from integrations.memory.notes.index.scan import omissions
from integrations.memory.notes.index.settings import IndexSettings
from integrations.memory.notes.index.vectorizing import Outcome, Tally, take_over, vectorize
from integrations.memory.notes.job import Job

_log = logging.getLogger(__name__)

T = TypeVar("T")

LOCK_ATTEMPTS = 100
LOCK_STEP_S = 0.1
REST_S = 5.0
"""After building failed, how long no search begins it again."""
DELETED = "it was deleted"
FILES = "files"
FAILURES = (OSError, EngineMissing, *UNSOUND)


@dataclass(frozen=True, slots=True)
class Shared:
    """Resources that all indexes of the worker share.

    Attributes:
        thread: Runs the engines.
        readers: Read files.
        embedders: The embedding providers.
    """

    thread: EngineThread
    readers: Executor
    embedders: Embedders


class AgentIndex:
    """Keeps one agent's index up to date; nothing here blocks the loop.

    Args:
        job: The paths of files and index.
        shared: The resources that all indexes share.

    Attributes:
        version: The current one, None while there is none.
        synced_ms: When all files were last checked, milliseconds since the epoch.
        leaving_out: The omissions of conversations, by path (`scan.leaving_out`).
        building: How far a new index is, None when none is being built.
        first_look: Ends when the files were looked through for the first time.
    """

    def __init__(self, job: Job, shared: Shared) -> None:
        self.job = job
        self.leaving_out = omissions(job.sources)
        self.settings = IndexSettings.from_plain(job.settings)
        self.shared = shared
        self.directory = Path(job.directory)
        self.engines = Engines(self.settings)
        self.version: IndexVersion | None = None
        self.synced_ms: int | None = None
        self.building: Progress | None = None
        self.first_look = asyncio.Event()
        self._filling = Filling(shared.thread, shared.readers, self.settings)
        self._lock: int | None = None
        self._writing = asyncio.Lock()
        self._vectorizing = asyncio.Lock()
        self._opening: asyncio.Task[None] | None = None
        self._rebuilding: asyncio.Task[Tally] | None = None
        self._embed_after = float("-inf")
        self._rebuilt_at = float("-inf")
        self._work = IndexWork(job.agent_id, lambda: self._sync(None))

    @property
    def closed(self) -> bool:
        """Whether another index replaced it, or the worker is ending."""
        return self._work.closed

    @property
    def busy(self) -> bool:
        """Whether work is in progress that should not be interrupted."""
        return self._work.busy

    @property
    def wants_vectors(self) -> bool:
        """Whether passages wait for a vector that an embedder could make."""
        chosen = self.shared.embedders.chosen(self.settings)
        return self.settings.wants_vectors and chosen is not None and chosen.embedder is not None

    @property
    def problems(self) -> dict[str, str]:
        """The problems, by subject."""
        return self._work.problems

    def use(self, job: Job) -> None:
        """Replace the sources; the settings stay the same."""
        self.job = job
        self.leaving_out = omissions(job.sources)

    def begin(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Run work until it is done or the index is closed, even without a waiting caller."""
        return self._work.spawn(work)

    async def in_thread(self, call: Callable[[], T], urgency: Urgency = Urgency.WORK) -> T:
        """Run blocking work on the engines."""
        return await self.shared.thread.run(call, urgency)

    async def in_version(self, call: Callable[[IndexVersion], T]) -> T | None:
        """Run blocking work on the version that is current when its turn comes; return None when there is none.

        Another may replace the one that was current when it was asked.
        """

        def work() -> T | None:
            version = self.version  # it is closed in this thread, after it was replaced
            return None if version is None else call(version)

        return await self.in_thread(work)

    async def open(self) -> None:
        """Open the current version once; leftovers of a crash are removed, and the files are checked.

        Raises:
            IndexUnavailable: Another process holds it, or its directory cannot be used.
        """
        task = self._opening
        if task is None or (task.done() and (task.cancelled() or task.exception() is not None)):
            task = self._opening = self._work.spawn(self._open())
        await asyncio.shield(task)

    async def sync(self, paths: Sequence[str] | None = None, *, force: bool = False) -> Tally:
        """Bring the index in line with all files, or some; `force` rebuilds it. What fails is in `problems`.

        Cancelling gives up the wait; the work continues.

        Raises:
            IndexUnavailable: It cannot be opened.
        """
        await self.open()
        if force:
            return await self._rebuilt("as requested")
        return await asyncio.shield(self._work.spawn(self._sync(paths)))

    def repair(self) -> bool:
        """Start rebuilding the index if it is damaged or outdated; return whether it is being rebuilt."""
        version = self.version
        why = None if version is None else version.damage or version.outdated
        if version is not None and why is None and not is_there(self.directory, version.name):
            why = DELETED
        if why is not None and time.monotonic() - self._rebuilt_at > REST_S and not self.closed:
            self._start_rebuild(why)
        return self._rebuilding is not None and not self._rebuilding.done()

    async def close(self) -> None:
        """Stop all work and close the files."""
        await self._work.close()
        version, self.version = self.version, None
        if version is not None:
            await self.in_thread(version.close, Urgency.SEARCH)
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    # --- opening ---

    async def _open(self) -> None:
        self._lock = await self._take_lock()
        try:
            current = await self._read(lambda: read_current(self.directory))
            why = await self._open_current(current)
            await self._remove_leftovers()
        except OSError as error:
            raise IndexUnavailable(f"the index in {self.directory} cannot be opened: {text_of(error)}") from error
        if why is not None:
            self._start_rebuild(why)
        else:
            self._work.spawn(self._sync(None))

    async def _take_lock(self) -> int:
        if self._lock is not None:
            if await self._read(lambda held=self._lock: holds(held, self.directory)):  # type: ignore[misc]
                return self._lock
            os.close(self._lock)  # of a directory that was deleted: it excludes nobody
            self._lock = None
        for _ in range(LOCK_ATTEMPTS):
            try:
                found = await self._try_lock()
            except OSError as error:
                raise IndexUnavailable(f"the index in {self.directory} cannot be used: {text_of(error)}") from error
            if found is not None:
                return found
            await asyncio.sleep(LOCK_STEP_S)
        raise IndexUnavailable(f"another process uses the index in {self.directory}")

    async def _try_lock(self) -> int | None:
        taking = asyncio.ensure_future(self._read(lambda: take_lock(self.directory)))
        try:
            return await asyncio.shield(taking)
        except asyncio.CancelledError:
            # The thread takes it all the same, and nobody else could have it while this process lives.
            with contextlib.suppress(OSError):
                if (found := await taking) is not None:
                    os.close(found)
            raise

    async def _open_current(self, current: Current | None) -> str | None:
        """Open the current version, and return why another one has to be built."""
        if current is None:
            return "there is none"
        path = self.directory / current.version
        try:
            self.version = await self.in_thread(lambda: IndexVersion(path, self.engines, is_new=False))
        except (EngineMissing, *UNSOUND) as error:
            return f"it cannot be used: {text_of(error)}"
        if current.fingerprint != self.engines.fingerprint:
            return "its settings, or how passages are cut, changed"
        return self.version.outdated

    async def _remove_leftovers(self) -> None:
        for path in await self._read(lambda: list(versions(self.directory))):
            if self.version is None or path.name != self.version.name:
                await self._discard(path)

    async def _discard(self, path: Path) -> None:
        def work() -> None:
            try:
                self.engines.discard(path / VECTORS)
            except (EngineMissing, EngineUnavailable) as error:
                _log.warning("%s stays until its vectors can be deleted: %s", path, error.text)
                return
            remove(path)

        await self._read(work)

    # --- bringing up to date ---

    async def _sync(self, paths: Sequence[str] | None) -> Tally:
        tally = Tally()
        if self.version is None:
            return await self._rebuilt("there is none")
        why = None
        async with self._writing:
            version = self.version
            try:
                if await self.is_gone(version):
                    why = DELETED
                else:
                    await self._fill(version, paths)
                    self._work.clear_failure(INDEX)
            except OSError as error:
                self._work.record_failure(INDEX, f"the index cannot be written, and is as it was: {text_of(error)}")
            except UNSOUND as error:
                why = str(error)
        if why is not None:
            return await self._rebuilt(why)
        await self._vectorize(tally)
        if self.repair() and paths is None and self._rebuilding is not None:
            return tally.plus(await asyncio.shield(self._rebuilding))
        return tally

    async def is_gone(self, version: IndexVersion) -> bool:
        """Whether a version was deleted from the disk while it was in use."""
        return not await self._read(lambda: is_there(self.directory, version.name))

    async def _fill(self, version: IndexVersion, paths: Sequence[str] | None = None) -> None:
        progress = Progress()
        if paths is not None:
            await self._filling.fill_paths(version, self.job.sources, paths, progress)
            return
        await self._filling.fill_all(version, self.job.sources, progress)
        self._looked_through(progress)

    def _looked_through(self, progress: Progress) -> None:
        self.synced_ms = time.time_ns() // 1_000_000
        self.first_look.set()
        self.problems.pop(FILES, None)
        if progress.problems:
            self.problems[FILES] = " ".join(progress.problems)

    async def _vectorize(self, tally: Tally) -> None:
        """Embed the waiting passages of the current version."""
        why = None
        async with self._vectorizing:
            chosen = await self.shared.embedders.get(self.settings)
            version = self.version
            if version is None or chosen.embedder is None or time.monotonic() < self._embed_after:
                return
            outcome = await self._embed(version, chosen, tally)
            if outcome.other_vectors:
                why = f"vectors are made by {chosen.fingerprint} now"
            else:
                why = version.damage or version.outdated
        if why is not None:
            self._start_rebuild(why)

    async def _embed(self, version: IndexVersion, chosen: ChosenEmbedder, tally: Tally) -> Outcome:
        try:
            outcome = await vectorize(self.shared.thread, version, chosen, tally)
        except OSError as error:
            outcome = Outcome(f"vectors cannot be written: {text_of(error)}")
        except UNSOUND as error:
            return Outcome(str(error))  # it is rebuilt
        if outcome.problem is None:
            self._work.clear_failure(EMBEDDINGS)
        else:
            wait_s = outcome.retry_after_s or self._work.next_wait_s
            self._embed_after = time.monotonic() + wait_s
            self._work.record_failure(EMBEDDINGS, outcome.problem, wait_s)
        return outcome

    # --- rebuilding ---

    def _start_rebuild(self, why: str) -> asyncio.Task[Tally]:
        task = self._rebuilding
        if task is None or task.done():
            task = self._rebuilding = self._work.spawn(self._rebuild(why))
        return task

    async def _rebuilt(self, why: str) -> Tally:
        return await asyncio.shield(self._start_rebuild(why))

    async def _rebuild(self, why: str) -> Tally:
        """Build a new version beside the current one, and make it current when it is complete."""
        _log.info("rebuilding the index of %s: %s", self.job.agent_id, why)
        tally, progress = Tally(), Progress()
        self.building = progress
        fresh: IndexVersion | None = None
        try:
            self._lock = await self._take_lock()
            await self._delete_damaged()
            fresh = await self._begin()
            hurry = self.version is None
            await self._filling.fill_all(fresh, self.job.sources, progress, hurry=hurry)
            if self.version is not None:
                chosen = await self.shared.embedders.get(self.settings)
                old = self.version
                if _answers_by_meaning(old, chosen):
                    await take_over(self.shared.thread, old, fresh)
                    async with self._vectorizing:
                        await self._embed(fresh, chosen, tally)
            await self._put_into_force(fresh)
            self._work.clear_failure(INDEX)
        except FAILURES as error:
            self._rebuilt_at = time.monotonic()
            self._work.record_failure(INDEX, f"the index cannot be built: {text_of(error)}")
            return tally
        finally:
            self.building = None
            if fresh is not None and fresh is not self.version:
                await asyncio.shield(self._give_up(fresh))
        self._looked_through(progress)
        await self._vectorize(tally)
        return tally

    async def _delete_damaged(self) -> None:
        """Delete a damaged version before its replacement is built, since it answers nothing."""
        damaged = self.version
        if damaged is not None and damaged.damage is not None:
            self.version = None
            await self._give_up(damaged)

    async def _begin(self) -> IndexVersion:
        """Create an empty version, leaving nothing behind on failure."""
        path = await self._read(lambda: self.directory / next_name(self.directory))
        try:
            return await self.in_thread(lambda: IndexVersion(path, self.engines, is_new=True))
        except FAILURES:
            await self._discard(path)
            raise

    async def _put_into_force(self, fresh: IndexVersion) -> None:
        async with self._writing:
            # What changed while it was built; from here on nobody changes the old one.
            await self._filling.fill_all(fresh, self.job.sources, Progress())
            if fresh.damage is not None:
                raise IndexDamaged(fresh.damage)
            current = Current(fresh.name, self.engines.fingerprint)
            await self.in_thread(lambda: write_current(self.directory, current))
            old, self.version = self.version, fresh
        if old is not None:
            await self._give_up(old)
        await self._remove_leftovers()

    async def _give_up(self, version: IndexVersion) -> None:
        with contextlib.suppress(RuntimeError):  # the thread ends with the worker
            await self.in_thread(version.close)
        await self._discard(version.directory)

    async def _read(self, call: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self.shared.readers, call)


def _answers_by_meaning(version: IndexVersion, chosen: ChosenEmbedder) -> bool:
    return chosen.fingerprint is not None and version.embedder == chosen.fingerprint and version.vectors is not None
