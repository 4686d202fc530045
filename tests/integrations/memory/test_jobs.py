"""What the worker has to know is kept until the configuration, the people or the conversations change."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from hub.agent.agents import Agents
from hub.core.clock import ManualClock
from hub.core.errors import NotFound
from hub.core.events import EventBus
from hub.core.tasks import TaskOwner
from hub.memory.schema import MEMORY_SCHEMA
from hub.security.people import People
from hub.sessions.store import EVENT_SESSION_CHANGED, SessionStore
from hub.storage.database import Database
from hub.storage.homedir import Home
from hub.storage.migrations import HUB_MIGRATIONS
from integrations.memory.notes.client.jobs import Jobs
from integrations.memory.notes.client.sources import JobSources
from integrations.memory.notes.files.omissions import Omissions

OWNER = {"id": "me", "name": "Me", "owner": True, "identities": [f"telegram:user:{number}" for number in range(8)]}
KEY = "agent:main:main"


class House:
    """The ground that jobs are made from; what is configured can be changed."""

    def __init__(self, home: Home, db: Database, *, transcripts: bool) -> None:
        bus = EventBus(TaskOwner("test"))
        self.sessions = SessionStore(db, home, ManualClock(), bus)
        self.agents = Agents(None, home)
        self.people = People.from_config([OWNER])
        self.section: dict[str, Any] = MEMORY_SCHEMA({"transcripts": transcripts})
        ground = JobSources(
            home,
            self.agents,
            self.sessions,
            lambda: self.people,
            lambda: self.section,
            dict,
            {"OPENAI_API_KEY": "sk"},
            Omissions(home),
        )
        self.jobs = Jobs(ground, lambda: self.section)
        bus.listen(EVENT_SESSION_CHANGED, self.jobs.session_changed)

    def conversations(self) -> list[str]:
        """Ids of the conversations that are searched."""
        return [file.id for source in self.jobs("main").sources for file in source.files]


@asynccontextmanager
async def house(tmp_path: Path, *, transcripts: bool = False) -> AsyncIterator[House]:
    """A home without conversations."""
    home = Home(tmp_path / "home")
    home.create()
    db = Database(home.hub_db, HUB_MIGRATIONS, synchronous="NORMAL")
    await db.open()
    found = House(home, db, transcripts=transcripts)
    await found.sessions.open()
    yield found
    await found.sessions.close()
    await db.close()


async def test_a_job_is_made_once(tmp_path: Path) -> None:
    async with house(tmp_path) as home:
        first = home.jobs("main")
        await home.sessions.ensure(KEY)
        home.sessions.touch(KEY)

        assert home.jobs("main") is first


async def test_a_changed_configuration_makes_another_job(tmp_path: Path) -> None:
    async with house(tmp_path) as home:
        before = home.jobs("main")

        home.section = MEMORY_SCHEMA({"keywords": "whoosh"})

        assert before.settings["keywords"] == "fts5"
        assert home.jobs("main").settings["keywords"] == "whoosh"


async def test_another_workspace_makes_another_job(tmp_path: Path) -> None:
    async with house(tmp_path) as home:
        home.jobs("main")

        home.agents.configure([{"id": "main", "default": True, "workspace": "elsewhere"}])

        assert home.jobs("main").sources[0].root == str(tmp_path / "home" / "elsewhere")


async def test_other_people_make_another_job(tmp_path: Path) -> None:
    async with house(tmp_path, transcripts=True) as home:
        await home.sessions.ensure("agent:main:telegram:direct:7", person="me")
        before = [file.area for source in home.jobs("main").sources for file in source.files]

        home.people = People.from_config([{**OWNER, "owner": False}, {**OWNER, "id": "ada", "identities": []}])

        after = [file.area for source in home.jobs("main").sources for file in source.files]
        assert (before, after) == (["private"], ["person-me"])


async def test_a_conversation_is_searched_from_its_first_word_and_no_longer_when_it_is_deleted(tmp_path: Path) -> None:
    async with house(tmp_path, transcripts=True) as home:
        before = home.conversations()
        session = await home.sessions.ensure(KEY, person="me")
        during = home.conversations()
        await home.sessions.delete(KEY)

        assert (before, during, home.conversations()) == ([], [session.session_id], [])


async def test_words_in_a_conversation_make_no_other_job(tmp_path: Path) -> None:
    async with house(tmp_path, transcripts=True) as home:
        for number in range(3):
            await home.sessions.ensure(f"agent:main:telegram:direct:{number}", person="me")
        first = home.jobs("main")

        home.sessions.touch("agent:main:telegram:direct:1")

        assert home.jobs("main") is first


async def test_a_conversation_that_nobody_has_makes_another_job_once(tmp_path: Path) -> None:
    async with house(tmp_path, transcripts=True) as home:
        await home.sessions.ensure("agent:main:telegram:direct:9")
        first = home.jobs("main")
        home.sessions.touch("agent:main:telegram:direct:9")
        second = home.jobs("main")
        home.sessions.touch("agent:main:telegram:direct:9")

        assert second is not first
        assert home.jobs("main") is second


async def test_a_new_beginning_is_another_conversation(tmp_path: Path) -> None:
    async with house(tmp_path, transcripts=True) as home:
        old = await home.sessions.ensure(KEY, person="me")
        home.jobs("main")
        fresh = await home.sessions.reset(KEY)

        assert home.conversations() == [fresh.session_id]
        assert fresh.session_id != old.session_id


async def test_an_agent_that_is_not_there_has_no_job(tmp_path: Path) -> None:
    async with house(tmp_path) as home:
        with pytest.raises(NotFound):
            home.jobs("ghost")
