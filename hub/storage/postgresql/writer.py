"""The writer thread of a home in PostgreSQL: batches without savepoints, and patience when the server is away."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from queue import Empty

import psycopg

from hub.core.errors import HubError
from hub.storage.postgresql.errors import DatabaseUnreachable, OwnershipLost, explain, is_away
from hub.storage.postgresql.ownership import Ownership
from hub.storage.postgresql.session import Session
from hub.storage.writer import Job, Outcome, WriteQueue, answer, work_name

_log = logging.getLogger(__name__)

PATIENCE_S = 60.0
"""How long awaited writes wait for a server that went away, before they are refused until it is back."""
RETRY_S = 0.5
STOP_PATIENCE_S = 3.0


class _Gone(Exception):
    """The connection broke, or cannot be made; nothing of the transaction is known to be kept."""


class PostgresqlWriter(WriteQueue):
    """Runs a batch in one transaction; when a piece of it fails, each piece in one of its own.

    While the server is away posted work is kept, and awaited work for `patience_s`. What becomes of a commit that was
    never answered is looked up when the server is back, so that it is neither lost nor done twice.

    Args:
        name: Of the database, in errors.
        connect: Makes a connection; called in the thread.
        ownership: Proved by each transaction.
        on_away: Called, in the thread, with what is wrong when the server went away or the home was lost, and with
            None when all is well again.
    """

    def __init__(
        self,
        name: str,
        connect: Callable[[], Session],
        ownership: Ownership,
        *,
        post_delay_s: float,
        patience_s: float,
        on_away: Callable[[HubError | None], None],
    ) -> None:
        super().__init__(name, post_delay_s=post_delay_s)
        self._connect = connect
        self._ownership = ownership
        self._patience_s = patience_s
        self._on_away = on_away
        self._singly: list[Job] = []
        """Those of a batch that are still to be done alone, as one of them failed."""
        self._held: list[Job] = []
        self._open_commit: tuple[int, list[Outcome]] | None = None
        self._lost: OwnershipLost | None = None
        self._stop_seen = False
        self._stop_by: float | None = None
        self.session: Session | None = None
        self.away_since: float | None = None
        self._told = ""
        """Why it is away, as it was told last."""
        self.commit_s = 0.0
        """How long the latest commit took."""

    # --- below: in the thread ---

    def _open(self) -> None:
        self.session = self._connect()

    def _shut(self) -> None:
        if self.session is None:
            return
        try:
            if self._lost is None and not self.session.is_lost:
                self._ownership.release(self.session)
        except psycopg.Error as error:
            _log.warning("%s was not given up tidily (%s)", self._name, type(error).__name__)
        self.session.close()

    def _next(self) -> list[Job] | None:
        if self._held:
            held, self._held = self._held, []
            return held
        return None if self._stop_seen else self._queue.get()

    def _commit(self, batch: list[Job]) -> list[Outcome]:
        wanted = [job for job in batch if job.future is None or not job.future.cancelled()]
        outcomes = self._attempt(wanted)
        if outcomes is None:
            outcomes, self._singly = [], wanted
            while self._singly:
                outcomes += self._attempt([self._singly.pop(0)]) or ()
        return outcomes

    def _attempt(self, jobs: list[Job]) -> list[Outcome] | None:
        """Do jobs in one transaction, once there is a server; None when one of several failed and none was done."""
        while jobs:
            if self._lost is not None:
                return [(job, None, self._lost) for job in jobs]
            try:
                return self._transaction(self._connected(), jobs)
            except _Gone as gone:
                jobs = self._wait(jobs, str(gone))
        return []

    def _transaction(self, session: Session, jobs: list[Job]) -> list[Outcome] | None:
        if self._open_commit is not None and self._was_committed(session, self._open_commit[0]):
            (_, settled), self._open_commit = self._open_commit, None
            return settled
        self._open_commit = None
        outcomes: list[Outcome] = []
        try:
            number = self._ownership.begin(session)
            for job in jobs:
                outcomes.append((job, job.work(session), None))
                if not session.in_transaction:
                    raise RuntimeError(f"{work_name(job.work)} ended the transaction it ran in; it must not")
            begun = time.monotonic()
            self._open_commit = (number, outcomes)
            session.commit()
            self._open_commit = None
        except OwnershipLost as error:
            self._lose(error)
            return [(job, None, error) for job in jobs]
        except (
            BaseException
        ) as error:  # it goes to whoever asked; even SystemExit must not end the thread of all others
            if session.is_lost or (isinstance(error, psycopg.Error) and _is_away(error)):
                session.close()
                raise _Gone(self._reason(error)) from error
            self._open_commit = None
            session.roll_back()
            if len(jobs) > 1:
                return None
            return [(jobs[0], None, self._explain(error))]
        self.commits += 1
        self.commit_s = time.monotonic() - begun
        return outcomes

    def _was_committed(self, session: Session, number: int) -> bool:
        """Return what became of a commit that was never answered; its connection has ended, as we have the lock again.

        Raises:
            _Gone: The server is away again.
        """
        try:
            return self._ownership.has_written(session, number)
        except psycopg.Error as error:
            session.close()
            raise _Gone(self._reason(error)) from error

    def _connected(self) -> Session:
        """Return the connection, made again when it broke.

        Raises:
            _Gone: It cannot be made now.
        """
        if self.session is not None and not self.session.is_lost:
            return self.session
        try:
            self.session = self._connect()
        except OwnershipLost as error:
            self._lose(error)
            raise _Gone(error.message) from error
        except (HubError, psycopg.Error) as error:
            raise _Gone(self._reason(error)) from error
        if self.away_since is not None:
            _log.warning("%s is back after %.0f s", self._name, time.monotonic() - self.away_since)
            self.away_since, self._told = None, ""
            self._on_away(None)
        return self.session

    def _wait(self, jobs: list[Job], reason: str) -> list[Job]:
        """Wait a moment for the server; return the jobs that are still to be done."""
        if self._lost is not None:
            return jobs
        now = time.monotonic()
        error = self._unreachable(reason)
        if self.away_since is None:
            self.away_since = now
        if reason != self._told:
            self._told = reason
            _log.error("%s", error.message)
            self._on_away(error)
        self._take_more()
        if self._stopping and self._stop_by is None:
            self._stop_by = now + STOP_PATIENCE_S
        if self._stop_by is not None and now > self._stop_by:
            given_up = [*jobs, *self._singly, *self._held]
            _log.error("%d writes were given up, as the hub stops while %s is away", len(given_up), self._name)
            self._tell(answer, [(job, None, error) for job in given_up])
            self._singly, self._held = [], []
            return []
        if now - self.away_since > self._patience_s:
            self._singly = self._refuse_awaited(self._singly, error)
            held = len(self._held)
            self._held = self._refuse_awaited(self._held, error)
            self._taken += held - len(self._held)
            if self._open_commit is None:  # whether it was done is not known yet, and must be
                jobs = self._refuse_awaited(jobs, error)
        return jobs

    def _take_more(self) -> None:
        """Take the work that comes meanwhile, for at most `RETRY_S`."""
        end = time.monotonic() + RETRY_S
        while (left := end - time.monotonic()) > 0:
            try:
                more = self._queue.get(timeout=left)
            except Empty:
                return
            if more is None:
                self._stop_seen = True
            else:
                self._held += more

    def _refuse_awaited(self, jobs: list[Job], error: HubError) -> list[Job]:
        self._tell(answer, [(job, None, error) for job in jobs if job.future is not None])
        return [job for job in jobs if job.future is None]

    def _unreachable(self, reason: str) -> HubError:
        return DatabaseUnreachable(
            f"{reason} The hub goes on by itself when it is back; nothing of this was written.",
            retry_after_s=5.0,
        )

    def _lose(self, error: OwnershipLost) -> None:
        self._lost = error
        _log.critical("%s", error.message)
        self._on_away(error)

    def _reason(self, error: BaseException) -> str:
        if isinstance(error, HubError):
            return error.message
        return f"{self._name} went away ({str(error).strip().partition(chr(10))[0] or type(error).__name__})."

    def _explain(self, error: BaseException) -> Exception:
        if isinstance(error, psycopg.Error):
            return explain(error, self._name)
        if isinstance(error, Exception):
            return error
        wrapped = RuntimeError(f"a write to {self._name} ended with {error!r}; it was undone")
        wrapped.__cause__ = error
        return wrapped


def _is_away(error: psycopg.Error) -> bool:
    """Whether the server is away, or after a failover is not the one that writes."""
    return is_away(error) or isinstance(error, psycopg.errors.ReadOnlySqlTransaction)
