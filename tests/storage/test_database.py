"""The hub database as its users see it: durable when awaited, apart when failing, closed when closed."""

# ruff: noqa: ASYNC240 - a test may block its own loop
from __future__ import annotations

import asyncio
import re
import stat
import threading
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import pytest

from hub.core.errors import TimedOut, Unavailable
from hub.core.sql import SqlConnection
from hub.storage.database import Database
from hub.storage.errors import QueryFailed
from hub.storage.migrations import HUB_MIGRATIONS
from tests.databases import make_database, rows_of


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    database = make_database(tmp_path / "hub.db")
    await database.open()
    yield database
    await database.close()


def count(connection: SqlConnection) -> int:
    return int(connection.execute("SELECT COUNT(*) FROM meta WHERE key != 'schema_version'").fetchone()[0])


def insert(connection: SqlConnection, key: str) -> int:
    return connection.execute("INSERT INTO meta VALUES(?, 'v')", (key,)).rowcount


def _note(seen: list[int], number: int, _connection: SqlConnection) -> None:
    seen.append(number)


async def test_a_write_returns_what_its_function_returns(database: Database) -> None:
    result = await database.write(partial(insert, key="a"))

    assert result == 1


async def test_an_awaited_write_is_seen_by_the_next_read(database: Database) -> None:
    await database.write(partial(insert, key="a"))

    assert await database.read(count) == 1


async def test_an_awaited_write_is_there_for_a_stranger_at_once(database: Database) -> None:
    await database.write(partial(insert, key="a"))

    assert rows_of(database.path, "SELECT key FROM meta WHERE key != 'schema_version'") == [("a",)]


async def test_a_write_that_fails_fails_alone(database: Database) -> None:
    def fails(connection: SqlConnection) -> None:
        insert(connection, "bad")
        raise LookupError("on purpose")

    outcomes = await asyncio.gather(
        database.write(partial(insert, key="a")),
        database.write(fails),
        database.write(partial(insert, key="b")),
        return_exceptions=True,
    )

    assert outcomes[0] == outcomes[2] == 1
    assert isinstance(outcomes[1], LookupError)
    assert await database.read(count) == 2


async def test_a_write_that_fails_by_itself_leaves_nothing(database: Database) -> None:
    def fails(connection: SqlConnection) -> None:
        insert(connection, "bad")
        raise LookupError("on purpose")

    with pytest.raises(LookupError):
        await database.write(fails)

    assert await database.read(count) == 0
    assert await database.write(partial(insert, key="bad")) == 1


async def test_a_broken_constraint_reaches_the_caller_as_such(database: Database) -> None:
    await database.write(partial(insert, key="a"))

    with pytest.raises(QueryFailed):
        await database.write(partial(insert, key="a"))


async def test_a_hundred_writes_at_once_share_few_commits(database: Database) -> None:
    go_on = threading.Event()
    busy = asyncio.ensure_future(database.write(lambda _: go_on.wait(30)))
    writes = [asyncio.ensure_future(database.write(partial(insert, key=f"k{n}"))) for n in range(100)]
    await asyncio.sleep(0)  # all of them are asked for before the first is done
    before = database.status()["commits"]

    go_on.set()
    await asyncio.gather(busy, *writes)

    assert await database.read(count) == 100
    assert database.status()["commits"] - before <= 2


async def test_a_write_that_ends_the_transaction_is_told_so(database: Database) -> None:
    with pytest.raises(RuntimeError, match="ended the transaction it ran in; it must not"):
        await database.write(lambda connection: connection.execute("COMMIT"))

    assert await database.write(partial(insert, key="a")) == 1


async def test_writes_are_done_in_the_order_they_came(database: Database) -> None:
    seen: list[int] = []

    for number in range(50):
        database.post(partial(_note, seen, number))
    await database.write(partial(_note, seen, 50))

    assert seen == list(range(51))


async def test_what_nobody_waits_for_is_written_by_closing(tmp_path: Path) -> None:
    database = make_database(tmp_path / "hub.db", post_delay_s=30)
    await database.open()
    for number in range(20):
        assert database.post(partial(insert, key=f"k{number}"))

    await database.close()

    assert rows_of(tmp_path / "hub.db", "SELECT count(*) FROM meta WHERE key != 'schema_version'") == [(20,)]


async def test_what_was_posted_shares_the_commit_of_the_next_write(tmp_path: Path) -> None:
    database = make_database(tmp_path / "hub.db", post_delay_s=30)
    await database.open()
    before = database.status()["commits"]
    for number in range(20):
        database.post(partial(insert, key=f"k{number}"))

    await database.write(partial(insert, key="awaited"))

    assert database.status()["commits"] == before + 1
    assert await database.read(count) == 21
    await database.close()


async def test_a_write_that_is_posted_while_another_is_done_is_done_too(database: Database) -> None:
    done = asyncio.Event()
    loop = asyncio.get_running_loop()

    def again(_: SqlConnection) -> None:
        database.post(lambda _: loop.call_soon_threadsafe(done.set))

    database.post(again)

    await asyncio.wait_for(done.wait(), 30)


async def test_a_posted_write_that_fails_is_logged(database: Database, caplog: pytest.LogCaptureFixture) -> None:
    database.post(lambda connection: connection.execute("INSERT INTO nowhere VALUES(1)"))
    await database.write(lambda _connection: None)

    assert re.search('no such table: nowhere|relation "nowhere" does not exist', caplog.text)


async def test_a_write_cancelled_before_it_began_is_not_done(database: Database) -> None:
    first = asyncio.ensure_future(database.write(partial(insert, key="a")))
    await asyncio.sleep(0)
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first

    rows = await database.read(count)

    assert rows in (0, 1)  # whole or not at all
    assert await database.write(partial(insert, key="b")) == 1


async def test_a_read_sees_one_state_while_writes_go_on(database: Database) -> None:
    loop = asyncio.get_running_loop()

    def look_twice(connection: SqlConnection) -> tuple[int, int]:
        before = count(connection)
        written = asyncio.run_coroutine_threadsafe(database.write(partial(insert, key="meanwhile")), loop)
        written.result(timeout=30)
        return before, count(connection)

    assert await database.read(look_twice) == (0, 0)
    assert await database.read(count) == 1


async def test_a_read_cannot_write(database: Database) -> None:
    with pytest.raises(QueryFailed, match=r"read-?only"):
        await database.read(partial(insert, key="a"))


async def test_a_read_without_end_is_stopped(database: Database) -> None:
    endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT COUNT(*) FROM n"

    with pytest.raises(TimedOut):
        await database.read(lambda connection: connection.execute(endless).fetchall(), limit_s=0.05)


async def test_after_closing_everything_is_refused(tmp_path: Path) -> None:
    database = make_database(tmp_path / "hub.db")
    await database.open()
    await database.close()
    await database.close()

    assert database.post(partial(insert, key="a")) is False
    with pytest.raises(Unavailable):
        await database.write(partial(insert, key="a"))
    with pytest.raises(Unavailable):
        await database.read(count)


@pytest.mark.sqlite_only
async def test_closing_leaves_one_file_private_to_its_user(tmp_path: Path) -> None:
    database = Database(tmp_path / "hub.db", HUB_MIGRATIONS)
    await database.open()
    await database.write(partial(insert, key="a"))
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}

    await database.close()

    assert set(modes.values()) == {0o600}
    assert [path.name for path in tmp_path.iterdir()] == ["hub.db"]


@pytest.mark.sqlite_only
async def test_writing_is_durable_and_ahead_in_a_log(database: Database) -> None:
    settings = await database.write(
        lambda c: (c.execute("PRAGMA journal_mode").fetchone()[0], c.execute("PRAGMA synchronous").fetchone()[0])
    )

    assert settings == ("wal", 2)


async def test_two_hundred_reads_at_once_are_all_answered(database: Database) -> None:
    results = await asyncio.gather(*(database.read(count) for _ in range(200)))

    assert results == [0] * 200


async def test_an_opening_that_was_given_up_can_still_be_closed(tmp_path: Path) -> None:
    database = make_database(tmp_path / "hub.db")
    opening = asyncio.ensure_future(database.open())
    await asyncio.sleep(0)
    opening.cancel()

    async with asyncio.timeout(20):
        await database.close()

    with pytest.raises(Unavailable):
        await database.write(partial(insert, key="a"))


async def test_a_database_that_was_never_opened_can_be_closed(tmp_path: Path) -> None:
    await make_database(tmp_path / "hub.db").close()

    assert list(tmp_path.iterdir()) == []
