"""Tasks with owners: an owner names them, reports their failures and cancels them at stop."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

_log = logging.getLogger(__name__)

T = TypeVar("T")
OnDeath = Callable[[str, BaseException], None]

STOP_LIMIT_S = 8.0


class TaskOwner:
    """Owns asyncio tasks.

    Args:
        name: Shown before each task's name in logs.
        on_death: Called with the name and error of a task that failed, after it was logged.

    Attributes:
        closed: Whether it has stopped or is stopping, and starts no new tasks.
    """

    def __init__(self, name: str, on_death: OnDeath | None = None) -> None:
        self.name = name
        self._on_death = on_death
        self._tasks: set[asyncio.Task[Any]] = set()
        self.closed = False

    def spawn(self, coroutine: Coroutine[Any, Any, T], *, name: str) -> asyncio.Task[T]:
        """Start `coroutine` as a task of this owner.

        Raises:
            RuntimeError: The owner was stopped; the coroutine is closed.
        """
        if self.closed:
            coroutine.close()
            raise RuntimeError(f"{self.name} has stopped and cannot start {name}")
        task = asyncio.get_running_loop().create_task(coroutine, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    def names(self) -> list[str]:
        """Return the names of the running tasks."""
        return sorted(task.get_name() for task in self._tasks)

    async def cancel_all(self, *, timeout_s: float = STOP_LIMIT_S) -> list[str]:
        """Cancel all tasks, wait for them, and refuse new ones.

        Returns:
            The names of those that had not ended after `timeout_s` seconds; they are logged.
        """
        self.closed = True
        current = asyncio.current_task()
        mine = [task for task in self._tasks if task is not current]
        for task in mine:
            task.cancel()
        if not mine:
            return []
        _, late = await asyncio.wait(mine, timeout=timeout_s)
        names = sorted(task.get_name() for task in late)
        for name in names:
            _log.warning("%s: task %s did not stop within %.1f s", self.name, name, timeout_s)
        return names

    async def drain(self, *, timeout_s: float) -> bool:
        """Wait until no task runs; return whether that happened within `timeout_s` seconds."""
        current = asyncio.current_task()
        loop = asyncio.get_running_loop()
        deadline = loop.time() + timeout_s
        while mine := [task for task in self._tasks if task is not current]:
            left = deadline - loop.time()
            if left <= 0:
                return False
            await asyncio.wait(mine, timeout=left)
        return True

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if task.cancelled():
            return
        error = task.exception()
        if error is None:
            return
        _log.error("%s: task %s died: %r", self.name, task.get_name(), error, exc_info=error)
        if self._on_death is not None:
            self._on_death(task.get_name(), error)
