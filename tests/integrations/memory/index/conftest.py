"""A workspace with notes in it, and a real index worker beside it whose vectors come from a scripted server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import date
from functools import partial
from pathlib import Path
from threading import Event
from typing import Any

import orjson
import pytest
from msgspec.structs import replace

from hub.core.clock import Clock
from hub.core.errors import Unavailable
from hub.core.tasks import TaskOwner
from hub.memory.contract import NO_FILTERS, Filters, SearchAnswer
from integrations.memory.notes.client.index_worker import IndexWorker
from integrations.memory.notes.index.agent_index import AgentIndex, Shared
from integrations.memory.notes.index.asking import search
from integrations.memory.notes.index.embedders import Embedders
from integrations.memory.notes.index.engine_thread import EngineThread
from integrations.memory.notes.index.index_work import IndexUnavailable
from integrations.memory.notes.job import Job, Source
from tests.servers.embedding_server import EmbeddingServer

TODAY = date(2026, 11, 21)
AREAS = ("private", "shared")

Until = Callable[[Callable[[], Awaitable[bool]]], Awaitable[None]]


@dataclass
class Notes:
    """A workspace and its index.

    Attributes:
        workspace: The files.
        job: The worker's job; tests change it.
        worker: The hub's side of it.
    """

    workspace: Path
    job: Job
    worker: IndexWorker
    written: list[str] = field(default_factory=list)

    @property
    def directory(self) -> Path:
        """Where the index is."""
        return Path(self.job.directory)

    @property
    def version(self) -> Path:
        """Where the files of the current version are."""
        return self.directory / str(orjson.loads((self.directory / "current").read_bytes())["version"])

    def write(self, path: str, text: str) -> None:
        """Write a file as an editor does."""
        target = self.workspace / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")

    def settings(self, **changed: Any) -> None:
        """Change the section `memory`."""
        self.job = replace(self.job, settings={**self.job.settings, **changed})

    def words_alone(self) -> None:
        """Let nobody make vectors."""
        self.settings(embeddings={"provider": "none"})

    async def search(
        self, query: str, areas: Sequence[str] = AREAS, filters: Filters = NO_FILTERS, limit: int | None = None
    ) -> SearchAnswer:
        """Search on the day of these tests."""
        return await self.worker.search(self.job, query, areas, filters, limit, TODAY)

    async def paths(self, query: str, areas: Sequence[str] = AREAS) -> list[str]:
        """Return where a search found something."""
        return [hit.path for hit in (await self.search(query, areas)).hits]

    async def reopen(self, tasks: TaskOwner) -> None:
        """Let another worker take the place of this one."""
        await self.worker.close()
        self.worker = IndexWorker(self.directory.parent, Clock(), tasks)

    async def again(self, query: str) -> SearchAnswer:
        """Search until the worker is there again."""
        while True:
            try:
                return await self.search(query)
            except Unavailable:
                continue


@pytest.fixture
def server() -> Iterator[EmbeddingServer]:
    """A scripted server of this test's own."""
    with EmbeddingServer() as running:
        yield running


@pytest.fixture
async def tasks() -> AsyncIterator[TaskOwner]:
    """The owner of what goes on; nothing is left at the end."""
    owner = TaskOwner("test")
    yield owner
    assert await owner.cancel_all() == []


@pytest.fixture
async def notes(tmp_path: Path, server: EmbeddingServer, tasks: TaskOwner) -> AsyncIterator[Notes]:
    """An empty workspace."""
    workspace = tmp_path / "workspace"
    (workspace / "memory").mkdir(parents=True)
    index = tmp_path / "index"
    embeddings = {"provider": "openai", "base_url": server.base_url, "model": "words", "timeout": 60}
    job = Job("main", str(index / "main"), (Source("", str(workspace)),), {"embeddings": embeddings})
    worker = IndexWorker(index, Clock(), tasks)
    yield Notes(workspace, job, worker)
    await worker.close()


class Hold:
    """Holds up a read: it has `begun`, and goes on when it is `over`."""

    def __init__(self) -> None:
        self.begun, self.over = Event(), Event()

    def run(self, call: Callable[[], Any]) -> Any:
        """Call it when the hold is over."""
        self.begun.set()
        self.over.wait()
        return call()


class HeldReaders(ThreadPoolExecutor):
    """Threads that read files, of which a test holds one up."""

    _hold: Hold | None = None

    def hold_next(self) -> Hold:
        """Hold up the next read."""
        self._hold = Hold()
        return self._hold

    def submit(self, call: Callable[..., Any], /, *arguments: Any, **named: Any) -> Future[Any]:
        hold, self._hold = self._hold, None
        if hold is None:
            return super().submit(call, *arguments, **named)
        return super().submit(hold.run, partial(call, *arguments, **named))


class Shelf:
    """A library in this process, reopened as often as a test needs.

    Args:
        notes: Where its files are.
        embedders: Who makes vectors.
    """

    def __init__(self, notes: Notes, embedders: Embedders) -> None:
        self.notes = notes
        self._embedders = embedders
        self._thread = EngineThread()
        self.readers = HeldReaders(2)
        self.index = self._opened()

    async def reopen(self) -> None:
        """Close it and open it again."""
        await self.index.close()
        self.index = self._opened()

    async def search(self, query: str, filters: Filters = NO_FILTERS, within_s: float | None = None) -> SearchAnswer:
        """Search on the day of these tests."""
        return await search(self.index, query, AREAS, filters, None, TODAY, within_s)

    async def settled(self, query: str) -> SearchAnswer:
        """Search until there is nothing to complain of."""
        while True:
            try:
                answer = await self.search(query)
            except IndexUnavailable:
                await asyncio.sleep(0.01)
                continue
            if answer.degraded is None and answer.hits:
                return answer
            await asyncio.sleep(0.01)

    async def close(self) -> None:
        """Let go of everything."""
        await self.index.close()
        await self._embedders.close()
        self._thread.close(5.0)
        self.readers.shutdown()

    def _opened(self) -> AgentIndex:
        return AgentIndex(self.notes.job, Shared(self._thread, self.readers, self._embedders))


@pytest.fixture
async def shelf(notes: Notes) -> AsyncIterator[Shelf]:
    """A library of the notes in this process."""
    made = Shelf(notes, Embedders(notes.directory.parent / "embeddings.db"))
    yield made
    await made.close()
