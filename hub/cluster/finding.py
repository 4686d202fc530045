"""Where a home is: in this process, in another worker, or soon somewhere."""

from __future__ import annotations

import asyncio

from msgspec import Struct

from hub.cluster.contract import Homes, Owner
from hub.core.clock import Clock
from hub.core.errors import HubError, NotFound, Unavailable
from hub.core.tasks import TaskOwner

WAIT_S = 10.0
"""How long a request waits for its home to be opened."""
POLL_S = 0.1
KNOWN_S = 2.0
"""How long a found owner is believed without asking again."""
KNOWN_LIMIT = 4_096
SEARCHES_LIMIT = 64
"""How many homes are looked for at once."""


class Place(Struct, frozen=True):
    """Where a home is served.

    Attributes:
        address: `unix:/path` or an HTTP address.
        owner: The other worker that has it; None when it is this process.
    """

    address: str
    owner: Owner | None = None


class Finder:
    """Finds the homes of requests; requests for one home ask the database once.

    Args:
        homes: All homes.
        url: The address of this worker, as the others know it.
        clock: The clock.
        tasks: Owner of the searches.
    """

    def __init__(self, homes: Homes, url: str, clock: Clock, tasks: TaskOwner) -> None:
        self._homes = homes
        self._url = url
        self._clock = clock
        self._tasks = tasks
        self._known: dict[str, tuple[Owner, float]] = {}
        self._searches: dict[str, asyncio.Task[Place | HubError]] = {}

    def here(self, home: str) -> Place | None:
        """Return the place of a home that this process has open."""
        address = self._homes.here(home)
        return Place(address) if address is not None else None

    async def find(self, home: str) -> Place:
        """Return where a home is; one that is closed is opened, somewhere.

        Raises:
            NotFound: There is no such home.
            Unavailable: Nobody had opened it after ten seconds, or too many others are looked for.
            StorageError: The database cannot be asked.
        """
        if (place := self.here(home)) is not None:
            return place
        owner, until = self._known.get(home, (None, 0.0))
        if owner is not None and self._clock.monotonic() < until:
            return Place(owner.url, owner)
        search = self._searches.get(home)
        if search is None:
            if len(self._searches) >= SEARCHES_LIMIT:
                raise Unavailable("too many homes are being opened", retry_after_s=1.0)
            search = self._searches[home] = self._tasks.spawn(self._found_or_error(home), name=f"find {home}")
            search.add_done_callback(lambda _: self._searches.pop(home, None))
        found = await asyncio.shield(search)
        if isinstance(found, HubError):
            raise found
        return found

    def forget(self, home: str) -> None:
        """Ask again at the next request: the home was not where it was said to be."""
        self._known.pop(home, None)

    async def _found_or_error(self, home: str) -> Place | HubError:
        try:
            return await self._search(home)
        except HubError as error:
            return error

    async def _search(self, home: str) -> Place:
        end = self._clock.monotonic() + WAIT_S
        wanted = False
        while True:
            if (place := self.here(home)) is not None:
                return place
            owner = await self._homes.owner_of(home)
            if owner is not None and owner.url != self._url:
                self._remember(home, owner)
                return Place(owner.url, owner)
            if owner is None and not wanted:
                if not await self._homes.exists(home):
                    raise NotFound(f"there is no home {home}")
                await self._homes.want(home)
                wanted = True
            if self._clock.monotonic() >= end:
                raise not_open(home)
            await self._clock.sleep(POLL_S)

    def _remember(self, home: str, owner: Owner) -> None:
        self._known.pop(home, None)
        while len(self._known) >= KNOWN_LIMIT:
            del self._known[next(iter(self._known))]
        self._known[home] = owner, self._clock.monotonic() + KNOWN_S


def not_open(home: str) -> Unavailable:
    """Return the error of a home that nobody has open."""
    return Unavailable(f"the home {home} is being opened; try again", retry_after_s=2.0)
