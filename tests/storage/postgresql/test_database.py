"""A home in PostgreSQL: one owner, a server that goes away, and databases that are not as they must be."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from functools import partial
from pathlib import Path

import pytest

from hub.core.errors import HubError
from hub.core.sql import SqlConnection
from hub.storage.errors import QueryFailed, ReadOnlyStorage
from hub.storage.postgresql.database import PostgresqlDatabase
from hub.storage.postgresql.errors import DatabaseUnreachable, HomeOwned, OwnershipLost, UnusableDatabase
from hub.storage.postgresql.inspection import inspect, read_meta
from hub.storage.postgresql.session import Target
from tests.servers.cut_line import PORT_NAME, CutLine
from tests.servers.postgresql import PASSWORD, PostgresqlServer
from tests.storage.postgresql.conftest import Open
from tests.until import until

PUT = (
    "INSERT INTO group_history(session_key, channel, account, peer, message_id, sender, name, text, received_ms)"
    " VALUES('s', 'c', 'a', 'p', 'm', 'x', 'n', ?, 0)"
)


def put(connection: SqlConnection, text: str) -> int:
    return connection.execute(PUT, (text,)).rowcount


def texts(connection: SqlConnection) -> list[str]:
    return [row[0] for row in connection.execute("SELECT text FROM group_history ORDER BY position").fetchall()]


async def test_homes_in_one_database_do_not_see_each_other(open_home: Open) -> None:
    elm, oak = await open_home("elm"), await open_home("oak")

    await elm.write(partial(put, text="of elm"))
    await oak.write(partial(put, text="of oak"))
    await oak.write(lambda connection: connection.execute("UPDATE group_history SET text = 'changed'").rowcount)

    assert await elm.read(texts) == ["of elm"]
    assert await oak.read(texts) == ["changed"]
    positions = "SELECT position FROM group_history"
    assert [await each.read(lambda c: c.execute(positions).fetchall()) for each in (elm, oak)] == [[(1,)], [(1,)]]


async def test_values_come_back_as_they_do_from_sqlite(database: PostgresqlDatabase) -> None:
    row = await database.read(
        lambda connection: connection.execute(
            "SELECT sum(number), ?, 7 > 6, ? + 0, ? || '' FROM (SELECT 2 AS number UNION ALL SELECT 3) AS numbers",
            (b"\x00\xff", 2**40, "Grüße"),
        ).fetchone()
    )

    assert row == (5, b"\x00\xff", 1, 2**40, "Grüße")
    assert [type(value) for value in row] == [int, bytes, int, int, str]


async def test_a_boolean_is_kept_as_a_number(database: PostgresqlDatabase) -> None:
    put_state = "INSERT INTO automation_state(id, enabled, updated_ms) VALUES(?, ?, 0)"
    await database.write(lambda connection: connection.executemany(put_state, [("a", True), ("b", False)]).rowcount)

    found = "SELECT id, enabled FROM automation_state WHERE enabled = ?"
    assert await database.read(lambda connection: connection.execute(found, (True,)).fetchall()) == [("a", 1)]


async def test_texts_are_ordered_by_their_bytes(database: PostgresqlDatabase) -> None:
    for each in ("b", "B", "ä", "a"):
        await database.write(lambda connection, key=each: connection.execute("INSERT INTO meta VALUES(?, '')", (key,)))  # type: ignore[misc]

    found = await database.read(lambda connection: connection.execute("SELECT key FROM meta ORDER BY key").fetchall())
    assert [row[0] for row in found] == ["B", "a", "b", "ä"]


async def test_a_second_hub_is_refused_and_told_who_owns_the_home(
    database: PostgresqlDatabase, open_home: Open
) -> None:
    with pytest.raises(HomeOwned, match=rf"process {os.getpid()} on .* already owns the home elm"):
        await open_home()

    await database.close()
    await (await open_home()).write(partial(put, text="goes on"))


async def test_who_lost_the_home_writes_nothing_more(
    database: PostgresqlDatabase, open_home: Open, server: PostgresqlServer, name: str
) -> None:
    heard: list[HubError | None] = []
    database.on_away(heard.append)
    server.execute("SELECT pg_terminate_backend(backend::int) FROM homarus.owners", name)
    second = await open_home()

    with pytest.raises(OwnershipLost, match="has taken over the home elm"):
        await database.write(partial(put, text="late"))
    with pytest.raises(OwnershipLost):
        await database.write(partial(put, text="later"))

    assert await second.read(texts) == []
    assert isinstance(heard[-1], OwnershipLost)


async def test_each_transaction_proves_that_it_owns_the_home(
    database: PostgresqlDatabase, server: PostgresqlServer, name: str
) -> None:
    server.execute("UPDATE homarus.owners SET owner = 'somebody else'", name)

    with pytest.raises(OwnershipLost):
        await database.write(partial(put, text="late"))

    assert await database.read(texts) == []


async def test_while_the_server_is_away_all_wait_and_nothing_is_lost_or_doubled(
    database: PostgresqlDatabase, server: PostgresqlServer
) -> None:
    heard: list[HubError | None] = []
    database.on_away(heard.append)
    await database.write(partial(put, text="0"))
    server.kill()
    assert database.post(partial(put, text="1"))
    waiting = [asyncio.ensure_future(database.write(partial(put, text=str(number)))) for number in (2, 3)]
    reading = asyncio.ensure_future(database.read(texts))
    await until(lambda: heard)
    assert database.post(partial(put, text="4"))
    assert database.status()["away_s"] is not None

    server.start()
    await asyncio.gather(*waiting)
    await database.write(partial(put, text="5"))

    assert await database.read(texts) == ["0", "1", "2", "3", "4", "5"]
    assert (await reading)[0] == "0"
    assert isinstance(heard[0], DatabaseUnreachable)
    assert heard[-1] is None


async def test_who_waited_long_enough_is_refused_and_what_nobody_waits_for_is_kept(
    open_home: Open, server: PostgresqlServer
) -> None:
    database = await open_home(patience_s=0.0)
    server.kill()
    database.post(partial(put, text="posted"))
    await until(lambda: database.status()["away_s"] is not None)

    with pytest.raises(DatabaseUnreachable, match="goes on by itself when it is back; nothing of this was written"):
        await database.write(partial(put, text="awaited"))

    server.start()
    await until(lambda: database.status()["away_s"] is None)
    await database.write(partial(put, text="after"))
    assert await database.read(texts) == ["posted", "after"]
    assert database.status()["waiting"] == 0


async def test_a_hub_can_stop_while_the_server_is_away(
    database: PostgresqlDatabase, server: PostgresqlServer, caplog: pytest.LogCaptureFixture
) -> None:
    server.kill()
    database.post(partial(put, text="posted"))

    await database.close()

    assert "1 writes were given up" in caplog.text


@pytest.mark.parametrize("cut", ["cut_before", "cut_after"])
async def test_a_commit_that_is_never_answered_is_done_once(
    server: PostgresqlServer, name: str, open_home: Open, tmp_path: Path, cut: str
) -> None:
    with CutLine(server.folder / PORT_NAME, tmp_path) as line:
        database = await open_home(url=f"postgresql://homarus@/{name}?host={tmp_path}")
        setattr(line, cut, b"COMMIT\x00")

        await asyncio.gather(*(database.write(partial(put, text=text)) for text in ("a", "b")))

        assert line.cuts == 1
        assert await database.read(texts) == ["a", "b"]
        await database.close()


async def test_a_server_that_answers_no_more_counts_as_away(
    open_home: Open, server: PostgresqlServer, name: str
) -> None:
    database = await open_home(answer_limit_s=0.5)
    heard: list[HubError | None] = []
    database.on_away(heard.append)
    [(frozen,)] = server.execute("SELECT backend FROM homarus.owners", name)
    os.kill(frozen, signal.SIGSTOP)
    try:
        waiting = asyncio.ensure_future(database.write(partial(put, text="a")))
        await until(lambda: heard)
    finally:
        os.kill(frozen, signal.SIGCONT)

    await waiting
    assert await database.read(texts) == ["a"]


async def test_when_one_of_a_batch_fails_the_others_are_done_in_order(database: PostgresqlDatabase) -> None:
    go_on = threading.Event()
    busy = asyncio.ensure_future(database.write(lambda _: go_on.wait(30)))
    pieces = [asyncio.ensure_future(database.write(partial(put, text=text))) for text in ("a", "with \x00 in it", "b")]
    await asyncio.sleep(0)
    go_on.set()

    await busy
    done, failed, also_done = await asyncio.gather(*pieces, return_exceptions=True)

    assert (done, also_done) == (1, 1)
    assert isinstance(failed, QueryFailed)
    assert r"cannot keep a text with the character NUL (\x00)" in failed.message
    assert await database.read(texts) == ["a", "b"]


async def test_errors_show_no_value_of_a_row(database: PostgresqlDatabase) -> None:
    key = "INSERT INTO meta VALUES('a secret word', '')"
    await database.write(lambda connection: connection.execute(key))

    with pytest.raises(QueryFailed, match="duplicate key value") as refused:
        await database.write(lambda connection: connection.execute(key))

    assert "secret" not in str(refused.value)


async def test_a_table_that_is_lost_while_the_hub_runs_is_named(
    database: PostgresqlDatabase, server: PostgresqlServer, name: str
) -> None:
    server.execute("DROP TABLE homarus.group_history CASCADE", name)

    with pytest.raises(QueryFailed, match=r'"group_history" does not exist.*restore the database'):
        await database.write(partial(put, text="a"))


@pytest.mark.parametrize(
    ("address", "kind", "told"),
    [
        ("postgresql://locked:wrong-word@/{name}?host={folder}", UnusableDatabase, "does not let the hub in"),
        ("postgresql://locked@/{name}?host={folder}", UnusableDatabase, "does not let the hub in"),
        ("postgresql://homarus@/nowhere?host={folder}", UnusableDatabase, "Make it: CREATE DATABASE"),
        ("postgresql://nobody@/{name}?host={folder}", UnusableDatabase, "Make it: CREATE USER"),
        ("postgresql://homarus:wrong-word@127.0.0.1:1/{name}", DatabaseUnreachable, "cannot be reached"),
        ("postgresql//homarus:wrong-word@host", UnusableDatabase, "is no address of a database"),
        ("postgresql://locked:{password}@/{name}?host={folder}", Exception, "permission denied"),
    ],
)
async def test_a_database_that_cannot_be_used_is_named_with_what_to_do(
    server: PostgresqlServer, name: str, open_home: Open, address: str, kind: type[Exception], told: str
) -> None:
    url = address.format(name=name, folder=server.folder, password=PASSWORD)

    with pytest.raises(kind, match=told) as refused:
        await open_home(url=url)

    assert "wrong-word" not in str(refused.value)
    assert PASSWORD not in str(refused.value)


async def test_a_database_that_only_reads_is_refused(server: PostgresqlServer, name: str, open_home: Open) -> None:
    server.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = on")

    with pytest.raises(ReadOnlyStorage, match="only reads"):
        await open_home()


async def test_a_server_that_is_too_old_is_refused(
    server: PostgresqlServer, name: str, open_home: Open, tmp_path: Path
) -> None:
    [(version,)] = server.execute("SHOW server_version")
    real, old = (f"server_version\x00{each}".encode() for each in (version, "13" + version[2:]))

    with (
        CutLine(server.folder / PORT_NAME, tmp_path, lambda said: said.replace(real, old)),
        pytest.raises(UnusableDatabase, match="runs PostgreSQL 13, which is too old"),
    ):
        await open_home(url=f"postgresql://homarus@/{name}?host={tmp_path}")


async def test_a_database_that_cannot_keep_every_text_is_refused(server: PostgresqlServer, open_home: Open) -> None:
    server.execute("CREATE DATABASE narrow TEMPLATE template0 ENCODING 'LATIN1' LOCALE 'C'")

    with pytest.raises(UnusableDatabase, match="keeps texts as LATIN1"):
        await open_home(url=server.url("narrow"))


async def test_it_can_be_looked_at_from_outside(
    database: PostgresqlDatabase, server: PostgresqlServer, name: str
) -> None:
    await database.write(lambda connection: connection.execute("INSERT INTO meta VALUES('audit_head', 'x')").rowcount)
    target = Target.from_url(server.url(name), "elm")

    found = await asyncio.to_thread(inspect, target)

    assert found.owner is not None
    assert found.owner.process == os.getpid()
    assert await asyncio.to_thread(read_meta, target, "audit_head") == "x"
    await database.close()
    assert (await asyncio.to_thread(inspect, target)).owner is None


def test_a_target_does_not_show_its_password() -> None:
    target = Target.from_url("postgresql://me:very-secret@one,two:5433/homarus", "elm")

    assert repr(target) == "Target(the PostgreSQL database homarus at one, two:5433)"
    assert target.password == "very-secret"
    assert target.parameters["target_session_attrs"] == "read-write"
