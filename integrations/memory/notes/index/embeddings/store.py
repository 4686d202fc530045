"""The cache database: vectors and costs; disposable, shared by all agents, without any text."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

SCHEMA_VERSION = 1
BUSY_TIMEOUT_S = 5.0

_log = logging.getLogger(__name__)

T = TypeVar("T")

_SCHEMA = """
CREATE TABLE models (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, dimensions INTEGER);
CREATE TABLE vectors (
    id INTEGER PRIMARY KEY, text BLOB NOT NULL, model INTEGER NOT NULL, used INTEGER NOT NULL, sum INTEGER NOT NULL,
    vector BLOB NOT NULL, UNIQUE (text, model)
);
CREATE INDEX vectors_used ON vectors (used);
CREATE TABLE spent (
    day TEXT NOT NULL, provider TEXT NOT NULL, model TEXT NOT NULL, requests INTEGER NOT NULL, texts INTEGER NOT NULL,
    tokens INTEGER NOT NULL, usd REAL, PRIMARY KEY (day, provider, model)
);
CREATE TABLE chosen (endpoint TEXT PRIMARY KEY, model TEXT NOT NULL);
"""
_PARTS = ("", "-wal", "-shm")


class Store:
    """Opens the database, recreates it when it is damaged, and runs functions on it in threads, one at a time.

    Args:
        path: The path of the database; it and its directory are made when they are missing.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None

    async def run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run `work` in a transaction of its own, in a thread, and return what it returns.

        When the file is damaged it is set aside as `….damaged`, and `work` runs on a new one.

        Raises:
            sqlite3.Error, OSError: It cannot be read or written (a full disk, …); nothing changed. Cancelling does not
                stop the active one.
        """
        return await asyncio.to_thread(self.run_here, work)

    def run_here(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Like `run`, in this thread."""
        with self._lock:
            try:
                return self._transacted(work)
            except sqlite3.DatabaseError as error:
                if not is_damage(error):
                    raise
                _log.warning(
                    "the embedding cache %s is damaged (%s); it is set aside and begun again", self._path, error
                )
                self._set_aside()
                return self._transacted(work)

    def checkpoint(self) -> None:
        """Checkpoint deleted data out of the log, as far as no other reader prevents it."""
        with self._lock:
            self._opened().execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def remove_damaged(self) -> None:
        """Delete damaged copies, which may hold forgotten text."""
        for part in _PARTS:
            Path(f"{self._path}.damaged{part}").unlink(missing_ok=True)

    async def close(self) -> None:
        """Close the database once nothing uses it."""
        await asyncio.to_thread(self.close_here)

    def close_here(self) -> None:
        """Like `close`, in this thread."""
        with self._lock:
            self._close()

    def _close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with contextlib.suppress(sqlite3.Error):
                connection.close()

    def _transacted(self, work: Callable[[sqlite3.Connection], T]) -> T:
        connection = self._opened()
        connection.execute("BEGIN IMMEDIATE")
        try:
            result = work(connection)
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                with contextlib.suppress(sqlite3.Error):
                    connection.execute("ROLLBACK")
            raise
        return result

    def _opened(self) -> sqlite3.Connection:
        if self._connection is not None:
            return self._connection
        self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        connection = sqlite3.connect(self._path, timeout=BUSY_TIMEOUT_S, isolation_level=None, check_same_thread=False)
        try:
            os.chmod(self._path, 0o600)
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("PRAGMA synchronous=NORMAL")
            connection.execute("PRAGMA secure_delete=ON")
            connection.execute("BEGIN IMMEDIATE")
            version = connection.execute("PRAGMA user_version").fetchone()[0]
            if version == 0:
                for statement in _SCHEMA.split(";"):
                    connection.execute(statement)
                connection.execute(f"PRAGMA user_version={SCHEMA_VERSION}")
            connection.execute("COMMIT")
            if version not in {0, SCHEMA_VERSION}:
                raise sqlite3.DatabaseError(f"file is not a database of this version ({version})")
        except BaseException:
            connection.close()
            raise
        self._connection = connection
        return connection

    def _set_aside(self) -> None:
        self._close()
        for part in _PARTS:
            with contextlib.suppress(FileNotFoundError):
                os.replace(f"{self._path}{part}", f"{self._path}.damaged{part}")


def is_damage(error: sqlite3.DatabaseError) -> bool:
    """Whether an error means that the file is damaged, and not that it is busy or the disk full."""
    text = str(error)
    if isinstance(error, sqlite3.OperationalError):
        return "no such table" in text or "no such column" in text or "malformed" in text
    return type(error) is sqlite3.DatabaseError
