"""The tables of the hub database in PostgreSQL, made from their definitions in SQLite: none can be forgotten.

Every home shares them. Each table has a column `home`, and the hub sees it through a view that shows the rows of its
own home only and fills that column in; so the statements of the stores name no home, whoever the database user is.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from typing import Any, cast

import psycopg

from hub.storage.errors import MigrationFailed, NewerSchema, StorageError
from hub.storage.postgresql.errors import UnusableDatabase
from hub.storage.schema_version import Migration

TABLES = "homarus"
"""The schema of the tables that all homes share."""
VIEWS = "homarus_home"
"""The schema of the views of one home: that of the connection."""
HOME = "current_setting('homarus.home')"
_LOCK = 0x686F6D61
_HOME_COLUMN = f'home TEXT COLLATE "C" NOT NULL DEFAULT {HOME}'
_TYPES = {"INTEGER": "BIGINT", "REAL": "DOUBLE PRECISION", "BLOB": "BYTEA", "TEXT": 'TEXT COLLATE "C"'}
_TABLE = re.compile(r"\s*CREATE TABLE (?:IF NOT EXISTS )?(\w+)\s*\((.*)\)\s*$", re.DOTALL)
_INDEX = re.compile(r"\s*CREATE (UNIQUE )?INDEX (\w+) ON (\w+)\s*\((.*)$", re.DOTALL)
_COLUMN = re.compile(r"\s*ALTER TABLE (\w+) ADD COLUMN (.*)$", re.DOTALL)
_KEY = re.compile(r"(PRIMARY KEY|UNIQUE)\s*\(\s*(.*)\)$", re.DOTALL)
_WRITTEN = "written BIGINT NOT NULL DEFAULT 0"
_OWNERS = f"""CREATE TABLE {TABLES}.owners(
    home TEXT COLLATE "C" PRIMARY KEY, owner TEXT NOT NULL, backend BIGINT NOT NULL, host TEXT NOT NULL,
    process BIGINT NOT NULL, version TEXT NOT NULL, since TIMESTAMPTZ NOT NULL DEFAULT now(), {_WRITTEN})"""
_FOR_ALL = ("owners", "schema_version", "workers", "homes")
"""Tables that are of no home, and only here."""
_WORKERS = (
    f"""CREATE TABLE {TABLES}.workers(
    id TEXT PRIMARY KEY, number INTEGER NOT NULL GENERATED ALWAYS AS IDENTITY, name TEXT NOT NULL, url TEXT NOT NULL,
    host TEXT NOT NULL, process BIGINT NOT NULL, version TEXT NOT NULL, backend BIGINT NOT NULL, server TEXT NOT NULL,
    weight DOUBLE PRECISION NOT NULL DEFAULT 0, homes_limit BIGINT NOT NULL DEFAULT 0,
    beats BIGINT NOT NULL DEFAULT 0, started_at TIMESTAMPTZ NOT NULL DEFAULT now(), until TIMESTAMPTZ NOT NULL)""",
    f"""CREATE TABLE {TABLES}.homes(
    name TEXT COLLATE "C" PRIMARY KEY, folder TEXT NOT NULL, wanted TIMESTAMPTZ, due TIMESTAMPTZ, pinned TEXT,
    owner TEXT REFERENCES {TABLES}.workers ON DELETE SET NULL, serving BIGINT NOT NULL DEFAULT 0, moving TEXT,
    problem TEXT, created_at TIMESTAMPTZ NOT NULL DEFAULT now())""",
    f"CREATE INDEX homes_owner ON {TABLES}.homes(owner)",
    f"ALTER TABLE {TABLES}.owners ADD COLUMN worker TEXT REFERENCES {TABLES}.workers ON DELETE CASCADE",
    f"CREATE INDEX owners_worker ON {TABLES}.owners(worker)",
)


def adapted(statement: str) -> list[str]:
    """Return the statements that do in PostgreSQL what a portable definition does in SQLite."""
    if found := _TABLE.match(statement):
        name, body = found.groups()
        columns: list[str] = []
        keys: list[str] = []
        for part in _split(body):
            column, key = _adapted_part(part, name)
            columns += column
            keys += key
        made = f"CREATE TABLE {TABLES}.{name}({', '.join([*columns, _HOME_COLUMN, *keys])})"
        numbered = any(each.endswith(_next(name)) for each in columns)
        return [*([_counter(name)] if numbered else []), made]
    if found := _INDEX.match(statement):
        unique, index, table, rest = found.groups()
        return [f"CREATE {unique or ''}INDEX {index} ON {TABLES}.{table}(home, {rest}"]
    if found := _COLUMN.match(statement):
        table, definition = found.groups()
        columns, keys = _adapted_part(definition, table)
        added = [*(f"ADD COLUMN {column}" for column in columns), *(f"ADD {key}" for key in keys)]
        return [f"ALTER TABLE {TABLES}.{table} {', '.join(added)}"]
    return [statement]


def definitions(migrations: Sequence[Migration]) -> list[str]:
    """Return the definitions that SQLite has after migrations, in the order in which they were made."""
    with closing(sqlite3.connect(":memory:")) as connection:
        for step in migrations:
            step(connection)
        rows = connection.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY type = 'index', rowid")
        return [str(row[0]) for row in rows]


def prepare(connection: psycopg.Connection[Any], migrations: Sequence[Migration], place: str) -> None:
    """Make the tables, or bring them to the newest version; hubs that start together wait for one another.

    Raises:
        UnusableDatabase: It is another program's, or a table was lost.
        NewerSchema: A newer program wrote it.
        MigrationFailed: A migration could not be done.
    """
    with connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
        found = _version(connection, place)
        if found > len(migrations):
            raise NewerSchema(
                f"{place} has schema version {found}, and this version of Homarus knows {len(migrations)} at most. It "
                "was written by a newer Homarus: install that one again. Nothing was changed.",
                details={"found": found, "known": len(migrations)},
            )
        if found:
            _number_writes(connection)
        if found == len(migrations):
            _refuse_lost(connection, migrations, place)
        try:
            if found < len(migrations):
                _make(connection, migrations, found)
            if connection.execute("SELECT to_regclass(%s)", (f"{TABLES}.workers",)).fetchone() == (None,):
                _run(connection, _WORKERS)
        except (psycopg.Error, sqlite3.Error, StorageError) as error:
            raise MigrationFailed(
                f"the tables of {place} could not be brought from version {found} to {len(migrations)} ({error}); they "
                "are as they were. Go back to the version of Homarus that worked, and report this.",
                details={"found": found, "known": len(migrations)},
            ) from error


def _number_writes(connection: psycopg.Connection[Any]) -> None:
    """Let `owners` count the transactions of a home, where an earlier version made it without."""
    has = "SELECT 1 FROM pg_attribute WHERE attrelid = %s::regclass AND attname = 'written'"
    if connection.execute(has, (f"{TABLES}.owners",)).fetchone() is None:
        _run(connection, [f"ALTER TABLE {TABLES}.owners ADD COLUMN {_WRITTEN}"])


def _make(connection: psycopg.Connection[Any], migrations: Sequence[Migration], found: int) -> None:
    if found == 0:
        _run(connection, [f"CREATE SCHEMA {TABLES}", f"CREATE SCHEMA {VIEWS}", _OWNERS])
        _run(connection, [f"CREATE TABLE {TABLES}.schema_version(version BIGINT NOT NULL)"])
        _run(connection, [f"INSERT INTO {TABLES}.schema_version VALUES (0)"])  # noqa: S608  constants
        for statement in definitions(migrations):
            _run(connection, adapted(statement))
    else:
        _run(connection, [f"SET LOCAL search_path = {TABLES}"])
        for step in migrations[found:]:
            step(cast(sqlite3.Connection, _Adapting(connection)))
    _make_views(connection)
    connection.execute(f"UPDATE {TABLES}.schema_version SET version = %s", (len(migrations),))  # noqa: S608  constants


def _make_views(connection: psycopg.Connection[Any]) -> None:
    """Make the views of all tables again: each column, in order, and at the end the home."""
    for table, columns in tables_of(connection, TABLES).items():
        names = ", ".join([*(each for each in columns if each != "home"), "home"])
        _run(connection, [f"DROP VIEW IF EXISTS {VIEWS}.{table}"])
        _run(connection, [f"CREATE VIEW {VIEWS}.{table} AS SELECT {names} FROM {TABLES}.{table} WHERE home = {HOME}"])  # noqa: S608


def tables_of(connection: psycopg.Connection[Any], schema: str) -> dict[str, list[str]]:
    """Return the columns of the homes' tables, or of their views, by name."""
    rows = connection.execute(
        "SELECT relname, attname FROM pg_class JOIN pg_attribute ON attrelid = pg_class.oid WHERE attnum > 0"
        " AND NOT attisdropped AND relkind IN ('r', 'v') AND relnamespace = to_regnamespace(%s)"
        " AND relname <> ALL(%s) ORDER BY relname, attnum",
        (schema, list(_FOR_ALL)),
    )
    found: dict[str, list[str]] = {}
    for table, column in rows:
        found.setdefault(table, []).append(column)
    return found


def _version(connection: psycopg.Connection[Any], place: str) -> int:
    """Return the version of our tables; 0 in a database that is empty."""
    if connection.execute("SELECT to_regclass(%s)", (f"{TABLES}.schema_version",)).fetchone() != (None,):
        row = connection.execute(f"SELECT version FROM {TABLES}.schema_version").fetchone()  # noqa: S608
        if row is not None:
            return int(row[0])
    foreign = connection.execute(
        "SELECT string_agg(relname, ', ') FROM (SELECT relname FROM pg_class WHERE relkind IN ('r', 'p')"
        " AND relnamespace IN (to_regnamespace('public'), to_regnamespace(%s), to_regnamespace(%s)) AND NOT EXISTS"
        " (SELECT 1 FROM pg_depend WHERE objid = pg_class.oid AND deptype = 'e') ORDER BY relname LIMIT 3) AS named",
        (TABLES, VIEWS),
    ).fetchone()
    if foreign is not None and foreign[0]:
        raise UnusableDatabase(
            f"{place} belongs to another program: it has the tables {foreign[0]}. Give Homarus one of its own (CREATE "
            "DATABASE homarus) and name it in `storage: postgresql`. Nothing was changed."
        )
    return 0


def _refuse_lost(connection: psycopg.Connection[Any], migrations: Sequence[Migration], place: str) -> None:
    made = (found for statement in definitions(migrations) if (found := _TABLE.match(statement)))
    lost = {found[1] for found in made} - tables_of(connection, VIEWS).keys()
    if lost:
        raise UnusableDatabase(
            f"{place} lost the tables {', '.join(sorted(lost))}. Restore it from its backup. Nothing was changed."
        )


class _Adapting:
    """The connection of a migration: its definitions are adapted, and what changes rows changes those of all homes."""

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self._connection = connection

    def execute(self, statement: str) -> Any:
        for each in adapted(statement):
            result = self._connection.execute(each.encode())
        return result


def _run(connection: psycopg.Connection[Any], statements: Iterable[str]) -> None:
    for statement in statements:
        connection.execute(statement.encode())


def _adapted_part(part: str, table: str) -> tuple[list[str], list[str]]:
    """Return a column as a list, and the keys that it or the part itself makes."""
    if found := _KEY.match(part):
        return [], [f"{found[1]}(home, {found[2]})"]
    name, type_name, *rest = part.split(None, 2)
    more = rest[0] if rest else ""
    keys = []
    for key in ("PRIMARY KEY", "UNIQUE"):
        if key in more:
            more = more.replace(key, "").strip()
            keys.append(f"{key}(home, {name})")
    if keys and "NOT NULL" not in more:
        more = f"NOT NULL {more}".strip()
    if keys == [f"PRIMARY KEY(home, {name})"] and type_name == "INTEGER":
        more += f" DEFAULT {_next(table)}"
    return [f"{name} {_TYPES[type_name]} {more}".strip()], keys


def _next(table: str) -> str:
    return f"{TABLES}.next_{table}()"


def _counter(table: str) -> str:
    """Return the function that numbers the rows of a home as SQLite does; nobody else writes there meanwhile."""
    return f"""CREATE FUNCTION {_next(table)} RETURNS BIGINT LANGUAGE plpgsql AS $$BEGIN
        RETURN (SELECT coalesce(max(position), 0) + 1 FROM {TABLES}.{table} WHERE home = {HOME}); END$$"""  # noqa: S608


def _split(body: str) -> Iterator[str]:
    """Yield the parts of a definition, between the commas that are in no brackets."""
    depth, part = 0, ""
    for letter in body:
        depth += (letter == "(") - (letter == ")")
        if letter == "," and depth == 0:
            yield part.strip()
            part = ""
        else:
            part += letter
    yield part.strip()
