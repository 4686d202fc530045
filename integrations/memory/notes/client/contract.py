"""What the memory needs of its index, and of who keeps that up to date."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any, Protocol

from hub.memory.contract import Filters, Hit, SearchAnswer, Synced, Verified
from integrations.memory.notes.job import Job


class Worker(Protocol):
    """The parts of the hub's side of the index needed here; see `index_worker.py`."""

    @property
    def running(self) -> bool:
        """Whether there is a process now."""
        ...

    @property
    def awake(self) -> bool:
        """Whether there is one that has started, and may answer at once."""
        ...

    async def search(
        self,
        job: Job,
        query: str,
        areas: Sequence[str],
        filters: Filters,
        limit: int | None,
        today: date,
        within_s: float | None = None,
    ) -> SearchAnswer:
        """Search; raises Unavailable when the worker cannot be had."""
        ...

    async def sync(self, job: Job, paths: Sequence[str] | None = None, *, force: bool = False) -> Synced:
        """Bring the index up to date."""
        ...

    async def verify(self, job: Job) -> Verified:
        """Compare files and index."""
        ...

    async def status(self, job: Job) -> Mapping[str, Any]:
        """Return facts."""
        ...

    async def similar(
        self, job: Job, areas: Sequence[str], threshold: float, limit: int
    ) -> list[tuple[Hit, Hit, float]]:
        """Return pairs that are alike."""
        ...

    async def drop(self, job: Job, texts: Sequence[str]) -> None:
        """Take texts out of the cache of vectors."""
        ...

    async def close(self) -> None:
        """End the process."""
        ...


class SearchObserver(Protocol):
    """Keeps the index up to date; see `upkeep.py`."""

    def searched(self, agent_id: str) -> None:
        """Note that an index was asked."""
        ...

    def stop(self) -> None:
        """Do nothing more; the index's process is about to be ended."""
        ...
