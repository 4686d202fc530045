"""A hub database and a clock that the tests drive."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from hub.core.clock import ManualClock
from hub.storage.database import Database
from tests.databases import make_database


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    database = make_database(tmp_path / "hub.db")
    await database.open()
    yield database
    await database.close()
