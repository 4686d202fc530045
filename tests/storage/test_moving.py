"""A home is carried from one database to another: whole, proven, and again after it was cut off."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from hub.core.errors import Conflict, HubError
from hub.core.sql import SqlConnection
from hub.storage.database import Database
from hub.storage.migrations import HUB_MIGRATIONS
from hub.storage.moving import HomeMoved, contents, hub_tables, move_rows, read_mark, refuse_moved

PUT = "INSERT INTO transcript(session_id, seq, id, run_id, ts_ms, data) VALUES (?, ?, ?, ?, ?, ?)"


def fill(connection: SqlConnection) -> None:
    """Write what is hard to carry: no value, bytes, fractions, other letters, more rows than go at once."""
    words = ((n, f'{{"text": "Grüße 你好 {n}"}}') for n in range(2_500))
    connection.executemany(PUT, [("s", n, f"e{n}", None if n % 2 else "r", n, data) for n, data in words])
    connection.execute("INSERT INTO meta(key, value) VALUES ('restored_ms', '7')")
    connection.execute(
        "INSERT INTO api_runs(id, principal, request_hash, agent_id, shown, echo, entries, heard, size, used_ms)"
        " VALUES ('a', 'p', 'h', 'main', 0, '', ?, 0, 1, 2)",
        (bytes(range(256)),),
    )
    connection.execute(
        "INSERT INTO budget_spending VALUES ('day', 'all', '2026-12-01', 1, 2, 0.1, 1e-9, 3, 1764590000.123456)"
    )


async def opened(path: Path) -> Database:
    db = Database(path, HUB_MIGRATIONS)
    await db.open()
    return db


@pytest.fixture
async def sides(tmp_path: Path) -> AsyncIterator[tuple[Database, Database]]:
    """A full database, and an empty one."""
    full, empty = await opened(tmp_path / "old.db"), await opened(tmp_path / "new.db")
    await full.write(fill)
    yield full, empty
    await full.close()
    await empty.close()


async def nothing() -> None:
    """Carry no files."""


async def same(source: Database, target: Database) -> bool:
    pairs = [(await contents(source, each), await contents(target, each)) for each in hub_tables()]
    return all(one == other for one, other in pairs)


async def test_every_row_arrives_and_the_new_side_is_in_charge(sides: tuple[Database, Database]) -> None:
    full, empty = sides

    found = await move_rows(full, empty, nothing)

    assert found is not None
    assert found["transcript"].rows == 2_500
    assert await same(full, empty)
    await refuse_moved(empty)
    with pytest.raises(HomeMoved, match=r"new\.db"):
        await refuse_moved(full)


async def test_it_goes_back_with_what_is_new(sides: tuple[Database, Database]) -> None:
    full, empty = sides
    await move_rows(full, empty, nothing)
    await empty.write(lambda connection: connection.execute(PUT, ("s", 2_500, "new", None, 1, "{}")).rowcount)

    found = await move_rows(empty, full, nothing)

    assert found is not None
    assert found["transcript"].rows == 2_501
    assert await same(full, empty)
    await refuse_moved(full)
    with pytest.raises(HomeMoved):
        await refuse_moved(empty)


async def test_one_that_was_cut_off_changes_nothing_and_is_done_again(sides: tuple[Database, Database]) -> None:
    full, empty = sides

    async def cut_off() -> None:
        raise HubError("the power failed")

    with pytest.raises(HubError, match="power"):
        await move_rows(full, empty, cut_off)
    await refuse_moved(full)
    with pytest.raises(HomeMoved, match="cut off"):
        await refuse_moved(empty)
    await full.write(lambda connection: connection.execute("DELETE FROM transcript WHERE seq >= 3").rowcount)

    found = await move_rows(full, empty, nothing)

    assert found is not None
    assert found["transcript"].rows == 3
    assert await same(full, empty)


async def test_one_that_was_cut_off_between_both_marks_is_ended(sides: tuple[Database, Database]) -> None:
    full, empty = sides
    await move_rows(full, empty, nothing)
    mark = "INSERT INTO meta(key, value) VALUES ('moving_from', 'old.db')"
    await empty.write(lambda connection: connection.execute(mark).rowcount)

    await move_rows(full, empty, nothing)

    await refuse_moved(empty)
    assert await read_mark(full, "moved_to") is not None


async def test_a_home_that_is_there_is_not_replaced(sides: tuple[Database, Database]) -> None:
    full, other = sides
    await other.write(lambda connection: connection.execute(PUT, ("mine", 0, "e", None, 1, "{}")).rowcount)

    with pytest.raises(Conflict, match="transcript"):
        await move_rows(full, other, nothing)

    await refuse_moved(full)
    await refuse_moved(other)
