"""The tables in PostgreSQL: those of SQLite, each with its home, however they came to be."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from hub.storage.errors import MigrationFailed, NewerSchema
from hub.storage.migrations import HUB_MIGRATIONS
from hub.storage.postgresql.database import PostgresqlDatabase
from hub.storage.postgresql.errors import UnusableDatabase
from hub.storage.postgresql.session import Session, Target
from hub.storage.postgresql.tables import prepare
from tests.servers.postgresql import PostgresqlServer
from tests.storage.postgresql.conftest import Open

FIRST = 13
"""The version that was first made in PostgreSQL: all later migrations run in both."""
_COLUMNS = """SELECT relname, attname, format_type(atttypid, NULL), attnotnull, pg_get_expr(adbin, adrelid)
    FROM pg_class JOIN pg_attribute ON attrelid = pg_class.oid AND attnum > 0
    LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
    WHERE relnamespace = 'homarus'::regnamespace AND relkind = 'r' ORDER BY 1, 2"""
_UNIQUE = """SELECT relname, array_agg(attname::text ORDER BY place), pg_get_expr(indpred, indrelid)
    FROM pg_index CROSS JOIN unnest(indkey) WITH ORDINALITY AS keys(number, place)
    JOIN pg_attribute ON attrelid = indrelid AND attnum = number JOIN pg_class ON pg_class.oid = indrelid
    WHERE indisunique AND relnamespace = 'homarus'::regnamespace GROUP BY indexrelid, indrelid, relname ORDER BY 1, 2"""
_TYPES = {"TEXT": "text", "INTEGER": "bigint", "REAL": "double precision", "BLOB": "bytea"}


def add_a_table(connection: Any) -> None:
    connection.execute("CREATE TABLE extra(id TEXT PRIMARY KEY, place INTEGER, data BLOB, UNIQUE(place))")
    connection.execute("CREATE INDEX extra_data ON extra(data) WHERE place IS NOT NULL")
    connection.execute("ALTER TABLE runs ADD COLUMN colour TEXT NOT NULL DEFAULT 'red'")
    connection.execute("UPDATE runs SET colour = 'blue'")


def fails(connection: Any) -> None:
    connection.execute("CREATE TABLE half(id TEXT PRIMARY KEY)")
    connection.execute("UPDATE nowhere SET id = 1")


def described(server: PostgresqlServer, name: str) -> tuple[list[Any], list[Any]]:
    ours = ("owners", "schema_version", "workers", "homes")
    columns = [row for row in server.execute(_COLUMNS, name) if row[0] not in ours]
    return columns, [row for row in server.execute(_UNIQUE, name) if row[0] not in ours]


async def opened(server: PostgresqlServer, name: str, migrations: Any, tmp_path: Path) -> None:
    database = PostgresqlDatabase(Target.from_url(server.url(name), "elm"), migrations, tmp_path)
    await database.open()
    await database.close()


async def test_it_has_the_tables_columns_and_keys_of_sqlite(
    server: PostgresqlServer, name: str, tmp_path: Path
) -> None:
    with closing(sqlite3.connect(":memory:")) as connection:
        for step in HUB_MIGRATIONS:
            step(connection)
        tables = [row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        columns, keys = [], []
        for table in tables:
            info = connection.execute(f"PRAGMA table_info({table})").fetchall()
            columns += [(table, row[1], _TYPES[row[2]]) for row in info]
            primary = [row[1] for row in sorted(info, key=lambda row: row[5]) if row[5]]
            unique = [row[1] for row in connection.execute(f"PRAGMA index_list({table})") if row[2]]
            found = [[row[2] for row in connection.execute(f"PRAGMA index_info({index})")] for index in unique]
            keys += [(table, ["home", *each]) for each in (*found, *([primary] if primary not in found else []))]

    await opened(server, name, HUB_MIGRATIONS, tmp_path)

    ours, unique_here = described(server, name)
    assert [(table, column, kind) for table, column, kind, *_ in ours if column != "home"] == sorted(columns)
    assert sorted({table for table, column, *_ in ours if column == "home"}) == sorted(tables)
    assert sorted((table, key) for table, key, _ in unique_here) == sorted(keys)


async def test_an_upgraded_database_is_as_a_new_one(server: PostgresqlServer, name: str, tmp_path: Path) -> None:
    new, newest = server.new_database(), (*HUB_MIGRATIONS, add_a_table)

    first = Session(Target.from_url(server.url(name), "elm"))
    prepare(first.connection, HUB_MIGRATIONS[:FIRST], name)
    first.close()
    await opened(server, name, newest, tmp_path)
    await opened(server, new, newest, tmp_path)

    assert described(server, name) == described(server, new)
    assert server.execute("SELECT extra.id, colour FROM homarus.extra, homarus.runs", name) == []


async def test_tables_whose_writes_were_not_counted_yet_are(
    server: PostgresqlServer, name: str, tmp_path: Path
) -> None:
    await opened(server, name, HUB_MIGRATIONS, tmp_path)
    server.execute("ALTER TABLE homarus.owners DROP COLUMN written", name)

    await opened(server, name, HUB_MIGRATIONS, tmp_path)

    assert server.execute("SELECT written FROM homarus.owners", name) == []


async def test_hubs_that_start_together_make_the_tables_once(open_home: Open) -> None:
    homes = await asyncio.gather(*(open_home(f"home{number}") for number in range(4)))

    for each in homes:
        await each.write(lambda connection: connection.execute("INSERT INTO meta VALUES('a', 'v')").rowcount)


async def test_a_migration_that_fails_changes_nothing(server: PostgresqlServer, name: str, tmp_path: Path) -> None:
    await opened(server, name, HUB_MIGRATIONS, tmp_path)
    before = described(server, name)

    with pytest.raises(MigrationFailed, match="they are as they were"):
        await opened(server, name, (*HUB_MIGRATIONS, fails), tmp_path)

    assert described(server, name) == before
    await opened(server, name, HUB_MIGRATIONS, tmp_path)


async def test_what_a_newer_program_wrote_is_refused(server: PostgresqlServer, name: str, tmp_path: Path) -> None:
    await opened(server, name, (*HUB_MIGRATIONS, add_a_table), tmp_path)

    with pytest.raises(NewerSchema, match="written by a newer Homarus"):
        await opened(server, name, HUB_MIGRATIONS, tmp_path)


async def test_what_belongs_to_another_program_is_refused(server: PostgresqlServer, name: str, tmp_path: Path) -> None:
    server.execute("CREATE TABLE oc_users(uid TEXT)", name)

    with pytest.raises(UnusableDatabase, match="belongs to another program: it has the tables oc_users"):
        await opened(server, name, HUB_MIGRATIONS, tmp_path)

    assert server.execute("SELECT nspname FROM pg_namespace WHERE nspname LIKE 'homarus%'", name) == []


async def test_a_lost_table_is_named_before_anything_is_written(
    server: PostgresqlServer, name: str, tmp_path: Path
) -> None:
    await opened(server, name, HUB_MIGRATIONS, tmp_path)
    server.execute("DROP TABLE homarus.outbox CASCADE", name)

    with pytest.raises(UnusableDatabase, match="lost the tables outbox"):
        await opened(server, name, HUB_MIGRATIONS, tmp_path)
