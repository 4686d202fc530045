"""The indexes of one home in a process that keeps those of all homes of a worker, instead of one process each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from hub.core.clock import Clock
from hub.core.tasks import TaskOwner
from hub.host import Share
from integrations.memory.notes.client.index_worker import IndexWorker
from integrations.memory.notes.job import Job

NAME = "memory index"


class HomeIndex(IndexWorker):
    """What one home sees of the process; its agents are known there by home and name.

    Args:
        share: What the worker gives its homes.
        home: The name of this one.
        clock, tasks: As of any other.
    """

    def __init__(self, share: Share, home: str, clock: Clock, tasks: TaskOwner) -> None:
        super().__init__(share.cache, clock, tasks)
        self._home = home
        self._apart = share.apart
        self._shared: IndexWorker = share.made.setdefault(NAME, IndexWorker(share.cache, clock, share.tasks))
        self._asked: set[str] = set()

    @property
    def running(self) -> bool:
        return self._shared.running

    @property
    def awake(self) -> bool:
        return self._shared.awake

    @property
    def pid(self) -> int | None:
        return self._shared.pid

    async def call(self, job: Job, op: str, args: Mapping[str, Any], timeout_s: float) -> Any:
        agent_id = f"{self._home}/{job.agent_id}"
        self._asked.add(agent_id)
        with self._apart():
            return await self._shared.call(replace(job, agent_id=agent_id), op, args, timeout_s)

    async def close(self) -> None:
        """Close the indexes of this home; the process goes on for the others."""
        while self._asked:
            await self._shared.leave(self._asked.pop())
