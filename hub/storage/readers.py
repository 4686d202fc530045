"""The reader threads of a database: each piece of work sees one snapshot."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from typing import Any

from hub.core.errors import LimitExceeded, TimedOut, Unavailable
from hub.storage.errors import from_sqlite, is_damage, query_failed

_log = logging.getLogger(__name__)

Work = Callable[[Any], Any]

THREADS = 2
WAITING_LIMIT = 5_000
READ_LIMIT_S = 30.0
CHECK_STEPS = 100_000


class Reading(ABC):
    """What a reader thread does with its connection."""

    @abstractmethod
    def read(self, work: Work, limit_s: float) -> Any:
        """Return what `work` returns, on one snapshot; what it raises goes to whoever asked."""

    @abstractmethod
    def close(self) -> None:
        """Close the connection."""


class ReadQueue:
    """Two threads with a connection each, started on the first read.

    Args:
        name: Of the database, in errors and threads.
        make: Makes what a thread reads with; called in each thread, for its first read.
    """

    def __init__(self, name: str, make: Callable[[], Reading]) -> None:
        self._name = name
        self._make = make
        self._queue: SimpleQueue[tuple[Work, asyncio.Future[Any], float] | None] = SimpleQueue()
        self._threads: list[Thread] = []
        self._closed = False

    def submit(self, work: Work, limit_s: float = READ_LIMIT_S) -> asyncio.Future[Any]:
        """Queue work; the future has its result.

        Args:
            limit_s: Seconds after which its statements are interrupted.

        Raises:
            Unavailable: The database is closed.
            LimitExceeded: The queue is full.
        """
        if self._closed:
            raise Unavailable(f"{self._name} is closed")
        if self._queue.qsize() >= WAITING_LIMIT:
            raise LimitExceeded(f"{WAITING_LIMIT} reads already wait for {self._name}", retry_after_s=1.0)
        while len(self._threads) < THREADS:
            thread = Thread(target=self._run, name=f"reader of {self._name}", daemon=True)
            self._threads.append(thread)
            thread.start()
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._queue.put((work, future, limit_s))
        return future

    async def stop(self) -> None:
        """Finish pending work and end the threads."""
        self._closed = True
        for _ in self._threads:
            self._queue.put(None)
        for thread in self._threads:
            await asyncio.to_thread(thread.join, READ_LIMIT_S)
        self._threads.clear()

    def _run(self) -> None:
        reading: Reading | None = None
        try:
            while (job := self._queue.get()) is not None:
                work, future, limit_s = job
                if future.cancelled():
                    continue
                try:
                    if reading is None:
                        reading = self._make()
                    result = reading.read(work, limit_s)
                except Exception as error:  # it goes to whoever asked
                    _tell(future, None, error)
                else:
                    _tell(future, result, None)
        finally:
            if reading is not None:
                reading.close()


class SqliteReading(Reading):
    """Reads with one connection.

    Args:
        path: Named in errors.
        open_connection: Called for the first read.
        on_damage: Called with each error that means the file is damaged.
    """

    def __init__(
        self, path: Path, open_connection: Callable[[], sqlite3.Connection], on_damage: Callable[[sqlite3.Error], None]
    ) -> None:
        self._path = path
        self._open_connection = open_connection
        self._on_damage = on_damage
        self._connection: sqlite3.Connection | None = None
        self._deadline = 0.0

    def read(self, work: Work, limit_s: float) -> Any:
        """Return what `work` returns, on one snapshot."""
        try:
            if self._connection is None:
                self._connection = self._open_connection()
                self._connection.set_progress_handler(lambda: int(time.monotonic() > self._deadline), CHECK_STEPS)
            self._deadline = time.monotonic() + limit_s
            return _in_snapshot(self._connection, work)
        except sqlite3.Error as error:
            raise self._explain(error, limit_s) from error

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            self._connection.close()

    def _explain(self, error: sqlite3.Error, limit_s: float) -> Exception:
        if is_damage(error):
            self._on_damage(error)
        code = getattr(error, "sqlite_errorcode", None)
        if code == sqlite3.SQLITE_INTERRUPT:
            return TimedOut(f"a read from {self._path.name} took longer than {limit_s:g} s")
        if code == sqlite3.SQLITE_READONLY:  # the work's own mistake: it tried to write
            return query_failed(error, self._path)
        return from_sqlite(error, self._path) or query_failed(error, self._path)


def _in_snapshot(connection: sqlite3.Connection, work: Work) -> Any:
    connection.execute("BEGIN")
    try:
        return work(connection)
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def _tell(future: asyncio.Future[Any], result: Any, error: Exception | None) -> None:
    try:
        future.get_loop().call_soon_threadsafe(_resolve, future, result, error)
    except RuntimeError:
        _log.debug("the event loop ended before a read was answered")


def _resolve(future: asyncio.Future[Any], result: Any, error: Exception | None) -> None:
    if future.done():
        return
    if error is not None:
        future.set_exception(error)
    else:
        future.set_result(result)
