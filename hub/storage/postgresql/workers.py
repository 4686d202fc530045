"""The workers that share a database, and which of them owns which home: the rows, and the locks beside them.

A worker is there as long as its row is: the rows by which its homes are owned hang on it, and each transaction of a
home proves its own. Whoever takes a worker for dead deletes its row, which waits for what is open and refuses what is
late.
"""

from __future__ import annotations

import os
import socket

from msgspec import Struct

from hub import __version__
from hub.storage.postgresql.session import Session
from hub.storage.postgresql.tables import TABLES

WANTED = "homarus_wanted"
"""The channel on which it is told that a home is wanted."""
BURIAL_LIMIT = "1s"
_CLASS = 0x686F776B
_SERVER = "extract(epoch FROM pg_postmaster_start_time())::text"
_COLUMNS = "id, number, name, url, version, weight, homes_limit"


class Worker(Struct, frozen=True):
    """A worker as the others see it.

    Attributes:
        id: Another one after each start.
        number: By which its lock is known.
        name: Its name, the same after each start.
        url: Where the others reach its front door.
        weight: How much it carries.
        homes_limit: How many homes it opens at most; 0 once it takes no more.
        beats: How many heartbeats it has written.
        behind_s: How long ago the last one was, by the clock of the database.
        is_here: Whether it writes on the server that is asked, and not on one before it.
        is_locked: Whether its connection is there.
    """

    id: str
    number: int
    name: str
    url: str
    version: str
    weight: float
    homes_limit: int
    beats: int
    behind_s: float
    is_here: bool
    is_locked: bool


def join(session: Session, id: str, name: str, url: str, homes_limit: int, lease_s: float) -> int:
    """Add a worker that carries nothing yet, with its lock; return its number."""
    with session.connection.transaction():
        row = session.connection.execute(
            f"INSERT INTO {TABLES}.workers(id, name, url, homes_limit, host, process, version, backend, server, until)"  # noqa: S608
            f" VALUES (%s, %s, %s, %s, %s, %s, %s, pg_backend_pid(), {_SERVER}, now() + make_interval(secs => %s))"
            " RETURNING number",
            (id, name, url, homes_limit, socket.gethostname(), os.getpid(), __version__, lease_s),
        ).fetchone()
        number = int(row[0]) if row is not None else 0
        lock(session, number)
    return number


def lock(session: Session, number: int) -> bool:
    """Take the lock of a worker, for as long as the connection lasts; return whether it was free."""
    row = session.connection.execute("SELECT pg_try_advisory_lock(%s, %s)", (_CLASS, number)).fetchone()
    return row == (1,)


def beat(session: Session, id: str, weight: float, homes_limit: int, lease_s: float) -> bool:
    """Write a heartbeat; return whether the worker is still there."""
    done = session.connection.execute(
        f"UPDATE {TABLES}.workers SET until = now() + make_interval(secs => %s), beats = beats + 1, weight = %s,"  # noqa: S608
        f" homes_limit = %s, backend = pg_backend_pid(), server = {_SERVER} WHERE id = %s",
        (lease_s, weight, homes_limit, id),
    )
    return done.rowcount == 1


def end_former(session: Session, id: str) -> None:
    """End the former connection of a worker, which holds its lock although the worker has another one now."""
    session.connection.execute(
        f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity JOIN {TABLES}.workers ON backend = pid"  # noqa: S608
        " WHERE id = %s AND pid <> pg_backend_pid() AND datname = current_database()",
        (id,),
    )


def look(session: Session, lease_s: float) -> list[Worker]:
    """Return all workers."""
    rows = session.connection.execute(
        f"SELECT {_COLUMNS}, beats, extract(epoch FROM now() - until)::float8 + %s, server = {_SERVER}, EXISTS("  # noqa: S608
        "SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND classid::bigint = %s AND objid::bigint = number"
        " AND objsubid = 2 AND granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
        f") FROM {TABLES}.workers ORDER BY number",
        (lease_s, _CLASS),
    ).fetchall()
    return [Worker(*values) for values in ((*row[:-2], row[-2] == 1, row[-1] == 1) for row in rows)]


def bury(session: Session, worker: Worker) -> bool:
    """Delete a worker that was found dead, unless it has written a heartbeat since; return whether it was deleted.

    Its connections are ended first, so that no transaction that stands still in one holds this up. Its homes can be
    taken from then on, and what it still wants to write is refused.
    """
    connection = session.connection
    with connection.transaction():
        connection.execute(f"SET LOCAL lock_timeout = '{BURIAL_LIMIT}'".encode())
        found = connection.execute(
            f"SELECT 1 FROM {TABLES}.workers WHERE id = %s AND beats = %s FOR UPDATE",  # noqa: S608
            (worker.id, worker.beats),
        ).fetchone()
        if found is None:
            return False
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database()"  # noqa: S608
            f" AND pid IN (SELECT backend FROM {TABLES}.owners WHERE worker = %s"
            f" UNION SELECT backend FROM {TABLES}.workers WHERE id = %s)",
            (worker.id, worker.id),
        )
        leave(session, worker.id)
    return True


def leave(session: Session, id: str) -> None:
    """Delete a worker; it gives up what it still owns."""
    session.connection.execute(f"DELETE FROM {TABLES}.workers WHERE id = %s", (id,))  # noqa: S608
    session.connection.execute(f"NOTIFY {WANTED}".encode())
