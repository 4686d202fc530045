"""A home in which was talked: real sessions, transcripts and runs, and a memory that searches them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import orjson

from hub.agent.agents import Agents
from hub.core.clock import Clock, ManualClock
from hub.core.events import EventBus
from hub.core.tasks import TaskOwner
from hub.memory.contract import Forget, Hit, MemoryEntry, MemoryKind
from hub.memory.schema import MEMORY_SCHEMA
from hub.memory.scope import MemoryProvenance, MemoryScope
from hub.models.contract import Message, Role, TextBlock
from hub.security.people import People
from hub.security.root import Root
from hub.sessions.entry import Provenance as Origin, message_entry
from hub.sessions.store import EVENT_SESSION_CHANGED, SessionStore
from hub.storage.database import Database
from hub.storage.homedir import Home
from hub.storage.migrations import HUB_MIGRATIONS
from integrations.memory.notes.client.index_worker import IndexWorker
from integrations.memory.notes.client.jobs import Jobs
from integrations.memory.notes.client.sources import JobSources, cache_directory
from integrations.memory.notes.files.omissions import FILE, Omissions
from integrations.memory.notes.forget.conversations import Conversations
from integrations.memory.notes.memory import NotesMemory
from tests.integrations.memory.notes_house import OWNER

PEOPLE = [
    {"id": "me", "owner": True, "identities": ["telegram:user:1"]},
    {"id": "anna", "owner": False, "identities": ["telegram:user:5"]},
    {"id": "ben", "owner": False, "identities": ["telegram:user:6"]},
]
MAIN = "agent:main:main"
ANNAS = "agent:main:telegram:direct:5"
ROOM = "agent:main:telegram:group:-100"
NOON_MS = 1_778_587_200_000
NO_VECTORS = {"provider": "none"}


class Talking:
    """The home; `open` and `close` are what a start and a stop of the hub are to its memory."""

    def __init__(self, path: Path, **section: Any) -> None:
        self.home = Home(path / "home")
        self.home.create()
        self.section: Mapping[str, Any] = MEMORY_SCHEMA({"transcripts": True, "embeddings": NO_VECTORS, **section})
        self._count = 0

    @property
    def omissions_file(self) -> Path:
        """Where ids of what is left out are."""
        return self.home.agent("main") / FILE

    @property
    def index(self) -> Path:
        """Where indexes and the cache of vectors are."""
        return cache_directory(self.home)

    async def open(self) -> None:
        """Begin."""
        self.tasks = TaskOwner("test")
        self.db = Database(self.home.hub_db, HUB_MIGRATIONS, synchronous="NORMAL")
        await self.db.open()
        bus = EventBus(self.tasks)
        self.sessions = SessionStore(self.db, self.home, ManualClock(), bus)
        await self.sessions.open()
        people, agents = People.from_config(PEOPLE), Agents(None, self.home)
        workspace = agents.get("main").workspace
        workspace.mkdir(exist_ok=True)
        omissions = Omissions(self.home)
        ground = JobSources(
            self.home, agents, self.sessions, lambda: people, lambda: self.section, dict, {}, omissions
        )  # fmt: skip
        jobs = Jobs(ground, lambda: self.section)
        bus.listen(EVENT_SESSION_CHANGED, jobs.session_changed)
        self.worker = IndexWorker(self.index, Clock(), self.tasks)
        self.jobs = jobs
        self.memory = NotesMemory(
            lambda agent_id: Root(workspace),
            jobs,
            self.worker,
            history_of=lambda agent_id: self.home.agent(agent_id) / "memory_history",
            now=lambda: NOON_MS / 1_000,
            tasks=self.tasks,
        )
        self.memory.set_transcripts(Conversations(ground, self.db))

    async def close(self) -> None:
        """End."""
        await self.memory.close()
        await self.sessions.close()
        await self.db.close()
        await self.tasks.cancel_all()

    async def say(
        self,
        key: str,
        text: str,
        *,
        whose: str = "me",
        by: str | None = None,
        role: Role = Role.USER,
        outside: bool = False,
    ) -> str:
        """Have something said in a session, and return its path in results.

        Args:
            key: The session.
            text: What.
            whose: Whom the session belongs to when it is new.
            by: Who says it, when it is not them.
            role: Which side.
            outside: Whether it came from outside.
        """
        session = await self.sessions.ensure(key, person=whose)
        self._count += 1
        run_id = f"run{self._count}"
        authority = orjson.dumps({"person": by or whose}).decode()
        await self.db.write(
            lambda connection: (
                connection.execute(
                    "INSERT INTO runs(id, agent_id, session_key, session_id, kind, state, lane, authority, created_ms)"
                    " VALUES (?, 'main', ?, ?, 'message', 'done', 'main', ?, 0)",
                    (run_id, key, session.session_id, authority),
                ).rowcount
            )
        )
        entry = message_entry(
            Message(role, (TextBlock(text),)),
            NOON_MS,
            id=f"{run_id}-user",
            run_id=run_id,
            provenance=Origin(trusted=not outside),
        )
        await (await self.sessions.open_transcript(session)).append(entry, sync=True)
        return f"transcripts/{session.session_id}"

    def transcript(self, path: str) -> Path:
        """Return the file of a conversation by its path in results."""
        return self.home.sessions("main") / f"{path.removeprefix('transcripts/')}.jsonl"

    async def add(self, text: str, scope: MemoryScope = OWNER, session: str = MAIN) -> None:
        """Remember something."""
        came = MemoryProvenance(session, scope.person, NOON_MS / 1_000, trusted=True)
        await self.memory.add(MemoryEntry(text, MemoryKind.FACT, came), agent_id="main", scope=scope)

    async def found(self, query: str, scope: MemoryScope = OWNER) -> str:
        """Return what a search finds, once the index has all that was said."""
        await self.memory.sync(agent_id="main")
        answer = await self.memory.search(query, agent_id="main", scope=scope, limit=50)
        while "grep" in answer.engines:  # the index was late
            answer = await self.memory.search(query, agent_id="main", scope=scope, limit=50)
        return "\n".join(hit.text for hit in answer.hits)

    async def read(self, path: str, scope: MemoryScope = OWNER) -> str:
        """Return a whole text."""
        return await self.memory.get(path, agent_id="main", scope=scope)

    async def listed(self, scope: MemoryScope = OWNER) -> list[str]:
        """Return the paths that are seen."""
        return [file.path for file in await self.memory.notebook.files(agent_id="main", scope=scope)]

    async def forget(self, what: Forget, scope: MemoryScope = OWNER, *, dry_run: bool = False) -> list[Hit]:
        """Forget."""
        return await self.memory.forget(what, agent_id="main", scope=scope, dry_run=dry_run)


@asynccontextmanager
async def talking(path: Path, **section: Any) -> AsyncIterator[Talking]:
    """A home in which nothing was said yet."""
    house = Talking(path, **section)
    await house.open()
    yield house
    await house.close()
