"""What a worker does with homes: takes what is wanted, keeps trying, closes what is idle, gives up what is to move."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import AsyncIterator, Callable

import pytest
from msgspec.structs import replace

from hub.cluster.carrier import (
    DUE_SOON_S,
    HOME_WEIGHT,
    IDLE_S,
    LOOK_IDLE_EVERY_S,
    RETRY_FIRST_S,
    RUN_WEIGHT,
    Carrier,
)
from hub.cluster.directory import Directory
from hub.core.clock import ManualClock
from hub.core.errors import Conflict
from hub.core.tasks import TaskOwner
from hub.storage.postgresql.homes import HomeRow
from hub.storage.postgresql.session import Target
from tests.cluster.conftest import Join, Member
from tests.servers.postgresql import PostgresqlServer
from tests.until import until


class Room:
    """A home that does what a test says."""

    def __init__(self, row: HomeRow, ended: Callable[[], None]) -> None:
        self.row = row
        self.ended = ended
        self.running = 0
        self.askers: set[threading.Thread] = set()
        self.stays = False
        self.due: float | None = None
        self.closed = False

    @property
    def address(self) -> str:
        return f"unix:/{self.row.name}"

    @property
    def runs(self) -> int:
        self.askers.add(threading.current_thread())
        return self.running

    async def close(self) -> None:
        self.closed = True


class Rooms:
    """Opens them; those that are broken it refuses."""

    def __init__(self) -> None:
        self.made: list[Room] = []
        self.broken: set[str] = set()
        self.tried: list[str] = []

    async def open(self, row: HomeRow, ended: Callable[[], None]) -> Room:
        self.tried.append(row.name)
        if row.name in self.broken:
            raise Conflict(f"the roof of {row.name} is off")
        self.made.append(Room(row, ended))
        return self.made[-1]

    def __getitem__(self, name: str) -> Room:
        return next(each for each in reversed(self.made) if each.row.name == name)


class Site:
    """One worker with its rooms."""

    def __init__(
        self, carrier: Carrier, rooms: Rooms, directory: Directory, clock: ManualClock, member: Member
    ) -> None:
        self.carrier, self.rooms, self.directory, self.clock, self.member = carrier, rooms, directory, clock, member

    async def want(self, *names: str) -> None:
        """Have homes opened, here or elsewhere."""
        for name in names:
            await self.directory.want(name)
        self.carrier.look()

    async def until_open(self, *names: str) -> None:
        await until(lambda: all(self.carrier.here(name) for name in names))

    async def pass_time(self, seconds: float) -> None:
        """Let time pass, and look."""
        await self.clock.advance(seconds)
        self.carrier.look()


Build = Callable[..., Site]


@pytest.fixture
async def build(join: Join, target: Target) -> AsyncIterator[Build]:
    """Builds workers with rooms."""
    tasks, sites = TaskOwner("test"), []

    def one(name: str = "first", **options: int) -> Site:
        clock, rooms, member = ManualClock(), Rooms(), join(name)
        directory = Directory(target, member.id, name)
        carrier = Carrier(member, directory, rooms, clock, **options)
        loop = asyncio.get_running_loop()
        member.wanted = lambda: loop.call_soon_threadsafe(carrier.look)
        tasks.spawn(carrier.run(), name=name)
        sites.append(Site(carrier, rooms, directory, clock, member))
        return sites[-1]

    yield one
    await tasks.cancel_all()
    for each in sites:
        await each.carrier.drain(0)
        await each.directory.close()


async def add(site: Site, *names: str, pinned: str | None = None) -> None:
    for name in names:
        assert await site.directory.add(name, name, pinned)


async def test_a_home_is_opened_when_it_is_wanted_and_only_that_one(build: Build) -> None:
    site = build()
    await add(site, "elm", "oak")

    await site.carrier.want("elm")
    await site.until_open("elm")

    assert site.carrier.here("elm") == "unix:/elm"
    assert site.carrier.here("oak") is None
    owner = await site.carrier.owner_of("elm")
    assert owner is not None
    assert owner.url == "http://first"
    assert await site.carrier.owner_of("oak") is None
    assert await site.carrier.exists("oak")
    assert not await site.carrier.exists("ash")


async def test_one_that_cannot_be_opened_is_tried_again_and_the_others_run_on(build: Build) -> None:
    site = build()
    await add(site, "elm", "oak")
    site.rooms.broken.add("elm")

    await site.want("elm", "oak")
    await site.until_open("oak")
    await until(lambda: "elm" in site.rooms.tried)
    row = await until_row(site, "elm", lambda row: row.problem is not None)
    assert row.problem == "the roof of elm is off"

    site.rooms.broken.clear()
    await site.pass_time(RETRY_FIRST_S)
    await site.until_open("elm")

    assert (await until_row(site, "elm", lambda row: row.serving)).problem is None


async def test_a_home_that_cannot_be_looked_at_leaves_the_others_running(
    build: Build, caplog: pytest.LogCaptureFixture
) -> None:
    site = build()
    await add(site, "elm", "oak")
    await site.want("elm")
    await site.until_open("elm")
    del site.rooms["elm"].stays

    await site.pass_time(LOOK_IDLE_EVERY_S)
    await until(lambda: "cannot be looked at; tried again" in caplog.text)
    await site.want("oak")

    await site.until_open("oak")


async def until_row(site: Site, name: str, holds: Callable[[HomeRow], bool]) -> HomeRow:
    """Wait until the row of a home is as it should be."""
    async with asyncio.timeout(30):
        while True:
            row = await site.directory.find(name)
            if row is not None and holds(row):
                return row
            await asyncio.sleep(0.01)


async def test_what_nobody_uses_is_closed_and_opened_again_when_it_is_due(build: Build) -> None:
    site = build()
    await add(site, "elm")
    await site.want("elm")
    await site.until_open("elm")
    first = site.rooms["elm"]
    first.due = site.clock.time() + IDLE_S + DUE_SOON_S + 60

    await site.pass_time(IDLE_S)
    await until(lambda: first.closed)

    await until(lambda: site.rooms["elm"] is not first)  # by the database's clock, that time has come already


async def test_what_nobody_uses_and_that_waits_for_nothing_stays_closed(build: Build) -> None:
    site = build()
    await add(site, "elm")
    await site.want("elm")
    await site.until_open("elm")

    await site.pass_time(IDLE_S)
    row = await until_row(site, "elm", lambda row: row.owner is None)

    assert (row.wanted, row.due, row.serving) == (None, None, False)
    assert site.carrier.here("elm") is None


@pytest.mark.parametrize("why", ["runs", "stays", "due", "used"])
async def test_what_is_used_or_has_something_to_wait_for_stays_open(build: Build, why: str) -> None:
    site = build()
    await add(site, "elm", "oak")
    await site.want("elm", "oak")
    await site.until_open("elm", "oak")
    elm = site.rooms["elm"]
    elm.running, elm.stays = int(why == "runs"), why == "stays"
    await site.clock.advance(IDLE_S)
    elm.due = site.clock.time() + 60 if why == "due" else None
    if why == "used":
        site.carrier.used("elm")

    site.carrier.look()
    await until_row(site, "oak", lambda row: row.owner is None)

    assert not elm.closed
    assert site.carrier.here("elm") is not None


async def test_a_pinned_home_waits_for_its_worker(build: Build) -> None:
    first, second = build("first"), build("second")
    await add(first, "elm", pinned="second")

    await first.want("elm")
    await second.until_open("elm")

    assert first.rooms.tried == []


async def test_a_home_moves_when_nothing_runs_in_it(build: Build) -> None:
    first = build("first")
    await add(first, "elm")
    await first.want("elm")
    await first.until_open("elm")
    second = build("second")
    first.rooms["elm"].running = 1

    await first.directory.move("elm", "second")
    await first.pass_time(LOOK_IDLE_EVERY_S)
    await until_row(first, "elm", lambda row: row.moving == "second" and row.serving)
    assert first.carrier.here("elm") is not None
    first.rooms["elm"].running = 0
    await first.pass_time(LOOK_IDLE_EVERY_S)
    await second.until_open("elm")

    assert first.rooms["elm"].closed
    assert first.carrier.here("elm") is None


@pytest.mark.parametrize("why", ["full", "draining"])
async def test_a_home_that_moves_to_a_worker_that_takes_no_more_is_opened_by_another(build: Build, why: str) -> None:
    first, second = build("first"), build("second", homes_limit=1)
    await add(first, "elm", pinned="first")
    await add(first, "oak", pinned="second")
    await first.want("elm")
    await second.want("oak")
    await first.until_open("elm")
    await second.until_open("oak")
    second.rooms["oak"].running = 1
    draining = asyncio.ensure_future(second.carrier.drain(30) if why == "draining" else asyncio.sleep(0))
    before = first.rooms["elm"]

    await first.directory.move("elm", "second")
    await until(lambda: first.rooms["elm"] is not before)

    assert before.closed
    assert (await until_row(first, "elm", lambda row: row.serving)).moving is None
    second.rooms["oak"].running = 0
    await second.clock.advance(1)
    await draining


async def test_the_heartbeat_tells_what_a_worker_carries_without_asking_its_homes(build: Build) -> None:
    site = build()
    await add(site, "elm")
    await site.want("elm")
    await site.until_open("elm")
    elm = site.rooms["elm"]

    elm.running = 3
    site.carrier.look()
    await until(lambda: [each.weight for each in site.member.workers] == [3 * RUN_WEIGHT + HOME_WEIGHT])

    assert elm.askers == {threading.current_thread()}


async def test_homes_are_found_again_when_the_server_answers_no_more(
    build: Build, target: Target, server: PostgresqlServer, name: str
) -> None:
    site = build()
    await add(site, "elm")
    asking = Directory(
        replace(target, parameters={**target.parameters, "application_name": "asks"}), answer_limit_s=3.0
    )
    await asking.all()
    asked = "SELECT pid FROM pg_stat_activity WHERE application_name = 'asks' AND datname = current_database()"
    [(backend,)] = server.execute(asked, name)
    os.kill(backend, signal.SIGSTOP)
    try:
        async with asyncio.timeout(30):
            found = await asking.find("elm")
    finally:
        os.kill(backend, signal.SIGCONT)

    assert found is not None
    await asking.close()


async def test_no_more_homes_are_opened_than_there_is_room_for(build: Build) -> None:
    site = build(homes_limit=1)
    await add(site, "elm", "oak")

    await site.want("elm")
    await site.until_open("elm")
    await site.want("oak")
    other = build("second")
    await other.until_open("oak")

    assert site.carrier.here("oak") is None


async def test_a_drain_waits_for_runs_and_gives_everything_up(build: Build) -> None:
    site = build()
    await add(site, "elm", "oak")
    await site.want("elm", "oak")
    await site.until_open("elm", "oak")
    site.rooms["elm"].running = 1

    draining = asyncio.ensure_future(site.carrier.drain(30))
    await until_row(site, "oak", lambda row: row.owner is None)
    assert not site.rooms["elm"].closed
    site.rooms["elm"].running = 0
    await site.clock.advance(1)
    await draining

    row = await until_row(site, "elm", lambda row: row.owner is None)
    assert row.wanted is not None  # so that the others open it at once
    assert site.rooms["elm"].closed


async def test_a_home_that_asks_for_it_is_opened_again(build: Build) -> None:
    site = build()
    await add(site, "elm")
    await site.want("elm")
    await site.until_open("elm")
    first = site.rooms["elm"]

    first.ended()
    await until(lambda: site.rooms["elm"] is not first)

    assert first.closed
    await site.until_open("elm")
