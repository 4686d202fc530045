"""Inspection of a read-only database: neither the file nor anything beside it changes."""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from hub.storage.connection import decode_text
from hub.storage.errors import StorageError
from hub.storage.schema_version import Migration, refuse_newer

CHECK_LIMIT_S = 60.0
COPY_LIMIT_BYTES = 1024 * 1024 * 1024
LOOKED_AT = 5
STEPS_BETWEEN_LOOKS = 100_000


def inspect_database(path: Path, migrations: Sequence[Migration], *, runs: bool) -> list[str]:
    """Return the damage of a database; empty if everything that could be checked in a minute is intact.

    Args:
        runs: Whether a hub has it open.

    Raises:
        NewerSchema: A newer program wrote it.
        StorageError: It cannot be read.
    """
    try:
        with _reading(path, runs=runs) as connection:
            refuse_newer(connection, migrations, path)
            return _integrity(connection)
    except sqlite3.DatabaseError as error:
        raise StorageError(f"{path.name} cannot be read: {error}.", details={"file": str(path)}) from error


def read_meta(path: Path, key: str) -> str | None:
    """Return a value of the table `meta` of a database, whether or not a hub has it open; None without one.

    Raises:
        StorageError: It cannot be read.
    """
    if not path.exists():
        return None
    try:
        with _reading(path, runs=path.with_name(f"{path.name}-shm").exists()) as connection:
            found = connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
    except sqlite3.DatabaseError as error:
        raise StorageError(f"{path.name} cannot be read: {error}.", details={"file": str(path)}) from error
    return None if found is None else str(found[0])


def _integrity(connection: sqlite3.Connection) -> list[str]:
    deadline = time.monotonic() + CHECK_LIMIT_S
    connection.set_progress_handler(lambda: int(time.monotonic() > deadline), STEPS_BETWEEN_LOOKS)
    try:
        found = [str(row[0]).strip() for row in connection.execute(f"PRAGMA integrity_check({LOOKED_AT})")]
    except sqlite3.OperationalError as problem:
        if getattr(problem, "sqlite_errorcode", None) == sqlite3.SQLITE_INTERRUPT:
            return []  # the part that could be checked in a minute is intact
        raise
    return [] if found == ["ok"] else found


@contextmanager
def _reading(path: Path, *, runs: bool) -> Iterator[sqlite3.Connection]:
    """Open a database so that no files beside it change either.

    While a hub runs, its log and shared memory are there to be used. What a killed hub left behind is read from a copy,
    since SQLite would fold the log back. Otherwise the file is all there is.
    """
    if runs:
        yield from _connected(f"{path.absolute().as_uri()}?mode=ro")
        return
    log = Path(f"{path}-wal")
    if path.stat().st_size > COPY_LIMIT_BYTES:
        yield from _connected(f"{path.absolute().as_uri()}?mode=ro")
    elif not log.exists() or log.stat().st_size == 0:
        yield from _connected(f"{path.absolute().as_uri()}?mode=ro&immutable=1")
    else:
        with tempfile.TemporaryDirectory(prefix="homarus-doctor-") as folder:
            copy = Path(folder) / path.name
            shutil.copyfile(path, copy)
            shutil.copyfile(log, f"{copy}-wal")
            yield from _connected(copy.as_uri())


def _connected(uri: str) -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(uri, uri=True, isolation_level=None)
    try:
        connection.text_factory = decode_text
        connection.execute("PRAGMA busy_timeout = 5000")
        connection.execute("PRAGMA query_only = ON")
        yield connection
    finally:
        connection.close()
