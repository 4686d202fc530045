"""The hub databases of tests: SQLite in their folder, or with `--database postgresql` homes on one server."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from hub.storage.connection import Synchronous
from hub.storage.database import POST_DELAY_S, Database
from hub.storage.migrations import HUB_MIGRATIONS
from tests.servers import shared

ADDRESS = "HOMARUS_TEST_DATABASE"
"""The environment variable with the address of the database of this process and of those it starts."""
TEMPLATE = "homarus_template"


def make_database(path: Path, *, synchronous: Synchronous = "FULL", post_delay_s: float = POST_DELAY_S) -> Database:
    """Return the hub database of a home that would keep it at a path; it is not open yet."""
    if (address := os.environ.get(ADDRESS)) is None:
        return Database(path, HUB_MIGRATIONS, synchronous=synchronous, post_delay_s=post_delay_s)
    from hub.storage.postgresql.database import PostgresqlDatabase
    from hub.storage.postgresql.session import Target

    target = Target.from_url(address, _home(path))
    return PostgresqlDatabase(target, HUB_MIGRATIONS, path, post_delay_s=post_delay_s)


def storage_section(path: Path) -> dict[str, Any]:
    """Return the section `storage` of a home that would keep its database at a path."""
    address = os.environ.get(ADDRESS)
    return {} if address is None else {"postgresql": {"url": address, "home": _home(path)}}


def rows_of(path: Path, statement: str, parameters: tuple[Any, ...] = ()) -> list[Any]:
    """Return what a hub database holds, past whoever has it open.

    Args:
        path: Where its home would keep it.
        statement: A portable one.
    """
    if (address := os.environ.get(ADDRESS)) is None:
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=60)) as connection:
            return connection.execute(statement, parameters).fetchall()
    from hub.storage.postgresql.session import Session, Target

    session = Session(Target.from_url(address, _home(path)))
    try:
        return session.execute(statement, parameters).fetchall()
    finally:
        session.close()


def _home(path: Path) -> str:
    return sha256(os.fsencode(path.resolve())).hexdigest()[:24]


def start(config: pytest.Config) -> None:
    """Start the server in the process that starts the others, and give each of them a database on it."""
    worker = getattr(config, "workerinput", None)
    if worker is None:
        server = shared.postgresql()
        server.execute(f"CREATE DATABASE {TEMPLATE}")
        _make_tables(server.url(TEMPLATE))
        os.environ[ADDRESS] = server.url(TEMPLATE)
    if worker is not None or not config.getvalue("numprocesses"):
        _move("main" if worker is None else str(worker["workerid"]))


def _make_tables(address: str) -> None:
    from hub.storage.postgresql.session import Session, Target
    from hub.storage.postgresql.tables import prepare

    session = Session(Target.from_url(address, "template"))
    prepare(session.connection, HUB_MIGRATIONS, TEMPLATE)
    session.close()


def _move(name: str) -> None:
    """Let this process have a database of its own, which is like the template."""
    import psycopg

    template = os.environ[ADDRESS]
    with psycopg.connect(template.replace(f"/{TEMPLATE}?", "/postgres?"), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} TEMPLATE {TEMPLATE}".encode())
    os.environ[ADDRESS] = template.replace(f"/{TEMPLATE}?", f"/{name}?")
