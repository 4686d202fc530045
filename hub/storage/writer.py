"""The writer thread of a database; work that arrives during a commit shares the next one."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread, current_thread
from typing import Any

from msgspec import Struct

from hub.core.errors import LimitExceeded, TimedOut, Unavailable
from hub.storage.errors import from_sqlite, is_damage, query_failed

_log = logging.getLogger(__name__)

Work = Callable[[Any], Any]
OnDamage = Callable[[sqlite3.Error], None]

BATCH_LIMIT = 500
WAITING_LIMIT = 20_000
STATEMENT_LIMIT_S = 30.0
STATEMENT_CHECK_STEPS = 200_000
IDLE_S = 0.5
CHECKPOINT_COMMITS = 50


class Job(Struct, eq=False):
    """A piece of work, and who waits for it: nobody, when it was posted."""

    work: Work
    future: asyncio.Future[Any] | None


Outcome = tuple[Job, Any, BaseException | None]


class WriteQueue(ABC):
    """Hands work to a thread of its own, in order, and answers after the commit.

    Args:
        name: Of the database, in errors, logs and threads.
        post_delay_s: How long posted work may wait for company, seconds.
    """

    def __init__(self, name: str, *, post_delay_s: float) -> None:
        self._name = name
        self._post_delay_s = post_delay_s
        self._queue: SimpleQueue[list[Job] | None] = SimpleQueue()
        self._posted: list[Job] = []
        self._due = False
        # Each is counted in one thread only: the event loop's, and the writer's.
        self._given = 0
        self._taken = 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: Thread | None = None
        self._ended: asyncio.Future[None] | None = None
        self._accepts = False
        self._stopping = False
        self.commits = 0
        self.rejected = 0

    async def start(self) -> None:
        """Start the thread and open the connection in it.

        Cancelling it leaves the thread to open the connection; `stop` ends it then.
        """
        loop = self._loop = asyncio.get_running_loop()
        opened: asyncio.Future[None] = loop.create_future()
        self._ended = loop.create_future()
        self._thread = Thread(target=self._run, args=(opened,), name=f"writer of {self._name}", daemon=True)
        self._thread.start()
        await asyncio.shield(opened)
        self._accepts = True

    async def stop(self) -> None:
        """Flush pending work and end the thread; a second call does nothing.

        Cancelling it leaves the thread to finish by itself.
        """
        self._accepts = False
        if self._thread is not None and not self._stopping:
            self._stopping = True
            self._hand_over()
            self._queue.put(None)
        if self._ended is not None:
            await asyncio.shield(self._ended)

    def submit(self, work: Work) -> asyncio.Future[Any]:
        """Queue work; the future has its result when it is durable.

        Raises:
            Unavailable: The writer is not running.
            LimitExceeded: The queue is full.
        """
        loop = self._loop
        if not self._accepts or loop is None:
            raise Unavailable(f"{self._name} is closed and accepts no more writes")
        if self._given - self._taken >= WAITING_LIMIT:
            self.rejected += 1
            raise LimitExceeded(
                f"{WAITING_LIMIT} writes already wait for {self._name}; it does not keep up",
                retry_after_s=1.0,
            )
        future: asyncio.Future[Any] = loop.create_future()
        self._given += 1
        self._posted.append(Job(work, future))
        self._hand_over()
        return future

    def post(self, work: Work) -> bool:
        """Queue work without waiting; return False when it was refused (and counted) instead.

        It waits for company here, so that the thread wakes once for all of it.
        """
        loop = self._loop
        if not self._accepts or loop is None or self._given - self._taken >= WAITING_LIMIT:
            self.rejected += 1
            return False
        if current_thread() is self._thread:
            self._tell(self.post, work)
            return True
        self._given += 1
        self._posted.append(Job(work, None))
        if not self._due:
            self._due = True
            loop.call_later(self._post_delay_s, self._hand_over_due)
        return True

    def waiting(self) -> int:
        """Return how many pieces of work wait."""
        return self._given - self._taken

    def _hand_over_due(self) -> None:
        self._due = False
        self._hand_over()

    def _hand_over(self) -> None:
        posted, self._posted = self._posted, []
        for at in range(0, len(posted), BATCH_LIMIT):
            self._queue.put(posted[at : at + BATCH_LIMIT])

    # --- below: in the thread ---

    @abstractmethod
    def _open(self) -> None:
        """Open the connection; what it raises, `start` raises."""

    @abstractmethod
    def _commit(self, batch: list[Job]) -> list[Outcome]:
        """Do a batch in order and return what came of each, once it is durable; raises nothing."""

    @abstractmethod
    def _shut(self) -> None:
        """Close the connection; raises nothing."""

    def _run(self, opened: asyncio.Future[None]) -> None:
        try:
            self._open()
        except BaseException as error:  # passed to the waiter of the opening
            self._tell(_fail, opened, error)
            self._tell(_succeed, self._ended, None)
            return
        self._tell(_succeed, opened, None)
        try:
            self._serve()
        finally:
            self._accepts = False
            self._refuse_rest()
            self._shut()
            self._tell(_succeed, self._ended, None)

    def _serve(self) -> None:
        while True:
            batch, last = self._collect()
            if batch:
                self._tell(answer, self._commit(batch))
            if last:
                return

    def _collect(self) -> tuple[list[Job], bool]:
        """Return the next batch, and whether it is the last."""
        more = self._next()
        batch: list[Job] = []
        while more is not None:
            batch += more
            self._taken += len(more)
            if len(batch) >= BATCH_LIMIT:
                return batch, False
            try:
                more = self._queue.get_nowait()
            except Empty:
                return batch, False
        return batch, True

    def _next(self) -> list[Job] | None:
        """Wait for work."""
        return self._queue.get()

    def _refuse_rest(self) -> None:
        while True:
            try:
                jobs = self._queue.get_nowait()
            except Empty:
                return
            error = Unavailable(f"{self._name} was closed before this was written")
            self._tell(answer, [(job, None, error) for job in jobs or ()])

    def _tell(self, callback: Callable[..., object], *arguments: Any) -> None:
        loop = self._loop
        if loop is None:
            return
        try:
            loop.call_soon_threadsafe(callback, *arguments)
        except RuntimeError:
            _log.debug("the event loop ended before %s could answer", self._name)


class _Lost(Exception):
    """The transaction of a batch was lost: none of it was kept."""


class Writer(WriteQueue):
    """Runs work in its thread, each piece under a savepoint, and replies after the commit.

    Args:
        path: Named in errors and logs.
        open_connection: Called in the thread; its exceptions are raised by `start`.
        post_delay_s: How long posted work may wait for company, seconds.
        on_damage: Called, in the thread, with each error that means the file is damaged.
        statement_limit_s: How long the statements of one piece of work may take, seconds.
    """

    def __init__(
        self,
        path: Path,
        open_connection: Callable[[], sqlite3.Connection],
        *,
        post_delay_s: float,
        on_damage: OnDamage,
        statement_limit_s: float = STATEMENT_LIMIT_S,
    ) -> None:
        super().__init__(path.name, post_delay_s=post_delay_s)
        self._path = path
        self._open_connection = open_connection
        self._connection: sqlite3.Connection
        self._on_damage = on_damage
        self._statement_limit_s = statement_limit_s
        self._deadline = 0.0
        self._commits_unfolded = 0

    # --- below: in the thread ---

    def _open(self) -> None:
        self._connection = self._open_connection()
        self._connection.set_progress_handler(self._overdue, STATEMENT_CHECK_STEPS)

    def _shut(self) -> None:
        try:
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            self._connection.close()
        except sqlite3.Error as error:
            _log.warning("%s was not closed tidily (%s); its log is read at the next start", self._path, error)

    def _next(self) -> list[Job] | None:
        """Wait for work; when idle, checkpoint the log so that no commit has to."""
        if self._commits_unfolded >= CHECKPOINT_COMMITS:
            try:
                return self._queue.get(timeout=IDLE_S)
            except Empty:
                self._commits_unfolded = 0
                try:
                    self._connection.execute("PRAGMA wal_checkpoint(PASSIVE)")
                except sqlite3.Error as error:
                    _log.warning("the log of %s was not folded back (%s); it is tried again later", self._path, error)
        return self._queue.get()

    def _commit(self, batch: list[Job]) -> list[Outcome]:
        connection = self._connection
        outcomes: list[Outcome] = []
        try:
            for job in batch:
                if job.future is None or not job.future.cancelled():
                    outcomes.append(self._apply(connection, job))
            if connection.in_transaction:
                connection.execute("COMMIT")
                self.commits += 1
                self._commits_unfolded += 1
        except (sqlite3.Error, _Lost) as error:
            cause = error.__cause__ if isinstance(error, _Lost) and error.__cause__ else error
            self._roll_back(connection)
            failure = self._explain(cause)
            return [(job, None, failure) for job in batch]
        return outcomes

    def _apply(self, connection: sqlite3.Connection, job: Job) -> Outcome:
        """Run one piece of work: the first begins the transaction, each other one runs under a savepoint."""
        self._deadline = time.monotonic() + self._statement_limit_s
        first = not connection.in_transaction
        connection.execute("BEGIN IMMEDIATE" if first else "SAVEPOINT work")
        try:
            result = job.work(connection)
        except (
            BaseException
        ) as error:  # it goes to whoever asked; even SystemExit must not end the thread of all others
            if not connection.in_transaction:
                raise _Lost from error
            if first:
                connection.execute("ROLLBACK")
            else:
                connection.execute("ROLLBACK TO work")
                connection.execute("RELEASE work")
            return job, None, self._explain(error)
        if not connection.in_transaction:
            raise _Lost from RuntimeError(f"{work_name(job.work)} ended the transaction it ran in; it must not")
        if not first:
            connection.execute("RELEASE work")
        return job, result, None

    def _explain(self, error: BaseException) -> Exception:
        if not isinstance(error, Exception):
            wrapped = RuntimeError(f"a write to {self._path.name} ended with {error!r}; it was undone")
            wrapped.__cause__ = error
            return wrapped
        if not isinstance(error, sqlite3.Error):
            return error
        if is_damage(error):
            self._on_damage(error)
        if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_INTERRUPT:
            timed_out = TimedOut(
                f"a write to {self._path.name} took longer than {self._statement_limit_s:g} s; it was undone"
            )
            timed_out.__cause__ = error
            return timed_out
        known = from_sqlite(error, self._path) or query_failed(error, self._path)
        known.__cause__ = error
        return known

    def _roll_back(self, connection: sqlite3.Connection) -> None:
        if not connection.in_transaction:
            return
        try:
            connection.execute("ROLLBACK")
        except sqlite3.Error as error:
            _log.error("rolling back in %s failed: %s", self._path, error)

    def _overdue(self) -> int:
        return int(time.monotonic() > self._deadline)


def answer(outcomes: list[Outcome]) -> None:
    """Tell those who wait what came of their work."""
    for job, result, error in outcomes:
        if job.future is None:
            if error is not None:
                _log.error("a posted write (%s) failed: %s", work_name(job.work), error, exc_info=error)
        elif job.future.done():
            continue
        elif error is not None:
            job.future.set_exception(error)
        else:
            job.future.set_result(result)


def _succeed(future: asyncio.Future[Any], result: Any) -> None:
    if not future.done():
        future.set_result(result)


def _fail(future: asyncio.Future[Any], error: BaseException) -> None:
    if not future.done():
        future.set_exception(error)


def work_name(work: Work) -> str:
    """Return the name of a piece of work, for errors."""
    return f"{getattr(work, '__module__', '?')}.{getattr(work, '__qualname__', repr(work))}"
