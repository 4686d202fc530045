"""A store of sessions in an empty home, whose transcripts are files, or rows of its database."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from hub.core.clock import ManualClock
from hub.core.events import EventBus
from hub.core.tasks import TaskOwner
from hub.sessions.store import SessionStore
from hub.sessions.transcript_store import TranscriptFiles, TranscriptStore
from hub.sessions.transcript_table import TranscriptTable
from hub.storage.database import Database
from hub.storage.homedir import Home
from tests.databases import make_database


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
    db = make_database(home.hub_db, synchronous="NORMAL")
    await db.open()
    yield db
    await db.close()


@pytest.fixture(params=["file", "table"])
def form(request: pytest.FixtureRequest) -> str:
    """How transcripts are kept; `FILES` and `TABLE` choose one of both."""
    return str(request.param)


@pytest.fixture
def transcripts(form: str, home: Home, db: Database) -> TranscriptStore:
    return TranscriptFiles(home) if form == "file" else TranscriptTable(db)


@pytest.fixture
async def store(
    home: Home, db: Database, clock: ManualClock, transcripts: TranscriptStore
) -> AsyncIterator[SessionStore]:
    store = SessionStore(db, home, clock, EventBus(TaskOwner("test")), transcripts=transcripts)
    yield store
    await store.close()
