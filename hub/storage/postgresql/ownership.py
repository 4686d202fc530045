"""Which hub owns a home: an advisory lock of its connection, and a row that each of its transactions locks.

The lock is free as soon as the server notices that its holder is gone. The row says who it is, and keeps a former owner
from writing: a transaction begins by proving that the row still names it.
"""

from __future__ import annotations

import os
import socket
import time
from datetime import datetime

from msgspec import Struct

from hub import __version__
from hub.core.ids import new_id
from hub.storage.postgresql.errors import DatabaseUnreachable, HomeOwned, OwnershipLost
from hub.storage.postgresql.session import Session
from hub.storage.postgresql.tables import TABLES, VIEWS

ATTEMPTS = 20
WAIT_S = 0.1
TAKE_LIMIT_S = 10


class Owner(Struct, frozen=True):
    """The hub that owns a home."""

    id: str
    backend: int
    host: str
    process: int
    version: str
    since: datetime

    def __str__(self) -> str:
        since = self.since.astimezone().strftime("%Y-%m-%d %H:%M:%S")
        return f"process {self.process} on {self.host}, version {self.version}, since {since}"


class Ownership:
    """One hub's claim to a home.

    Args:
        worker: The worker that it is in: whoever deletes that one's row takes the home from it.
    """

    def __init__(self, worker: str | None = None) -> None:
        self.id = new_id()
        self._worker = worker
        self._taken = False
        self._begin = (
            f"BEGIN; UPDATE {TABLES}.owners SET written = written + 1"  # noqa: S608  constants and our id
            f" WHERE home = current_setting('homarus.home') AND owner = '{self.id}' RETURNING written"
        ).encode()

    def take(self, session: Session) -> None:
        """Own the home through a connection, for the first time or again.

        Raises:
            HomeOwned: Another hub does.
            OwnershipLost: Another hub took it over meanwhile.
            DatabaseUnreachable: The server still holds it for our former connection, or its standby confirms nothing.
        """
        if not self._lock(session):
            owner = read_owner(session)
            if not self._taken:
                raise _owned(session, owner)
            if owner is None or owner.id != self.id:
                raise _lost(session, owner)
            # Our own former connection, of which the server has not noticed that it ended.
            session.connection.execute("SELECT pg_terminate_backend(%s)", (owner.backend,))
            raise DatabaseUnreachable(f"{session.target.place} still ends our former connection", retry_after_s=1.0)
        session.control(b"BEGIN; SET LOCAL statement_timeout = '%ds'" % TAKE_LIMIT_S)
        owner = read_owner(session, locked=True)
        if self._taken and (owner is None or owner.id != self.id):
            raise _lost(session, owner)
        session.connection.execute(
            f"INSERT INTO {TABLES}.owners(home, owner, backend, host, process, version, worker)"  # noqa: S608
            " VALUES (%s, %s, pg_backend_pid(), %s, %s, %s, %s) ON CONFLICT(home) DO UPDATE SET"
            " owner = excluded.owner, backend = excluded.backend, host = excluded.host,"
            " process = excluded.process, version = excluded.version, worker = excluded.worker,"
            " since = CASE WHEN owners.owner = excluded.owner THEN owners.since ELSE now() END",
            (session.target.home, self.id, socket.gethostname(), os.getpid(), __version__, self._worker),
        )
        session.commit()
        self._taken = True

    def begin(self, session: Session) -> int:
        """Begin a transaction of the owner; return its number among those of the home.

        Raises:
            OwnershipLost: Another hub owns the home.
        """
        found = session.control(self._begin)
        if found is None:
            session.roll_back()
            raise _lost(session, read_owner(session))
        return int(found)

    def has_written(self, session: Session, number: int) -> bool:
        """Return whether a transaction of ours was kept, once its connection has ended.

        The database's own number of it would not tell: after a failover another transaction may have that.
        """
        found = session.connection.execute(
            f"SELECT written >= %s FROM {TABLES}.owners WHERE home = %s AND owner = %s",  # noqa: S608
            (number, session.target.home, self.id),
        )
        return found.fetchone() == (1,)

    def release(self, session: Session) -> None:
        """Give the home up."""
        session.connection.execute(
            f"DELETE FROM {TABLES}.owners WHERE home = %s AND owner = %s",  # noqa: S608
            (session.target.home, self.id),
        )

    def _lock(self, session: Session) -> bool:
        for attempt in range(ATTEMPTS):
            if session.connection.execute("SELECT pg_try_advisory_lock(%s)", (session.target.lock,)).fetchone() == (1,):
                return True
            if attempt + 1 < ATTEMPTS:
                time.sleep(WAIT_S)  # its holder may just have ended
        return False


def read_owner(session: Session, *, locked: bool = False) -> Owner | None:
    """Return who owns the home, or owned it last and did not give it up."""
    row = session.connection.execute(
        f"SELECT owner, backend, host, process, version, since FROM {TABLES}.owners WHERE home = %s"  # noqa: S608
        + (" FOR UPDATE" if locked else ""),
        (session.target.home,),
    ).fetchone()
    return Owner(*row) if row is not None else None


def is_held(session: Session) -> bool:
    """Return whether a hub holds the home now."""
    found = session.connection.execute(
        "SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 1 AND granted"
        " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
        " AND (classid::bigint << 32) | objid::bigint = %s",
        (session.target.lock,),
    )
    return found.fetchone() is not None


def has_tables(session: Session) -> bool:
    """Return whether the database has tables of ours."""
    return session.connection.execute("SELECT to_regnamespace(%s)", (VIEWS,)).fetchone() != (None,)


def _owned(session: Session, owner: Owner | None) -> HomeOwned:
    who = f"another hub ({owner})" if owner is not None else "another hub"
    return HomeOwned(
        f"{who} already owns the home {session.target.home} in {session.target.place}. Stop it first, or give this one "
        "another name: storage: {postgresql: {url: …, home: NAME}}"
    )


def _lost(session: Session, owner: Owner | None) -> OwnershipLost:
    who = f"another hub ({owner})" if owner is not None else "another hub"
    return OwnershipLost(
        f"{who} has taken over the home {session.target.home} in {session.target.place}; this one writes nothing more"
    )
