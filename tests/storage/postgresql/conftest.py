"""What the tests of PostgreSQL share."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any, Protocol

import pytest

from hub.storage.migrations import HUB_MIGRATIONS
from hub.storage.postgresql.database import PostgresqlDatabase
from hub.storage.postgresql.session import Target
from tests.servers import shared
from tests.servers.postgresql import PostgresqlServer


@pytest.fixture
def server() -> Iterator[PostgresqlServer]:
    """The server; one that a test killed is started again."""
    server = shared.postgresql()
    yield server
    server.start()


@pytest.fixture
def name(server: PostgresqlServer) -> str:
    """An empty database of this test's own."""
    return server.new_database()


class Open(Protocol):
    """Opens a home in the test's database."""

    async def __call__(self, home: str = "elm", **options: Any) -> PostgresqlDatabase: ...


@pytest.fixture
async def open_home(server: PostgresqlServer, name: str, tmp_path: Path) -> AsyncIterator[Open]:
    """Opens homes, and closes them in the end."""
    opened: list[PostgresqlDatabase] = []

    async def open_one(home: str = "elm", *, url: str = "", **options: Any) -> PostgresqlDatabase:
        target = Target.from_url(url or server.url(name), home)
        database = PostgresqlDatabase(target, HUB_MIGRATIONS, tmp_path / "hub.db", **options)
        opened.append(database)
        await database.open()
        return database

    yield open_one
    server.start()
    for each in opened:
        await each.close()


@pytest.fixture
async def database(open_home: Open) -> PostgresqlDatabase:
    """A home that is open and empty."""
    return await open_home()
