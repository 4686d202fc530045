"""A store of sessions in an empty home."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from hub.core.clock import ManualClock
from hub.core.events import EventBus
from hub.core.tasks import TaskOwner
from hub.sessions.store import SessionStore
from hub.storage.database import Database
from hub.storage.homedir import Home
from hub.storage.migrations import HUB_MIGRATIONS


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path / "home")
    home.create()
    return home


@pytest.fixture
async def db(home: Home) -> AsyncIterator[Database]:
    db = Database(home.hub_db, HUB_MIGRATIONS, synchronous="NORMAL")
    await db.open()
    yield db
    await db.close()


@pytest.fixture
async def store(home: Home, db: Database, clock: ManualClock) -> AsyncIterator[SessionStore]:
    store = SessionStore(db, home, clock, EventBus(TaskOwner("test")))
    yield store
    await store.close()
