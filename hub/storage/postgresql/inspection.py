"""Looks at a database without changing it: for the doctor, and for commands that run without the hub."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

import psycopg
from msgspec import Struct

from hub.storage.document_table import load
from hub.storage.postgresql.errors import explain
from hub.storage.postgresql.ownership import Owner, has_tables, is_held, read_owner
from hub.storage.postgresql.session import Session, Target

T = TypeVar("T")


class Inspected(Struct, frozen=True):
    """What was found.

    Attributes:
        server: The version of the server.
        latency_ms: How long it takes to ask it something.
        owner: The hub that owns the home now, if one does.
        is_ours: Whether it has tables of ours.
    """

    server: str
    latency_ms: float
    owner: Owner | None
    is_ours: bool


def inspect(target: Target) -> Inspected:
    """Look at the database of a home.

    Raises:
        StorageError: It cannot be used; the error says why, and what to do.
    """
    session = Session(target)
    try:
        begun = time.perf_counter()
        session.connection.execute("SELECT 1")
        latency_ms = (time.perf_counter() - begun) * 1_000
        number = session.connection.info.server_version
        is_ours = has_tables(session)
        owner = read_owner(session) if is_ours and is_held(session) else None
        return Inspected(f"{number // 10_000}.{number % 10_000}", latency_ms, owner, is_ours)
    except psycopg.Error as error:
        raise explain(error, target.place) from None
    finally:
        session.close()


def read_meta(target: Target, key: str) -> str | None:
    """Return a value of the table `meta` of a home.

    Raises:
        StorageError: It cannot be read.
    """

    def read(session: Session) -> str | None:
        found = session.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        return str(found[0]) if found else None

    return _read(target, read)


def read_documents(target: Target) -> dict[str, bytes]:
    """Return the documents of a home, in the order in which they were written.

    Raises:
        StorageError: They cannot be read.
    """
    return _read(target, lambda session: load(session)[0]) or {}


def _read(target: Target, read: Callable[[Session], T]) -> T | None:
    """Return what `read` returns; None where there are no tables yet."""
    session = Session(target)
    try:
        return read(session) if has_tables(session) else None
    except psycopg.Error as error:
        raise explain(error, target.place) from None
    finally:
        session.close()
