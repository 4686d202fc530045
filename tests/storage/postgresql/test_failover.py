"""A primary and its synchronous standby: what was acknowledged survives, whatever dies, and no more is believed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from functools import partial
from pathlib import Path

import pytest

from hub.core.errors import HubError
from hub.storage.migrations import HUB_MIGRATIONS
from hub.storage.postgresql.database import PostgresqlDatabase
from hub.storage.postgresql.session import Target
from tests.servers.postgresql import PostgresqlServer
from tests.storage.postgresql.test_database import put, texts
from tests.until import until


@pytest.fixture
def primary() -> Iterator[PostgresqlServer]:
    with PostgresqlServer() as server:
        yield server


@pytest.fixture
def standby(primary: PostgresqlServer) -> Iterator[PostgresqlServer]:
    """The synchronous one."""
    with PostgresqlServer(primary) as server:
        primary.execute("ALTER SYSTEM SET synchronous_standby_names = '*'")
        primary.execute("SELECT pg_reload_conf()")
        yield server


@pytest.fixture
async def database(
    primary: PostgresqlServer, standby: PostgresqlServer, tmp_path: Path
) -> AsyncIterator[PostgresqlDatabase]:
    """A home on both."""
    url = f"postgresql://homarus@/postgres?host={primary.folder},{standby.folder}"
    database = PostgresqlDatabase(Target.from_url(url, "elm"), HUB_MIGRATIONS, tmp_path / "hub.db")
    await database.open()
    yield database
    await database.close()


def waits_for_standby(server: PostgresqlServer) -> bool:
    return bool(server.execute("SELECT 1 FROM pg_stat_activity WHERE wait_event = 'SyncRep'"))


async def test_a_commit_that_died_with_the_primary_is_done_again_on_the_standby(
    database: PostgresqlDatabase, primary: PostgresqlServer, standby: PostgresqlServer
) -> None:
    """The number of its transaction is another's there."""
    await database.write(partial(put, text="a"))
    primary.stop_sending()
    writing = asyncio.ensure_future(database.write(partial(put, text="b")))
    await until(lambda: waits_for_standby(primary))

    primary.crash()
    standby.promote()
    await writing

    assert await database.read(texts) == ["a", "b"]


async def test_what_the_standby_has_not_confirmed_is_not_acknowledged(
    database: PostgresqlDatabase, primary: PostgresqlServer, standby: PostgresqlServer
) -> None:
    """Whoever cancels the wait, or its time limit, makes the server say that all is well."""
    heard: list[HubError | None] = []
    database.on_away(heard.append)
    resume = primary.stop_sending()
    writing = asyncio.ensure_future(database.write(partial(put, text="a")))
    await until(lambda: waits_for_standby(primary))

    primary.execute("SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'")
    await until(lambda: heard)
    assert not writing.done()
    resume()

    await writing
    assert await database.read(texts) == ["a"]


def on(server: PostgresqlServer) -> list[str]:
    return [row[0] for row in server.execute("SELECT text FROM homarus.group_history ORDER BY position")]


async def test_a_former_primary_that_is_back_and_takes_every_write_gets_none(
    database: PostgresqlDatabase, primary: PostgresqlServer, standby: PostgresqlServer
) -> None:
    heard: list[HubError | None] = []
    database.on_away(heard.append)
    await database.write(partial(put, text="on both"))
    primary.crash()
    standby.promote()
    await database.write(partial(put, text="on the new one"))
    primary.start()
    primary.execute("ALTER SYSTEM RESET synchronous_standby_names")
    primary.execute("SELECT pg_reload_conf()")

    # Both answer: it is the first of the address, and as good as the other by its own account.
    standby.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'homarus elm'")
    await database.write(partial(put, text="and again"))
    assert await database.read(texts) == on(standby)

    # It alone answers.
    standby.crash()
    writing = asyncio.ensure_future(database.write(partial(put, text="waits")))
    await until(lambda: "a former primary (timeline 1)" in str(heard[-1:]))
    standby.start()
    await writing

    assert await database.read(texts) == ["on both", "on the new one", "and again", "waits"]
    assert on(primary) == ["on both"]
