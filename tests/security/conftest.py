"""A hub database and a clock that the tests drive."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from hub.core.clock import ManualClock
from hub.storage.database import Database
from hub.storage.migrations import HUB_MIGRATIONS


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    database = Database(tmp_path / "hub.db", HUB_MIGRATIONS)
    await database.open()
    yield database
    await database.close()
