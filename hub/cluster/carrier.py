"""Opens, keeps and closes the homes of one worker.

What is wanted and free is taken, by the least loaded worker first; what nobody has used for a while, and that has
nothing to wait for, is closed; what cannot be opened is tried again, while the others run on.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Protocol

from hub.cluster.contract import Owner
from hub.cluster.directory import Directory
from hub.cluster.log import within
from hub.cluster.membership import Load, Membership
from hub.core.clock import Clock
from hub.core.errors import HubError
from hub.core.tasks import TaskOwner
from hub.storage.postgresql.homes import HomeRow

_log = logging.getLogger(__name__)

HOMES_LIMIT = 1_000
TICK_S = 1.0
IDLE_S = 15 * 60.0
DUE_SOON_S = 15 * 60.0
"""A home with something due within so long is not closed before."""
LOOK_IDLE_EVERY_S = 15.0
AT_ONCE = 2
"""Homes that are opened at the same time."""
OTHERS_FIRST_S = 1.5
"""What has been wanted for so long is taken by whoever can, however much it carries."""
LIGHTER_BY = 1.0
RETRY_FIRST_S, RETRY_MOST_S = 5.0, 300.0
DRAIN_S = 30.0
HOME_WEIGHT, RUN_WEIGHT = 0.1, 1.0


class OpenHome(Protocol):
    """A home that runs in this process."""

    @property
    def address(self) -> str:
        """Where it serves the front door."""
        ...

    @property
    def runs(self) -> int:
        """How many runs are under way or wait for their turn."""
        ...

    @property
    def stays(self) -> bool:
        """Whether it has something that only an open home hears: clients, channels, devices."""
        ...

    @property
    def due(self) -> float | None:
        """When something of it is due next, seconds since the epoch."""
        ...

    async def close(self) -> None:
        """Stop it."""
        ...


class Opener(Protocol):
    """Makes a home run in this process."""

    async def open(self, row: HomeRow, ended: Callable[[], None]) -> OpenHome:
        """Open a home; `ended` is called when it wants to be opened again, or is another's now.

        Raises:
            Exception: It cannot be opened.
        """
        ...


class _Carried:
    """A home that this worker has, open or not."""

    def __init__(self, row: HomeRow, now: float) -> None:
        self.row = row
        self.home: OpenHome | None = None
        self.used = now
        self.busy = asyncio.Lock()
        self.failures = 0
        self.retry_at = 0.0


class Carrier:
    """The homes of this worker; implements the contract of the front door.

    Args:
        membership: This worker.
        directory: The homes of all workers.
        opener: Makes homes run here.
        clock: Tells when a home is idle.
        idle_s: How long a home is unused before it is closed.
        homes_limit: How many homes are open at most.
    """

    def __init__(
        self,
        membership: Membership,
        directory: Directory,
        opener: Opener,
        clock: Clock,
        *,
        idle_s: float = IDLE_S,
        homes_limit: int = HOMES_LIMIT,
    ) -> None:
        self._membership = membership
        self._directory = directory
        self._opener = opener
        self._clock = clock
        self._idle_s = idle_s
        self._limit = homes_limit
        self._carried: dict[str, _Carried] = {}
        self._tasks = TaskOwner("worker")
        self._look = asyncio.Event()
        self._at_once = asyncio.Semaphore(AT_ONCE)
        self._draining = False
        self._idle_looked = 0.0
        self.opened = 0
        self.closed = 0
        self._weigh()

    # --- the contract of the front door ---

    async def exists(self, home: str) -> bool:
        """Return whether there is a home of this name."""
        return await self._directory.find(home) is not None

    async def owner_of(self, home: str) -> Owner | None:
        """Return who has a home open now."""
        if self.here(home) is not None:
            return Owner(self._membership.id, self._membership.url)
        return await self._directory.owner_of(home)

    async def want(self, home: str) -> None:
        """Ask for a home to be opened, here or elsewhere; one that waits here for others is opened before them."""
        found = self._carried.get(home)
        if found is not None and found.home is None and not found.busy.locked() and not found.failures:
            self._tasks.spawn(self._open(found), name=f"open {home} at once")
            return
        await self._directory.want(home)
        self._look.set()

    def here(self, home: str) -> str | None:
        """Return where a home that this process has open serves."""
        found = self._carried.get(home)
        return found.home.address if found is not None and found.home is not None else None

    def used(self, home: str) -> None:
        """Note that somebody uses a home of this process."""
        if (found := self._carried.get(home)) is not None:
            found.used = self._clock.monotonic()

    # --- the worker's own ---

    @property
    def homes(self) -> dict[str, OpenHome | None]:
        """The homes of this worker by name; None for one that is not open."""
        return {name: each.home for name, each in sorted(self._carried.items())}

    def look(self) -> None:
        """Look at once for homes that are wanted."""
        self._look.set()

    async def run(self) -> None:
        """Carry homes until cancelled."""
        asked = True
        while True:
            try:
                await self._tick(asked=asked)
            except HubError as error:
                _log.warning("the homes cannot be looked at: %s", error.message)
            except Exception:  # a worker that carries nothing more would keep its homes from the others
                _log.exception("the homes cannot be looked at; tried again")
            try:
                async with asyncio.timeout(TICK_S):
                    await self._look.wait()
            except TimeoutError:
                pass
            asked = self._look.is_set()
            self._look.clear()

    async def drain(self, limit_s: float = DRAIN_S) -> None:
        """Take no more homes, let runs end, and give up all homes.

        Args:
            limit_s: How long runs may take.
        """
        self._draining = True
        self._weigh()
        async with asyncio.TaskGroup() as closing:
            for each in list(self._carried.values()):
                closing.create_task(self._drain_one(each, limit_s))
        await self._tasks.cancel_all()

    async def _drain_one(self, each: _Carried, limit_s: float) -> None:
        end = self._clock.monotonic() + limit_s
        while each.home is not None and each.home.runs and self._clock.monotonic() < end:
            await self._clock.sleep(0.1)
        async with each.busy:
            await self._close(each)

    def _weigh(self) -> None:
        """Tell the heartbeat, which runs in a thread of its own, what this worker carries."""
        runs = sum(each.home.runs for each in self._carried.values() if each.home is not None)
        weight = len(self._carried) * HOME_WEIGHT + runs * RUN_WEIGHT
        self._membership.load = Load(weight, 0 if self._draining else self._limit)

    async def _tick(self, *, asked: bool) -> None:
        self._weigh()
        now = self._clock.monotonic()
        room = min(self._limit - len(self._carried), AT_ONCE * 2)
        if room > 0 and not self._draining:
            waited_s = OTHERS_FIRST_S if self._somebody_is_lighter() else 0.0
            for row in await self._directory.claim(room, waited_s):
                each = self._carried[row.name] = _Carried(row, now)
                self._tasks.spawn(self._open_in_turn(each), name=f"open {row.name}")
            self._weigh()
        for each in list(self._carried.values()):
            if each.home is None and each.failures and now >= each.retry_at and not each.busy.locked():
                self._tasks.spawn(self._open_in_turn(each), name=f"open {each.row.name} again")
        is_time = now - self._idle_looked >= LOOK_IDLE_EVERY_S
        if asked or is_time:
            await self._hand_over_moving()
        if is_time:
            self._idle_looked = now
            self._look_at_idle(now)

    def _somebody_is_lighter(self) -> bool:
        mine = self._membership.load.weight
        others = (each for each in self._membership.workers if each.id != self._membership.id and each.homes_limit)
        return any(each.weight + LIGHTER_BY * HOME_WEIGHT < mine for each in others)

    async def _hand_over_moving(self) -> None:
        for row in await self._directory.owned():
            each = self._carried.get(row.name)
            if each is None:  # it was closed while the database was away
                await self._directory.released(row.name)
                continue
            is_busy = each.busy.locked() or (each.home is not None and each.home.runs > 0)
            if row.moving is not None and not is_busy:
                self._tasks.spawn(self._hand_over(each), name=f"hand over {row.name}")

    def _look_at_idle(self, now: float) -> None:
        for each in list(self._carried.values()):
            home = each.home
            if home is None or each.busy.locked():
                continue
            if home.runs or home.stays:
                each.used = now
            elif now - each.used >= self._idle_s:
                due = home.due
                if due is None or due - self._clock.time() > DUE_SOON_S:
                    self._tasks.spawn(self._put_away(each, due), name=f"close {each.row.name}")

    async def _open_in_turn(self, each: _Carried) -> None:
        async with self._at_once:
            await self._open(each)

    async def _open(self, each: _Carried) -> None:
        name = each.row.name
        async with each.busy:
            if each.home is not None or self._draining:
                return
            begun = self._clock.monotonic()
            with within(name):
                try:
                    home = await self._opener.open(each.row, lambda: self._reopen(each))
                    try:
                        is_ours = await self._directory.opened(name)
                    except HubError:
                        await home.close()
                        raise
                    if not is_ours:
                        await home.close()
                        self._forget(each)
                        return
                    _log.info("open after %.2f s", self._clock.monotonic() - begun)
                except Exception as error:  # whatever is wrong with one home, the others run on
                    await self._fail(each, error)
                    return
            each.failures = 0
            each.used = self._clock.monotonic()
            each.home = home
            self.opened += 1
            self._weigh()

    async def _fail(self, each: _Carried, error: Exception) -> None:
        each.failures += 1
        wait_s = min(RETRY_FIRST_S * 2 ** (each.failures - 1), RETRY_MOST_S)
        each.retry_at = self._clock.monotonic() + wait_s
        why = error.message if isinstance(error, HubError) else f"{type(error).__name__}: {error}"
        known = isinstance(error, HubError)
        _log.error("cannot be opened, tried again in %.0f s: %s", wait_s, why, exc_info=None if known else error)
        try:
            await self._directory.failed(each.row.name, why)
        except HubError as also:
            _log.warning("that could not be noted: %s", also.message)

    def _reopen(self, each: _Carried) -> None:
        """Close a home, and open it again: its configuration asks for it, or it lost its database."""
        if not self._tasks.closed:
            self._tasks.spawn(self._close_and_open(each), name=f"restart {each.row.name}")

    async def _close_and_open(self, each: _Carried) -> None:
        async with each.busy:
            await self._shut(each)
        await self._open(each)

    async def _put_away(self, each: _Carried, due: float | None) -> None:
        async with each.busy:
            if each.home is None or each.home.runs or each.home.stays:
                return
            await self._directory.closing(each.row.name, due)
            await self._close(each)

    async def _hand_over(self, each: _Carried) -> None:
        async with each.busy:
            if each.home is None or not each.home.runs:
                await self._close(each)

    async def _close(self, each: _Carried) -> None:
        await self._shut(each)
        self._forget(each)
        try:
            await self._directory.released(each.row.name)
        except HubError as error:
            _log.warning("%s was closed, and is not given up before this worker ends: %s", each.row.name, error.message)

    def _forget(self, each: _Carried) -> None:
        self._carried.pop(each.row.name, None)
        self._weigh()

    async def _shut(self, each: _Carried) -> None:
        home, each.home = each.home, None
        if home is not None:
            with within(each.row.name):
                await home.close()
            self.closed += 1
