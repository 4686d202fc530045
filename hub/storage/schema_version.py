"""Which schema a database has, and how it is brought to the newest: numbered migrations, each in one transaction."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path

from hub.storage.errors import MigrationFailed, NewerSchema, from_sqlite

Migration = Callable[[sqlite3.Connection], None]
"""Changes the schema from one version to the next; it must not end the transaction it runs in."""

_CREATE_META = "CREATE TABLE IF NOT EXISTS meta(key TEXT PRIMARY KEY, value TEXT NOT NULL)"
_SET_VERSION = "INSERT INTO meta(key, value) VALUES('schema_version', ?) ON CONFLICT(key) DO UPDATE SET value = ?"


def schema_version(connection: sqlite3.Connection) -> int:
    """Return the version of the schema; 0 when the database has none of ours.

    The row in `meta` is the truth, since the header field beside it is a single unprotected number.
    """
    has_meta = connection.execute("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'meta'").fetchone()
    if has_meta:
        row = connection.execute("SELECT value FROM meta WHERE key = 'schema_version'").fetchone()
        if row is not None and str(row[0]).isdigit():
            return int(row[0])
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def refuse_newer(connection: sqlite3.Connection, migrations: Sequence[Migration], path: Path) -> None:
    """Refuse a database that a newer program wrote.

    Raises:
        NewerSchema: Its version is beyond the last migration.
    """
    found, known = schema_version(connection), len(migrations)
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
    before = schema_version(connection)
    for number, step in enumerate(migrations[before:], start=before + 1):
        _apply(connection, step, number, path)
    return before, len(migrations)


def _apply(connection: sqlite3.Connection, step: Migration, number: int, path: Path) -> None:
    connection.execute("BEGIN IMMEDIATE")
    try:
        step(connection)
        if not connection.in_transaction:
            raise RuntimeError("it ended the transaction it ran in")
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
