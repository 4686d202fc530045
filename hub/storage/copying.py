"""Copies of databases that are in use, and changes to a copy before anybody opens it."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from hub.core.sql import SqlConnection
from hub.storage.connection import connect
from hub.storage.errors import DatabaseDamaged, StorageError, from_sqlite
from hub.storage.schema_version import Migration, migrate, schema_version

T = TypeVar("T")


def copy_database(source: Path, target: Path, *, check: bool) -> None:
    """Copy a database as it is between two commits, into one new file of mode 0600; its writers continue meanwhile.

    Args:
        check: Whether the pages of the copy are checked.

    Raises:
        DatabaseDamaged: It is damaged.
        StorageError: It cannot be read, or there is no room for the copy.
    """
    os.close(os.open(target, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))
    try:
        with (
            _failing_for(source),
            _closed(connect(source, read_only=True)) as live,
            _closed(sqlite3.connect(target)) as copy,
        ):
            live.backup(copy)
            if check:
                _judge(copy, source)
            copy.execute("PRAGMA journal_mode = DELETE")
    except BaseException:
        target.unlink()
        raise


def read_copy(path: Path, read: Callable[[SqlConnection], T]) -> tuple[int, T]:
    """Return the schema version of a copy, and what `read` returns of it.

    Raises:
        StorageError: It cannot be read.
    """
    with _failing_for(path), _closed(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as copy:
        return schema_version(copy, 1_000_000), read(copy)


def change_copy(path: Path, migrations: Sequence[Migration], change: Callable[[SqlConnection], T]) -> T:
    """Check a copy, bring it to the newest schema, and return what `change` returns, in one transaction.

    Raises:
        DatabaseDamaged: It is damaged.
        NewerSchema, MigrationFailed, StorageError: It cannot be migrated.
    """
    with _failing_for(path), _closed(sqlite3.connect(path, isolation_level=None)) as copy:
        _judge(copy, path)
        migrate(copy, migrations, path)
        copy.execute("BEGIN IMMEDIATE")
        try:
            found = change(copy)
        except BaseException:
            copy.execute("ROLLBACK")
            raise
        copy.execute("COMMIT")
        return found


def _judge(connection: sqlite3.Connection, path: Path) -> None:
    found = connection.execute("PRAGMA quick_check(3)").fetchall()
    if found != [("ok",)]:
        told = "; ".join(str(row[0]) for row in found)[:200]
        raise DatabaseDamaged(f"{path} is damaged ({told})", details={"file": str(path), "reason": told})


@contextmanager
def _closed(connection: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    try:
        yield connection
    finally:
        connection.close()


@contextmanager
def _failing_for(path: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        raise from_sqlite(error, path) or StorageError(f"{path} cannot be copied or read: {error}") from error
