"""The schema version of a database, and its upgrade: numbered migrations, each in one transaction."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path

from hub.storage.errors import MigrationFailed, NewerSchema, from_sqlite

Migration = Callable[[sqlite3.Connection], None]
"""Changes the schema from one version to the next; it must not end the transaction it runs in."""

_CREATE_META = "CREATE TABLE IF NOT EXISTS meta(key TEXT PRIMARY KEY, value TEXT NOT NULL)"
_SET_VERSION = "INSERT INTO meta(key, value) VALUES('schema_version', ?) ON CONFLICT(key) DO UPDATE SET value = ?"


def schema_version(connection: sqlite3.Connection, known: int) -> int:
    """Return the version of the schema; 0 when the database has none of our tables.

    It is kept twice, in the header and in `meta`, and always written to both at once. When they differ, the disk
    changed a byte: then the one this program can make sense of counts.

    Args:
        known: The newest version this program knows.
    """
    in_header = int(connection.execute("PRAGMA user_version").fetchone()[0])
    in_meta = _version_in_meta(connection)
    if in_meta is None or in_meta == in_header:
        return in_header
    return max((version for version in (in_header, in_meta) if 0 <= version <= known), default=in_header)


def refuse_newer(connection: sqlite3.Connection, migrations: Sequence[Migration], path: Path) -> None:
    """Refuse a database that a newer program wrote.

    Raises:
        NewerSchema: Its version is beyond the last migration.
    """
    known = len(migrations)
    found = schema_version(connection, known)
    if found > known:
        raise NewerSchema(
            f"{path} has schema version {found}, and this version of Homarus knows {known} at most. It was written by "
            "a newer Homarus: install that one again, or start with another --config directory. The file is unchanged.",
            details={"file": str(path), "found": found, "known": known},
        )


def migrate(connection: sqlite3.Connection, migrations: Sequence[Migration], path: Path) -> tuple[int, int]:
    """Bring the schema to the newest version.

    Args:
        connection: In autocommit mode, writable.
        migrations: The one at index n leads from version n to n + 1.
        path: Named in errors.

    Returns:
        The version before and the version now.

    Raises:
        NewerSchema: A newer program wrote the file.
        MigrationFailed: One failed; it was rolled back and the file has the version before it.
    """
    refuse_newer(connection, migrations, path)
    before = schema_version(connection, len(migrations))
    for number, step in enumerate(migrations[before:], start=before + 1):
        _apply(connection, step, number, path)
    return before, len(migrations)


def _apply(connection: sqlite3.Connection, step: Migration, number: int, path: Path) -> None:
    connection.execute("BEGIN IMMEDIATE")
    try:
        step(connection)
        if not connection.in_transaction:
            raise RuntimeError("the migration must not end its transaction")
        connection.execute(_CREATE_META)
        connection.execute(_SET_VERSION, (str(number), str(number)))
        connection.execute(f"PRAGMA user_version = {number:d}")
        connection.execute("COMMIT")
    except Exception as error:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        if isinstance(error, sqlite3.Error) and from_sqlite(error, path) is not None:
            raise  # the disk's fault, not the migration's
        raise MigrationFailed(
            f"migration {number} of {path} failed ({error}); the file still has version {number - 1}, nothing is lost. "
            "Go back to the version of Homarus that worked, and report this.",
            details={"file": str(path), "migration": number},
        ) from error


def _version_in_meta(connection: sqlite3.Connection) -> int | None:
    if not connection.execute("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'meta'").fetchone():
        return None
    row = connection.execute("SELECT value FROM meta WHERE key = 'schema_version'").fetchone()
    return int(row[0]) if row is not None and str(row[0]).isdecimal() and len(row[0]) < 10 else None
