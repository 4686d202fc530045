"""The homes of all workers, asked and changed from the event loop: one connection, in a thread of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import psycopg
from msgspec.structs import replace

from hub.cluster.contract import Owner
from hub.cluster.lease import LEASE_S
from hub.core.executors import Executor
from hub.storage.postgresql import homes, workers
from hub.storage.postgresql.errors import explain, is_away
from hub.storage.postgresql.homes import HomeRow
from hub.storage.postgresql.session import ANSWER_LIMIT_S, Session, Target

T = TypeVar("T")

WATCH_S = 0.5
ATTEMPTS = 2
"""A connection that broke while nobody used it is made again."""


class Directory:
    """What is known of all homes.

    Args:
        target: The database.
        worker: The id of this worker.
        name: Its name.
        answer_limit_s: After this long without an answer the connection counts as broken, seconds.
    """

    def __init__(
        self, target: Target, worker: str = "", name: str = "", *, answer_limit_s: float = ANSWER_LIMIT_S
    ) -> None:
        self._target = replace(target, parameters=target.parameters | {"tcp_user_timeout": 8_000})
        self._worker = worker
        self._name = name
        self._answer_limit_s = answer_limit_s
        self._session: Session | None = None
        self._watching: asyncio.TimerHandle | None = None
        self._thread = Executor("homes", 1)

    async def all(self) -> list[HomeRow]:
        """Return all homes, by name."""
        return await self._ask(homes.all_homes)

    async def find(self, home: str) -> HomeRow | None:
        """Return a home, or None."""
        return await self._ask(homes.find, home)

    async def owned(self) -> list[HomeRow]:
        """Return the homes of this worker."""
        return await self._ask(homes.owned, self._worker)

    async def owner_of(self, home: str) -> Owner | None:
        """Return who serves a home now."""
        found = await self._ask(homes.owner_of, home)
        return Owner(*found) if found is not None else None

    async def add(self, home: str, folder: str, pinned: str | None) -> bool:
        """Add a home; return whether there was none of this name."""
        return await self._ask(homes.add, home, folder, pinned)

    async def remove(self, home: str) -> bool:
        """Delete a home that no worker has, with all its rows; return whether there was such a one."""
        return await self._ask(homes.remove, home)

    async def want(self, home: str) -> bool:
        """Ask for a home to be open; return whether there is such a one."""
        return await self._ask(homes.want, home)

    async def move(self, home: str, worker: str) -> None:
        """Ask for a home to be moved to a worker of this name."""
        await self._ask(homes.move, home, worker)

    async def retire(self, home: str) -> None:
        """Ask for a home to be closed, as soon as nothing runs in it, and to stay so until somebody wants it."""
        await self._ask(homes.retire, home)

    async def workers(self) -> dict[str, str]:
        """Return the ids of all workers by their names."""
        return {each.name: each.id for each in await self._ask(workers.look, LEASE_S)}

    async def all_with_workers(self) -> list[tuple[HomeRow, str | None]]:
        """Return all homes by name, with the name of the worker that has each."""
        names = {id: name for name, id in (await self.workers()).items()}
        return [(row, names.get(row.owner or "")) for row in await self.all()]

    async def claim(self, limit: int, waited_s: float) -> Iterable[HomeRow]:
        """Take homes for this worker."""
        return await self._ask(homes.claim, self._worker, self._name, limit, waited_s)

    async def opened(self, home: str) -> bool:
        """Note that a home serves here; return whether it is this worker's still."""
        return await self._ask(homes.opened, self._worker, home)

    async def failed(self, home: str, why: str) -> None:
        """Note why a home cannot be opened."""
        await self._ask(homes.failed, self._worker, home, why)

    async def closing(self, home: str, due: float | None) -> None:
        """Note that an idle home is about to be closed, and when something of it is due next."""
        await self._ask(homes.closing, self._worker, home, due)

    async def released(self, home: str) -> None:
        """Give up a home that is closed."""
        await self._ask(homes.released, self._worker, home)

    async def close(self) -> None:
        """Close the connection."""
        try:
            await self._thread.run(self._drop)
        finally:
            if self._watching is not None:
                self._watching.cancel()
                self._watching = None

    async def _ask(self, work: Callable[..., T], *values: Any) -> T:
        if self._watching is None:
            self._watch()
        return await self._thread.run(self._do, work, *values)

    def _watch(self) -> None:
        if (session := self._session) is not None:
            session.check()
        self._watching = asyncio.get_running_loop().call_later(WATCH_S, self._watch)

    # --- below: in the thread ---

    def _do(self, work: Callable[..., T], *values: Any) -> T:
        for attempt in range(1, ATTEMPTS + 1):
            session = self._connected()
            try:
                with session.awaiting():
                    return work(session, *values)
            except psycopg.Error as error:
                if session.is_lost or is_away(error):
                    self._drop()
                    if attempt < ATTEMPTS:
                        continue
                raise explain(error, self._target.place) from None
        raise AssertionError("unreachable")

    def _connected(self) -> Session:
        if self._session is None or self._session.is_lost:
            self._session = Session(self._target, self._answer_limit_s)
        return self._session

    def _drop(self) -> None:
        if self._session is not None:
            self._session.close()
            self._session = None
