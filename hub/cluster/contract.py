"""What the front door of a worker asks about homes."""

from __future__ import annotations

from typing import Protocol

from msgspec import Struct


class Owner(Struct, frozen=True):
    """The worker that has a home open.

    Attributes:
        worker: Its id; another one after each start.
        url: Where the other workers reach its front door, such as `http://10.0.0.5:18789`.
    """

    worker: str
    url: str


class Homes(Protocol):
    """The homes of all workers.

    What is awaited asks the database, and raises a `StorageError` when that cannot be reached.
    """

    async def exists(self, home: str) -> bool:
        """Return whether there is a home of this name."""

    async def owner_of(self, home: str) -> Owner | None:
        """Return who has a home open now; this worker too, from the moment on when it serves clients."""

    async def want(self, home: str) -> None:
        """Ask for a home to be opened, here or elsewhere; returns at once. A home that is open stays so."""

    def here(self, home: str) -> str | None:
        """Return where a home that this process has open serves: `unix:/path` or `http://127.0.0.1:port`."""

    def used(self, home: str) -> None:
        """Note that somebody uses a home of this process, so that it is not closed as idle."""
