"""Carries the rows of a home from one database to another, and proves that all of them arrived.

The old side stays the truth until the last step: the new one is marked as unfinished until then, and no hub opens it.
A move that was cut off is begun again from the start.

One commit decides, in the database of the home's folder in both directions, as the hub of either side can look there.
"""

from __future__ import annotations

import asyncio
import hashlib
import sqlite3
from collections.abc import Awaitable, Callable, Collection, Iterator
from contextlib import closing
from functools import partial
from typing import Any

import orjson
from msgspec import Struct

from hub.core.errors import Conflict, HubError
from hub.core.sql import SqlConnection, upsert
from hub.storage.database import Database
from hub.storage.inspection import read_meta
from hub.storage.migrations import HUB_MIGRATIONS

UNFINISHED = "moving_from"
"""In the table `meta` of the new side, until everything is there."""
MOVED = "moved_to"
"""In the table `meta` of the old side, from then on."""
LEAVING = "moving_to"
"""In the table `meta` of an old side that is not in the home's folder, while the file there decides."""
MARKS = (UNFINISHED, MOVED, LEAVING)
ROWS = 2_000
READ_LIMIT_S = 3_600.0

Further = Callable[[], Awaitable[None]]
"""Carries what is not a row on both sides, and checks it."""


class HomeMoved(HubError):
    """The rows of the home are in another database."""

    code = "HOME_MOVED"
    http_status = 409


class MoveFailed(HubError):
    """What arrived is not what was sent."""

    code = "MOVE_FAILED"
    http_status = 500


class Table(Struct, frozen=True):
    """A table of the hub database, with its columns in order and those of its key."""

    name: str
    columns: tuple[str, ...]
    key: tuple[str, ...]


class Contents(Struct, frozen=True):
    """What a table holds: how many rows, and the checksum over all of them in the order of the key."""

    rows: int
    checksum: str


def hub_tables() -> list[Table]:
    """Return the tables of the hub database; those of every database are made from the same definitions."""
    with closing(sqlite3.connect(":memory:")) as connection:
        for step in HUB_MIGRATIONS:
            step(connection)
        names = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name").fetchall()
        return [_table(connection, str(name)) for (name,) in names if not str(name).startswith("sqlite_")]


async def move_rows(
    source: Database, target: Database, further: Further, *, without: Collection[str] = ()
) -> dict[str, Contents] | None:
    """Carry every row over, replacing what an earlier try left, and put the new side in charge.

    Args:
        source: The old side, open.
        target: The new side, open.
        further: Called when the rows are there, before the new side is in charge.
        without: Tables that are emptied on the new side, for `further` to fill.

    Returns:
        What each table holds, on both sides; None if all of it arrived before.

    Raises:
        Conflict: The new side has a home of its own.
        HomeMoved: The old side was moved elsewhere.
        MoveFailed: What arrived differs.
        HubError: One of them failed. The old side is in charge still.
    """
    source_name, target_name = _name(source), _name(target)
    for side in (source, target):
        if await read_mark(side, LEAVING) is not None:
            await _settle(side)
    there = await read_mark(source, MOVED)
    if there == target_name and await read_mark(target, UNFINISHED) is None:
        return None
    if there is not None and there != target_name:
        raise HomeMoved(f"the home in {source_name} was moved to {there} already")
    tables = hub_tables()
    if await read_mark(target, UNFINISHED) is None and await read_mark(target, MOVED) is None:
        held = [table.name for table in tables if table.name != "meta" and (await contents(target, table)).rows]
        if held:
            raise Conflict(
                f"{target_name} holds a home already (rows in {', '.join(held[:3])}). Name another home in `storage:`, "
                "or delete that one. Nothing was changed."
            )
    await target.write(partial(set_mark, mark=UNFINISHED, value=source_name))
    found = {}
    for table in tables:
        await target.write(partial(_empty, table=table))
        if table.name not in without:
            found[table.name] = await _carry(source, target, table)
    await further()
    await _switch(source, target)
    return found


async def _switch(source: Database, target: Database) -> None:
    """Put the new side in charge, by one commit in the file of the home's folder."""
    moved = partial(set_mark, mark=MOVED, value=_name(target))
    if not source.holds_files:
        await source.write(moved)  # decides
        await target.write(_clear_marks)
        return
    await source.write(partial(set_mark, mark=LEAVING, value=_name(target)))
    await target.write(_clear_marks)  # decides
    await source.write(moved)


async def refuse_moved(db: Database) -> None:
    """Refuse a database whose home was moved away, or has not arrived; end a move that was decided and then cut off.

    Raises:
        HomeMoved: It is not in charge.
        StorageError: The file that decides cannot be read.
    """
    if db.holds_files:
        await _settle(db)
    if (there := await read_mark(db, MOVED)) is not None:
        raise HomeMoved(
            f"the home in {_name(db)} was moved to {there}. Name that one in `storage:`, or go back with `homarus "
            "storage move`."
        )
    if (origin := await read_mark(db, UNFINISHED)) is not None:
        raise HomeMoved(
            f"the move of the home from {origin} to {_name(db)} was cut off. Do it again: `homarus storage move`; or "
            "take `storage:` back to where it was."
        )


async def _settle(db: Database) -> None:
    """Look up in the file of the home's folder how a move ended that was cut off at its last step.

    Raises:
        HomeMoved: That file is not here.
        StorageError: It cannot be read.
    """
    file = db.path
    if await read_mark(db, UNFINISHED) == str(file) and await asyncio.to_thread(read_meta, file, MOVED) == _name(db):
        await db.write(_clear_marks)
    if (there := await read_mark(db, LEAVING)) is None:
        return
    if there != str(file) or not file.exists():
        raise HomeMoved(
            f"a move of the home from {_name(db)} to {there} was cut off, and only that file says which of them is in "
            "charge: start the hub, or the move again, where it is."
        )
    if await asyncio.to_thread(read_meta, file, UNFINISHED) is not None:
        await db.write(_stay)
    else:
        await db.write(partial(set_mark, mark=MOVED, value=there))


async def read_mark(db: Database, mark: str) -> str | None:
    """Return what a mark says; None when it is not set."""

    def read(connection: SqlConnection) -> str | None:
        row = connection.execute("SELECT value FROM meta WHERE key = ?", (mark,)).fetchone()
        return str(row[0]) if row is not None else None

    return await db.read(read)


async def contents(db: Database, table: Table) -> Contents:
    """Count the rows of a table and make their checksum."""
    return await db.read(partial(_contents, table=table), limit_s=READ_LIMIT_S)


def _name(db: Database) -> str:
    return str(db.status().get("database") or db.path)


def _table(connection: sqlite3.Connection, name: str) -> Table:
    columns = connection.execute("SELECT name, pk FROM pragma_table_info(?) ORDER BY cid", (name,)).fetchall()
    key = [column for column, place in sorted(columns, key=lambda each: each[1]) if place]
    return Table(name, tuple(column for column, _ in columns), tuple(key or (column for column, _ in columns)))


async def _carry(source: Database, target: Database, table: Table) -> Contents:
    """Carry one table over in pieces, and compare both sides."""
    marks = ", ".join("?" * len(table.columns))
    insert = f"INSERT INTO {table.name}({', '.join(table.columns)}) VALUES ({marks})"  # noqa: S608
    at = 0
    while rows := await source.read(partial(_piece, table=table, at=at), limit_s=READ_LIMIT_S):
        await target.write(partial(_insert, insert=insert, rows=rows))
        at += len(rows)
    sent, arrived = await contents(source, table), await contents(target, table)
    if sent != arrived:
        raise MoveFailed(
            f"the table {table.name} has {sent.rows} rows, and {arrived.rows} arrived, or one of them differs. The "
            "home stays where it was; report this."
        )
    return sent


def _empty(connection: SqlConnection, table: Table) -> None:
    is_meta = table.name == "meta"
    connection.execute(
        f"DELETE FROM {table.name}" + (" WHERE key NOT IN (?, ?, ?)" if is_meta else ""),  # noqa: S608
        MARKS if is_meta else (),
    )


def _insert(connection: SqlConnection, insert: str, rows: list[tuple[Any, ...]]) -> None:
    connection.executemany(insert, rows)


def _select(table: Table) -> tuple[str, tuple[str, ...]]:
    marks = " WHERE key NOT IN (?, ?, ?)" if table.name == "meta" else ""
    ordered = f"SELECT {', '.join(table.columns)} FROM {table.name}{marks} ORDER BY {', '.join(table.key)}"  # noqa: S608
    return ordered, MARKS if marks else ()


def _piece(connection: SqlConnection, table: Table, at: int) -> list[tuple[Any, ...]]:
    select, given = _select(table)
    return [_plain(row) for row in connection.execute(f"{select} LIMIT ? OFFSET ?", (*given, ROWS, at)).fetchall()]


def _contents(connection: SqlConnection, table: Table) -> Contents:
    counted, digest = 0, hashlib.sha256()
    for row in _rows(connection, table):
        counted += 1
        digest.update(orjson.dumps([each.hex() if isinstance(each, bytes) else each for each in row]))
    return Contents(counted, digest.hexdigest())


def _rows(connection: SqlConnection, table: Table) -> Iterator[tuple[Any, ...]]:
    select, given = _select(table)
    return map(_plain, connection.execute(select, given))


def _plain(row: Any) -> tuple[Any, ...]:
    return tuple(bytes(each) if isinstance(each, memoryview) else each for each in row)


def set_mark(connection: SqlConnection, mark: str, value: str) -> None:
    """Set a mark of a database."""
    _stay(connection)
    connection.execute(upsert("meta", "key, value"), (mark, value))


def _stay(connection: SqlConnection) -> None:
    connection.execute("DELETE FROM meta WHERE key = ?", (LEAVING,))


def _clear_marks(connection: SqlConnection) -> None:
    connection.execute("DELETE FROM meta WHERE key IN (?, ?, ?)", MARKS)
