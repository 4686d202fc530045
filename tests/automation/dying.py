"""Runs that are cut off as `kill -9` cuts them off: right behind any write of their position."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable
from typing import Any, TypeVar, cast

from hub.automation.running.run import RunState
from hub.automation.running.waiting import WaitingRuns
from hub.core.sql import SqlConnection
from hub.storage.database import Database
from hub.storage.migrations import HUB_MIGRATIONS

T = TypeVar("T")


class MemoryDatabase:
    """The schema of the hub database without a disk: what is written counts as durable at once."""

    def __init__(self) -> None:
        self._connection = sqlite3.connect(":memory:")
        for migration in HUB_MIGRATIONS:
            migration(self._connection)

    async def write(self, fn: Callable[[SqlConnection], T]) -> T:
        await asyncio.sleep(0)
        return fn(self._connection)

    async def read(self, fn: Callable[[SqlConnection], T]) -> T:
        return fn(self._connection)


def memory_database() -> Database:
    """Return a database for many short lives."""
    return cast(Database, MemoryDatabase())


class Mortal:
    """A keeper whose hub dies right after a number of saves; from then on nothing is written any more.

    Args:
        runs: Where it keeps.
        saves: After how many it dies; None: never.
    """

    def __init__(self, runs: WaitingRuns, saves: int | None) -> None:
        self.runs = runs
        self.left = saves
        self.dead = False
        self.saved = 0
        self.begun = asyncio.Event()

    async def save(self, run: RunState) -> None:
        await self._live()
        await self.runs.save(run)
        self.saved += 1
        self.begun.set()
        if self.left is not None and self.saved >= self.left:
            self.dead = True
        await self._live()

    async def forget(self, run_id: str) -> None:
        await self._live()
        await self.runs.forget(run_id)

    async def _live(self) -> None:
        if self.dead:
            task: asyncio.Task[Any] | None = asyncio.current_task()
            assert task is not None
            task.cancel()
            await asyncio.sleep(0)
