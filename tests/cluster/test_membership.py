"""Workers in one database: seen by one another, taken for dead when they are, and kept from writing from then on."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from pathlib import Path

import pytest

from hub.cluster.lease import LEASE_S, boot_time
from hub.core.tasks import TaskOwner
from hub.storage.migrations import HUB_MIGRATIONS
from hub.storage.postgresql import workers
from hub.storage.postgresql.database import PostgresqlDatabase
from hub.storage.postgresql.errors import HomeOwned, OwnershipLost
from hub.storage.postgresql.session import Session, Target
from hub.update.record import EXIT_AGAIN
from tests.cluster.conftest import Join
from tests.servers.postgresql import PostgresqlServer
from tests.until import until

ROOT = Path(__file__).parents[2]
Home = Callable[..., PostgresqlDatabase]


@pytest.fixture
async def home(server: PostgresqlServer, name: str, tmp_path: Path) -> AsyncIterator[Home]:
    """Makes the home elm, in a worker or not; all are closed in the end."""
    made: list[PostgresqlDatabase] = []

    def make(worker: str | None = None) -> PostgresqlDatabase:
        target = Target.from_url(server.url(name), "elm")
        made.append(PostgresqlDatabase(target, HUB_MIGRATIONS, tmp_path / "hub.db", patience_s=1.0, worker=worker))
        return made[-1]

    yield make
    for each in made:
        await each.close()


@pytest.fixture
async def frozen(server: PostgresqlServer, name: str) -> AsyncIterator[asyncio.subprocess.Process]:
    """A worker in a process of its own, with the home elm open."""
    program = (sys.executable, "-m", "tests.cluster.frozen_worker", server.url(name))
    process = await asyncio.create_subprocess_exec(*program, stdout=asyncio.subprocess.PIPE, cwd=ROOT)
    assert process.stdout is not None
    assert (await process.stdout.readline()).startswith(b"ready")
    yield process
    with suppress(ProcessLookupError):
        process.kill()
    await process.wait()


def owners(server: PostgresqlServer, name: str) -> list[str]:
    """The homes that are owned."""
    return [row[0] for row in server.execute("SELECT home FROM homarus.owners", name)]


async def test_workers_see_one_another_and_who_leaves_is_gone(join: Join) -> None:
    elm, oak = join("elm"), join("oak")

    await until(lambda: len(elm.workers) == 2)

    seen = {each.name: each for each in elm.workers}
    assert seen["oak"].url == "http://oak"
    assert seen["oak"].number > seen["elm"].number
    assert (seen["oak"].is_locked, seen["oak"].is_here) == (True, True)
    oak.leave()
    await until(lambda: len(elm.workers) == 1)
    assert elm.buried == 0


async def test_a_heartbeat_tells_what_a_worker_carries_and_renews_its_lease(join: Join) -> None:
    elm, oak = join("elm"), join("oak")
    begun = boot_time()

    await until(lambda: any(each.id == oak.id and each.beats > 1 for each in elm.workers), limit_s=20)

    [seen] = [each for each in elm.workers if each.id == oak.id]
    assert (seen.weight, seen.homes_limit) == (0.5, 10)
    assert oak.lease.is_held
    assert oak.late_s < boot_time() - begun + LEASE_S


async def test_a_worker_whose_row_is_gone_ends(join: Join, server: PostgresqlServer, name: str) -> None:
    elm = join("elm")

    server.execute("DELETE FROM homarus.workers", name)

    async with asyncio.timeout(20):
        await elm.ended.wait()


async def test_a_worker_whose_heartbeat_fails_for_any_reason_ends(
    join: Join, server: PostgresqlServer, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    elm = join("elm")

    def fail() -> None:
        raise RuntimeError("nobody expected this")

    elm.wanted = fail
    server.execute(f"NOTIFY {workers.WANTED}", name)

    async with asyncio.timeout(20):
        await elm.ended.wait()
    assert "nobody expected this" in caplog.text


async def test_a_heartbeat_goes_on_after_a_server_that_answered_no_more(
    join: Join, server: PostgresqlServer, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "hub.cluster.membership")
    elm, tasks = join("elm"), TaskOwner("test")
    tasks.spawn(elm.watch(), name="watch")
    [(backend,)] = server.execute("SELECT backend FROM homarus.workers", name)
    os.kill(backend, signal.SIGSTOP)
    try:
        await until(lambda: "the heartbeat stops" in caplog.text)
    finally:
        os.kill(backend, signal.SIGCONT)

    await until(lambda: "the heartbeat goes on" in caplog.text)
    assert not elm.ended.is_set()
    await tasks.cancel_all()


async def test_a_worker_that_lost_its_connection_takes_its_lock_again(
    join: Join, server: PostgresqlServer, name: str
) -> None:
    elm = join("elm")
    [(backend,)] = server.execute("SELECT backend FROM homarus.workers", name)

    server.execute(f"SELECT pg_terminate_backend({backend})", name)

    await until(
        lambda: server.execute("SELECT backend FROM homarus.workers", name) not in ([(backend,)], []), limit_s=20
    )
    assert not elm.ended.is_set()


async def test_who_is_buried_writes_nothing_more_and_its_home_is_free(
    join: Join, home: Home, server: PostgresqlServer, name: str, target: Target
) -> None:
    elm = join("elm")
    mine = home(elm.id)
    await mine.open()
    await mine.write(lambda connection: connection.execute("INSERT INTO meta VALUES ('before', '')"))
    session = Session(target)
    [worker] = workers.look(session, LEASE_S)

    assert await asyncio.to_thread(workers.bury, session, worker)

    with pytest.raises(OwnershipLost, match="has taken over the home elm"):
        await mine.write(lambda connection: connection.execute("INSERT INTO meta VALUES ('after', '')"))
    other = home()
    await other.open()
    kept = await other.read(lambda connection: connection.execute("SELECT key FROM meta").fetchall())
    assert ("before",) in kept
    assert ("after",) not in kept
    session.close()


async def test_who_wrote_a_heartbeat_meanwhile_is_not_buried(join: Join, target: Target) -> None:
    elm = join("elm")
    session = Session(target)
    [worker] = workers.look(session, LEASE_S)
    workers.beat(session, elm.id, 0.0, 0, LEASE_S)

    assert not workers.bury(session, worker)

    assert len(workers.look(session, LEASE_S)) == 1
    session.close()


@pytest.mark.parametrize("first_in_worker", [True, False])
async def test_a_home_of_a_worker_and_a_hub_of_its_own_exclude_each_other(
    join: Join, home: Home, *, first_in_worker: bool
) -> None:
    elm = join("elm")
    ids = (elm.id, None) if first_in_worker else (None, elm.id)
    first, second = home(ids[0]), home(ids[1])
    await first.open()

    with pytest.raises(HomeOwned, match="already owns the home elm"):
        await second.open()


async def test_the_home_of_a_killed_worker_is_free_at_once(
    frozen: asyncio.subprocess.Process, join: Join, home: Home, server: PostgresqlServer, name: str
) -> None:
    elm = join("elm")
    await until(lambda: len(elm.workers) == 2)

    frozen.kill()

    await until(lambda: elm.buried == 1, limit_s=LEASE_S * 4)
    assert owners(server, name) == []
    async with asyncio.timeout(20):
        await elm.told.wait()
    await home(elm.id).open()


async def test_a_frozen_worker_is_buried_and_ends_when_it_wakes_without_a_late_write(
    frozen: asyncio.subprocess.Process, join: Join, home: Home, server: PostgresqlServer, name: str
) -> None:
    elm = join("elm")
    await until(lambda: len(elm.workers) == 2)

    frozen.send_signal(signal.SIGSTOP)

    await until(lambda: elm.buried == 1, limit_s=LEASE_S * 4)
    mine = home(elm.id)
    await mine.open()
    count = "SELECT count(*) FROM homarus.meta"
    before = server.execute(count, name)
    frozen.send_signal(signal.SIGCONT)
    async with asyncio.timeout(30):
        assert await frozen.wait() == EXIT_AGAIN
    assert server.execute(count, name) == before
    await mine.write(lambda connection: connection.execute("INSERT INTO meta VALUES ('mine', '')"))


async def test_a_server_that_was_away_buries_nobody(join: Join, server: PostgresqlServer) -> None:
    elm, oak = join("elm"), join("oak")
    await until(lambda: len(elm.workers) == 2)

    await asyncio.to_thread(server.kill)
    await until(lambda: not elm.lease.is_held and not oak.lease.is_held, limit_s=LEASE_S * 4)
    await asyncio.to_thread(server.start)

    await until(lambda: elm.lease.is_held and oak.lease.is_held, limit_s=30)
    assert (elm.buried, oak.buried) == (0, 0)
    assert not elm.ended.is_set()
    assert not oak.ended.is_set()
