"""Assembles all that moves between conversations and memory automatically, for the hub to use as one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct

from hub.agent.flush.digest import Digester
from hub.agent.flush.flush import Flush, FlushNeeds
from hub.agent.flush.turn import MemoryTurn
from hub.agent.intents.intents import StandingIntents
from hub.agent.intents.tool import IntentTool
from hub.agent.recall.recall import Recall, RecallNeeds
from hub.agent.runner import AgentRunner
from hub.agent.tidy.judge import NotesJudge
from hub.agent.tidy.service import register_tidy
from hub.agent.tidy.tidy import Tidy, TidyNeeds
from hub.core.errors import InvalidRequest
from hub.core.events import Unsubscribe
from hub.core.lanes import Lanes
from hub.core.schema import All, Length, Optional, Schema, slug, string
from hub.core.services import ResponseMode, ServiceCall, ServiceRegistry
from hub.core.tasks import TaskOwner
from hub.memory.registry import MemoryRegistry
from hub.security.people import People
from hub.sessions.keys import SessionKey
from hub.storage.database import Database
from hub.storage.homedir import Home

STOP_LIMIT_S = 1.0

FLUSH_SCHEMA = Schema(
    {
        Optional("session_key", default="main", description="main, or the key of a session."): All(
            string, Length(min=1, max=2_048)
        ),
        Optional("agent", description="The agent whose conversation is meant; the default agent if omitted."): slug,
    }
)


class MemoryDependencies(Struct, frozen=True):
    """The dependencies of agent memory.

    Attributes:
        runner: The runner whose runs use the memory; its dependencies are shared.
        people: The people of this home, as configured now.
        section: Returns a section of the current configuration.
    """

    home: Home
    db: Database
    runner: AgentRunner
    lanes: Lanes
    services: ServiceRegistry
    memory: MemoryRegistry
    people: Callable[[], People]
    section: Callable[[str], Any]


class AgentMemory:
    """Recall before a message, flushing after a conversation, standing intents, and tidying up.

    Attributes:
        recall: Looks up what memory knows of a message.
        flush: Writes conversations into memory.
        intents: Reminders that come when their topic does.
        tidy: Keeps recurring entries, merges duplicates, marks contradictions.
    """

    def __init__(self, needs: MemoryDependencies) -> None:
        self._needs = needs
        self._tasks = TaskOwner("remembering")
        self._removers: list[Unsubscribe] = []
        parts = needs.runner.parts
        self.recall = Recall(
            RecallNeeds(
                needs.memory,
                parts.sessions,
                parts.workspaces,
                parts.bus,
                parts.clock,
                needs.people,
                lambda: needs.section("memory")["recall"],
                self._dm_scope,
            )
        )
        self.flush = Flush(
            FlushNeeds(
                needs.db,
                parts.sessions,
                parts.agents,
                needs.memory,
                Digester(parts.models, parts.charge),
                MemoryTurn(parts.models, parts.tools, parts.charge, parts.redactor),
                needs.lanes,
                parts.bus,
                parts.clock,
                parts.redactor,
                self._tasks,
                needs.people,
            )
        )
        self.intents = StandingIntents(
            needs.db, parts.bus, parts.clock, needs.people, parts.workspaces.zone, dm_scope=self._dm_scope
        )
        self.tidy = Tidy(
            TidyNeeds(
                needs.memory,
                parts.sessions,
                NotesJudge(parts.models, parts.bus, parts.charge, parts.clock),
                needs.home,
                parts.clock,
                needs.people,
                parts.workspaces.zone,
            )
        )
        needs.runner.on_begin(self.intents.before)
        needs.runner.on_begin(self.recall.before)
        needs.runner.on_compaction(self.flush.before_compaction)
        parts.sessions.before_reset(self.flush.before_reset)

    @property
    def current_write(self) -> list[str]:
        """The current write, described for people."""
        return self._tasks.names()

    async def open(self) -> None:
        """Load the standing intents, register the tool and services, and resume interrupted work."""
        parts = self._needs.runner.parts
        await self.intents.open()
        tool = IntentTool(self.intents, self._needs.people, parts.clock, parts.workspaces.zone).tool()
        self._removers = [
            parts.tools.register(tool),
            self._needs.services.register(
                "memory",
                "flush",
                self._flush,
                FLUSH_SCHEMA,
                ResponseMode.OPTIONAL,
                description="Write what matters in a conversation to memory",
            ),
            register_tidy(self._needs.services, self.tidy, parts.agents),
        ]
        await self.flush.open()

    async def close(self) -> None:
        """Stop; conversations still to be written are written after the next start."""
        for remove in self._removers:
            remove()
        self._removers = []
        await self._tasks.cancel_all(timeout_s=STOP_LIMIT_S)

    async def _flush(self, call: ServiceCall) -> Mapping[str, Any]:
        agents = self._needs.runner.parts.agents
        agent_id = agents.get(call.data["agent"]).id if "agent" in call.data else agents.default().id
        key = SessionKey.parse(call.data["session_key"], default_agent=agent_id)
        if "agent" in call.data and key.agent != agent_id:
            raise InvalidRequest(f"session_key: it is not a conversation of the agent {agent_id}")
        return {"path": await self.flush.flush(str(key), call.context.authority)}

    def _dm_scope(self) -> str:
        return str(self._needs.section("session")["dm_scope"])
