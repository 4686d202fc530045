"""The hub's side of the memory index: a worker process on demand, with none of it loaded in the hub.

One that nobody asks for a while gives way to another that rests: it has loaded what a search needs and opened nothing,
takes a part of the room, and answers the first question of the next morning in time.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

from msgspec import Struct, to_builtins

from hub.core.clock import Clock
from hub.core.errors import HubError, Unavailable
from hub.core.tasks import TaskOwner
from hub.memory.contract import NO_FILTERS, Filters, Hit, SearchAnswer, Synced, Verified
from integrations.memory.notes.client.answers import read_as
from integrations.memory.notes.client.process import STOP_S, WorkerProcess, start
from integrations.memory.notes.job import Job

_log = logging.getLogger(__name__)

IDLE_S = 3_600.0
SEARCH_S = 10.0
STATUS_S = 30.0
SIMILAR_S = 120.0
DROP_S = 60.0
EMBED_S = 60.0
SYNC_S = 3_600.0
PING_S = 3.0
HANG_S = 10.0
"""A worker that does not even say that it is there for so long is ended; the next call starts another."""
BACKOFF_FIRST_S = 0.5
BACKOFF_MOST_S = 3.0
STEADY_S = 60.0
"""The backoff starts over after a worker has lived so long."""


class _Made(Struct, frozen=True):
    model: str
    vectors: list[list[float]]


class IndexWorker:
    """Maintains the indexes of all agents in a separate process, started on demand.

    Every call raises `Unavailable` when the worker cannot be had, ends while it answers, or takes too long; the next
    one starts it again, after a wait that grows with each death. Cancelling a call gives up the wait; what it began
    in the index continues.

    Args:
        cache_dir: The cache of vectors that were paid for; made when it is missing.
        clock: The clock of the hub.
        tasks: The owner of the background tasks.
        idle_s: The idle time after which a worker is replaced by a small one.
    """

    def __init__(self, cache_dir: Path, clock: Clock, tasks: TaskOwner, *, idle_s: float = IDLE_S) -> None:
        self._cache_dir = cache_dir
        self._clock = clock
        self._tasks = tasks
        self._idle_s = idle_s
        self._process: WorkerProcess | None = None
        self._attending: asyncio.Task[None] | None = None
        self._idling: asyncio.Task[None] | None = None
        self._doubting: asyncio.Task[None] | None = None
        self._starting = asyncio.Lock()
        self._told: dict[str, Job] = {}
        self._telling: dict[str, asyncio.Lock] = {}
        self._used_at = 0.0
        self._started_at = 0.0
        self._backoff_s = 0.0
        self._not_before = float("-inf")
        self._why = ""
        self._ending = False
        self._closed = False

    @property
    def running(self) -> bool:
        """Whether the process is running."""
        return self._process is not None and self._process.alive

    @property
    def awake(self) -> bool:
        """Whether the process has started, so that it can answer at once."""
        return self._process is not None and self._process.alive and self._process.has_answered

    @property
    def pid(self) -> int | None:
        """Its process id; None if it is not running."""
        return self._process.pid if self._process is not None and self._process.alive else None

    async def search(
        self,
        job: Job,
        query: str,
        areas: Sequence[str],
        filters: Filters = NO_FILTERS,
        limit: int | None = None,
        today: date | None = None,
        within_s: float | None = None,
    ) -> SearchAnswer:
        """Return the passages of some areas that answer a query best.

        Args:
            job: The memory.
            query: The search words.
            areas: The visible areas; nothing else is searched.
            filters: Conditions on passages.
            limit: How many at most; as configured without it.
            today: The day from which age and words such as `yesterday` are counted.
            within_s: After which it answers by words alone when vectors are late; the process has to be there for that.

        Raises:
            Unavailable: See the class; the caller searches the files instead.
        """
        args = {
            "query": query,
            "areas": list(areas),
            "filters": to_builtins(filters),
            "limit": limit,
            "today": (today or self._clock.now().date()).isoformat(),
            "within_s": within_s,
        }
        return read_as(SearchAnswer, await self.call(job, "search", args, SEARCH_S))

    async def sync(self, job: Job, paths: Sequence[str] | None = None, *, force: bool = False) -> Synced:
        """Update the index from all files, or from some, named as in results; `force` rebuilds it beside the old one.

        Returns when what changed can be found by word, and has vectors or a reason why not.
        """
        args = {"paths": None if paths is None else list(paths), "force": force}
        return read_as(Synced, await self.call(job, "sync", args, SYNC_S))

    async def verify(self, job: Job) -> Verified:
        """Compare files and index, and repair differences."""
        return read_as(Verified, await self.call(job, "verify", {}, SYNC_S))

    async def status(self, job: Job) -> dict[str, Any]:
        """Return facts on files, index, engines and embeddings."""
        return read_as(dict[str, Any], await self.call(job, "status", {}, STATUS_S))

    async def similar(
        self, job: Job, areas: Sequence[str], threshold: float, limit: int
    ) -> list[tuple[Hit, Hit, float]]:
        """Return pairs of similar passages of one area, with their similarity 0 to 1, highest first."""
        args = {"areas": list(areas), "threshold": threshold, "limit": limit}
        return read_as(list[tuple[Hit, Hit, float]], await self.call(job, "similar", args, SIMILAR_S))

    async def embed(self, job: Job, texts: Sequence[str]) -> tuple[str, list[list[float]]]:
        """Return the embedder of this agent, and the vector of each text.

        Raises:
            Unavailable: Nobody does, or not now.
        """
        made = read_as(_Made, await self.call(job, "embed", {"texts": list(texts)}, EMBED_S))
        return made.model, made.vectors

    async def drop(self, job: Job, texts: Sequence[str]) -> None:
        """Delete forgotten texts from the vector cache: each passage that contains one of them.

        Best called right after the `sync` that took it out of the index, or before.
        """
        await self.call(job, "drop", {"texts": list(texts)}, DROP_S)

    async def leave(self, agent_id: str) -> None:
        """Have the index of an agent closed; what is asked about it later opens it again."""
        process = self._process
        if process is None or not process.alive or self._told.pop(agent_id, None) is None:
            return
        with contextlib.suppress(HubError):  # a process that ends has closed it
            await process.call({"op": "leave", "agent": agent_id}, STATUS_S)

    async def close(self) -> None:
        """Stop the process and wait for its end; nothing is started afterwards."""
        self._closed = True
        async with self._starting:
            await self._end()

    async def call(self, job: Job, op: str, args: Mapping[str, Any], timeout_s: float) -> Any:
        """Have the process do something with the index of an agent, and return its answer; see the class."""
        process = await self._ready()
        self._used_at = self._clock.monotonic()
        if (self._idling is None or self._idling.done()) and not self._tasks.closed:
            self._idling = self._tasks.spawn(self._watch_idle(), name="memory index idle")
        try:
            await self._tell(process, job)
            return await process.call({"op": op, "agent": job.agent_id, "args": args}, timeout_s)
        except (Unavailable, asyncio.CancelledError):
            self._doubt(process)
            raise
        finally:
            self._used_at = self._clock.monotonic()

    def _doubt(self, process: WorkerProcess) -> None:
        """Check in the background whether a worker with an abandoned call hangs."""
        under_way = self._doubting is not None and not self._doubting.done()
        if process.alive and not under_way and not self._closed and not self._tasks.closed:
            self._doubting = self._tasks.spawn(self._end_if_it_hangs(process), name="memory index watchdog")

    async def _end_if_it_hangs(self, process: WorkerProcess) -> None:
        try:
            await process.call({"op": "ping"}, HANG_S)
        except Unavailable:
            if process.alive:
                _log.warning("the memory index worker %d hangs, and is ended", process.pid)
                process.kill()

    async def _tell(self, process: WorkerProcess, job: Job) -> None:
        """Send a job to the worker once."""
        async with self._telling.setdefault(job.agent_id, asyncio.Lock()):
            if self._told.get(job.agent_id) == job:
                return
            await process.call({"op": "job", "args": job.as_plain()}, STATUS_S)  # it may be starting
            if process is self._process:
                self._told[job.agent_id] = job

    async def _ready(self) -> WorkerProcess:
        """Return the worker, started if necessary.

        Raises:
            Unavailable: It ended lately and is not started yet, or cannot be.
        """
        if self._closed:
            raise Unavailable("the memory index is closed")
        if self._process is not None and self._process.alive and not self._ending:
            return self._process
        async with self._starting:
            if self._closed:
                raise Unavailable("the memory index is closed")
            if self._process is not None and self._process.alive:
                return self._process
            if self._attending is not None:  # it has ended, and how is not told before this
                await asyncio.wait([self._attending])
            left_s = self._not_before - self._clock.monotonic()
            if left_s > 0:
                raise Unavailable(f"{self._why}; it is started again in {left_s:.0f} s", retry_after_s=left_s)
            return await self._start()

    async def _start(self) -> WorkerProcess:
        try:
            self._cache_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
            process = await start([str(self._cache_dir)], self._on_end)
        except OSError as error:
            self._put_off(f"the memory index worker cannot be started: {error.strerror or error}")
            raise Unavailable(self._why) from error
        try:
            self._attending = self._tasks.spawn(process.attend(), name="memory index worker")
        except RuntimeError as error:
            process.hang_up()
            raise Unavailable("the hub is stopping") from error
        self._process = process
        self._told = {}
        self._started_at = self._used_at = self._clock.monotonic()
        _log.info("the memory index worker is process %d", process.pid)
        return process

    def _on_end(self, why: str) -> None:
        self._told = {}
        self._process = None
        if not self._ending and not self._closed:
            self._put_off(why)

    def _put_off(self, why: str) -> None:
        """Delay the next start, longer each time."""
        now = self._clock.monotonic()
        if now - self._started_at >= STEADY_S:
            self._backoff_s = 0.0
        self._why = why
        self._not_before = now + self._backoff_s
        _log.warning("%s; it is started again when it is needed, after %.1f s", why, self._backoff_s)
        self._backoff_s = min(max(self._backoff_s * 2, BACKOFF_FIRST_S), BACKOFF_MOST_S)

    async def _watch_idle(self) -> None:
        """Replace an idle worker with a fresh one."""
        while self._process is not None:
            left_s = self._used_at + self._idle_s - self._clock.monotonic()
            if left_s > 0:
                await self._clock.sleep(left_s)
                continue
            async with self._starting:
                process: WorkerProcess | None = self._process
                if process is not None and (process.in_flight or await self._is_busy(process)):
                    self._used_at = self._clock.monotonic()
                    continue
                jobs = list(self._told.values())
                await self._end()
                if process is None or self._closed:
                    return
                try:
                    process = await self._start()
                except Unavailable:
                    return  # the next question tries again
            rests_since = self._used_at
            await self._lull(process, jobs)
            if self._used_at == rests_since:
                return  # until it is asked

    async def _lull(self, process: WorkerProcess, jobs: Sequence[Job]) -> None:
        """Preload a fresh worker with what searches in the same memories need."""
        try:
            for job in jobs:
                await self._tell(process, job)
            await process.call({"op": "prepare"}, STATUS_S)
        except HubError as error:
            _log.info("the memory index worker is not prepared: %s", error.message)

    async def _is_busy(self, process: WorkerProcess) -> bool:
        try:
            answer = await process.call({"op": "ping"}, PING_S)
        except Unavailable:
            return False
        busy = not isinstance(answer, dict) or bool(answer.get("busy"))
        return busy or self._clock.monotonic() - self._used_at < self._idle_s

    async def _end(self) -> None:
        self._ending = True
        try:
            process = self._process
            if process is not None:
                process.hang_up()
            if self._attending is not None:
                with contextlib.suppress(asyncio.CancelledError):
                    _, slow = await asyncio.wait([self._attending], timeout=STOP_S)
                    if slow and process is not None:
                        process.kill()
                    await asyncio.wait([self._attending])
        finally:
            self._ending = False
        idling = self._idling
        if idling is not None and idling is not asyncio.current_task():
            idling.cancel()
            await asyncio.wait([idling])
