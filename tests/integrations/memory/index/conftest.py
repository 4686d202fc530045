"""A workspace with notes in it, and a real index worker beside it whose vectors come from a scripted server."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from hub.core.clock import Clock
from hub.core.errors import Unavailable
from hub.core.tasks import TaskOwner
from hub.memory.contract import NO_FILTERS, Answer, Filters
from integrations.memory.notes.worker import IndexWorker, Job, Source
from tests.servers.embedding_server import EmbeddingServer

TODAY = date(2026, 11, 21)
AREAS = ("private", "shared")

Until = Callable[[Callable[[], Awaitable[bool]]], Awaitable[None]]


@dataclass
class Notes:
    """A workspace and its index.

    Attributes:
        workspace: The files.
        job: What the worker is told; tests change it.
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
    def generation(self) -> Path:
        """Where the files of the index in force are, when there is one alone."""
        (found,) = (path for path in self.directory.iterdir() if path.name.startswith("g"))
        return found

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
    ) -> Answer:
        """Search on the day of these tests."""
        return await self.worker.search(self.job, query, areas, filters, limit, TODAY)

    async def paths(self, query: str, areas: Sequence[str] = AREAS) -> list[str]:
        """Return where a search found something."""
        return [hit.path for hit in (await self.search(query, areas)).hits]

    async def again(self, query: str) -> Answer:
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
    embeddings = {"provider": "openai", "base_url": server.base_url, "model": "words", "timeout": 5}
    job = Job("main", str(index / "main"), (Source("", str(workspace)),), {"embeddings": embeddings})
    worker = IndexWorker(index, Clock(), tasks)
    yield Notes(workspace, job, worker)
    await worker.close()
