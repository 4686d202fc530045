"""The homes that workers share: which there are, which are to be open, and which worker has each."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from msgspec import Struct

from hub.storage.postgresql.session import Session
from hub.storage.postgresql.tables import TABLES, tables_of
from hub.storage.postgresql.workers import WANTED

_COLUMNS = "name, folder, wanted, due, pinned, owner, moving, problem"
_TABLE = f"{TABLES}.homes"


class HomeRow(Struct, frozen=True):
    """A home as all workers see it.

    Attributes:
        folder: Its folder, below that of all homes.
        wanted: Since when it is to be open.
        due: When something of it is due next, for one that is closed.
        pinned: The name of the worker that alone opens it.
        owner: The id of the worker that has it, open or about to be.
        moving: The name of the worker that is to take it over.
        problem: Why it could not be opened.
        serving: Whether it is open there.
    """

    name: str
    folder: str
    wanted: datetime | None
    due: datetime | None
    pinned: str | None
    owner: str | None
    moving: str | None
    problem: str | None
    serving: bool = False


def all_homes(session: Session) -> list[HomeRow]:
    """Return all homes, by name."""
    return _rows(session, f"SELECT {_COLUMNS}, serving FROM {_TABLE} ORDER BY name")  # noqa: S608


def find(session: Session, name: str) -> HomeRow | None:
    """Return a home, or None."""
    found = _rows(session, f"SELECT {_COLUMNS}, serving FROM {_TABLE} WHERE name = %s", name)  # noqa: S608
    return found[0] if found else None


def owned(session: Session, worker: str) -> list[HomeRow]:
    """Return the homes of a worker."""
    return _rows(session, f"SELECT {_COLUMNS}, serving FROM {_TABLE} WHERE owner = %s", worker)  # noqa: S608


def add(session: Session, name: str, folder: str, pinned: str | None) -> bool:
    """Add a home; return whether there was none of this name."""
    statement = f"INSERT INTO {_TABLE}(name, folder, pinned) VALUES (%s, %s, %s) ON CONFLICT DO NOTHING"  # noqa: S608
    return session.connection.execute(statement, (name, folder, pinned)).rowcount == 1


def remove(session: Session, name: str) -> bool:
    """Delete a home that no worker has, and all its rows in all tables; return whether there was such a one."""
    with session.connection.transaction():
        done = session.connection.execute(f"DELETE FROM {_TABLE} WHERE name = %s AND owner IS NULL", (name,))  # noqa: S608
        if done.rowcount != 1:
            return False
        for table in tables_of(session.connection, TABLES):
            with session.awaiting():
                session.connection.execute(f"DELETE FROM {TABLES}.{table} WHERE home = %s".encode(), (name,))  # noqa: S608
    return True


def want(session: Session, name: str) -> bool:
    """Ask for a home to be open; return whether there is such a one."""
    done = session.connection.execute(
        f"UPDATE {_TABLE} SET wanted = coalesce(wanted, now()) WHERE name = %s",  # noqa: S608
        (name,),
    )
    session.connection.execute(f"NOTIFY {WANTED}".encode())
    return done.rowcount == 1


def move(session: Session, name: str, worker: str) -> None:
    """Ask for a home to be moved to a worker of this name, which opens it once it is idle where it is."""
    session.connection.execute(
        f"UPDATE {_TABLE} SET moving = %s, wanted = coalesce(wanted, now()) WHERE name = %s",  # noqa: S608
        (worker, name),
    )
    session.connection.execute(f"NOTIFY {WANTED}".encode())


def retire(session: Session, name: str) -> None:
    """Ask for a home to be closed, as soon as nothing runs in it, and to stay so until somebody wants it."""
    session.connection.execute(
        f"UPDATE {_TABLE} SET moving = '', wanted = NULL, due = NULL WHERE name = %s",  # noqa: S608
        (name,),
    )
    session.connection.execute(f"NOTIFY {WANTED}".encode())


def claim(session: Session, id: str, name: str, limit: int, waited_s: float) -> list[HomeRow]:
    """Take homes that are to be open and that nobody has; return them.

    One that is moving is left to the worker it moves to, as long as that lives and has room for it.

    Args:
        id, name: The worker's.
        limit: How many at most.
        waited_s: Only those that have been waiting for so long.
    """
    return _rows(
        session,
        f"UPDATE {_TABLE} SET owner = %s, serving = 0, moving = NULL, problem = NULL,"  # noqa: S608
        f" wanted = coalesce(wanted, now()), due = NULL WHERE name IN (SELECT name FROM {_TABLE} WHERE owner IS NULL"
        " AND least(wanted, due) <= now() - make_interval(secs => %s) AND (pinned IS NULL OR pinned = %s)"
        f" AND (moving IS NULL OR moving = %s OR NOT EXISTS (SELECT 1 FROM {TABLES}.workers WHERE name = moving"
        " AND until > now()"
        f" AND homes_limit > (SELECT count(*) FROM {_TABLE} AS theirs WHERE theirs.owner = workers.id)))"
        f" ORDER BY least(wanted, due) LIMIT %s FOR UPDATE SKIP LOCKED) RETURNING {_COLUMNS}, serving",
        id,
        waited_s,
        name,
        name,
        limit,
    )


def opened(session: Session, id: str, home: str) -> bool:
    """Note that a home serves; return whether it is the worker's still."""
    return _mine(session, "serving = 1, problem = NULL", id, home)


def failed(session: Session, id: str, home: str, why: str) -> None:
    """Note why a home cannot be opened; the worker keeps it, and tries again."""
    _mine(session, "serving = 0, problem = %s", id, home, why)


def closing(session: Session, id: str, home: str, due: float | None) -> None:
    """Note that an idle home is about to be closed; it is wanted no more unless somebody asks for it from now on.

    Args:
        due: When something of it is due next, seconds since the epoch.
    """
    _mine(session, "serving = 0, wanted = NULL, due = to_timestamp(%s::float8)", id, home, due)


def released(session: Session, id: str, home: str) -> None:
    """Give a home up that is closed; it can be taken at once if it is wanted."""
    if _mine(session, "owner = NULL, serving = 0", id, home):
        session.connection.execute(f"NOTIFY {WANTED}".encode())


def owner_of(session: Session, home: str) -> tuple[str, str] | None:
    """Return id and URL of the worker that serves a home, if that worker lives."""
    row = session.connection.execute(
        f"SELECT id, url FROM {_TABLE} JOIN {TABLES}.workers ON id = owner"  # noqa: S608
        " WHERE homes.name = %s AND serving = 1 AND until > now()",
        (home,),
    ).fetchone()
    return (str(row[0]), str(row[1])) if row is not None else None


def _mine(session: Session, change: str, id: str, home: str, *values: Any) -> bool:
    statement = f"UPDATE {_TABLE} SET {change} WHERE name = %s AND owner = %s"  # noqa: S608
    return session.connection.execute(statement.encode(), (*values, home, id)).rowcount == 1


def _rows(session: Session, statement: str, *values: Any) -> list[HomeRow]:
    rows = session.connection.execute(statement.encode(), values).fetchall()
    return [HomeRow(*values) for values in ((*row[:-1], row[-1] == 1) for row in rows)]
