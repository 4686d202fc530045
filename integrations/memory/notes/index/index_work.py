"""The tasks of one index: their owner, their failures, and their retries."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from hub.memory.engine_contract import EngineMissing

_log = logging.getLogger(__name__)

T = TypeVar("T")

RETRY_AFTER_S = (5.0, 30.0, 120.0, 600.0)
"""Waits before failed work is tried again; the last one repeats."""
INDEX, EMBEDDINGS = "index", "embeddings"


class IndexUnavailable(Exception):
    """The index cannot be used now; the text says why, for people."""


class IndexWork:
    """Owns the tasks of an index and retries failed work.

    Args:
        agent_id: The agent, for the log.
        retry: Work that is tried again after a failure.

    Attributes:
        problems: The problems, by subject.
        closed: Whether another index replaced it, or the worker ends.
    """

    def __init__(self, agent_id: str, retry: Callable[[], Coroutine[Any, Any, Any]]) -> None:
        self.problems: dict[str, str] = {}
        self.closed = False
        self._agent_id = agent_id
        self._retry = retry
        self._tasks: set[asyncio.Task[Any]] = set()
        self._retrying: asyncio.Task[None] | None = None
        self._failures = 0

    @property
    def busy(self) -> bool:
        """Whether there is work that should not be cancelled."""
        return any(task is not self._retrying for task in self._tasks)

    @property
    def next_wait_s(self) -> float:
        """Seconds until the next failure is tried again."""
        return RETRY_AFTER_S[min(self._failures, len(RETRY_AFTER_S) - 1)]

    def spawn(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Start work that continues until it is done or the index is closed; none begins after that."""
        task = asyncio.get_running_loop().create_task(work)
        if self.closed:
            task.cancel()
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    def record_failure(self, concern: str, problem: str, wait_s: float | None = None) -> None:
        """Record a failure, and schedule a retry."""
        _log.warning("memory of %s: %s", self._agent_id, problem)
        self.problems[concern] = problem
        wait_s = wait_s or self.next_wait_s
        self._failures += 1
        if (self._retrying is None or self._retrying.done()) and not self.closed:
            self._retrying = self.spawn(self._retry_after(wait_s))

    def clear_failure(self, concern: str) -> None:
        """Remove a problem that is solved."""
        self.problems.pop(concern, None)
        if INDEX not in self.problems and EMBEDDINGS not in self.problems:
            self._failures = 0

    async def close(self) -> None:
        """Cancel all work and wait for its end."""
        self.closed = True
        tasks = list(self._tasks)
        for each in tasks:
            each.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _retry_after(self, wait_s: float) -> None:
        await asyncio.sleep(wait_s)
        self._retrying = None
        self.spawn(self._retry())

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            if isinstance(error, IndexUnavailable):
                self.problems[INDEX] = str(error)
                return
            _log.error("memory of %s: work died: %r", self._agent_id, error, exc_info=error)
            self.problems[INDEX] = f"work on the index died: {error!r}"


def text_of(error: Exception) -> str:
    """Return an error's text for people."""
    if isinstance(error, EngineMissing):
        return error.text
    if isinstance(error, OSError):
        return error.strerror or str(error)
    return str(error)
