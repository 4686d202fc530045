"""An agent's runner over real parts: database, transcripts, tools, and a scripted model server on a real socket."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import UTC
from pathlib import Path
from typing import Any

from hub.agent.agents import Agents
from hub.agent.budgets.ledger import BudgetLedger
from hub.agent.budgets.schema import BUDGETS_SCHEMA
from hub.agent.parts import RunDependencies
from hub.agent.run_request import RunRequest
from hub.agent.runner import AgentRunner
from hub.agent.runs.trace import RunTrace
from hub.agent.workspace.workspace import Workspaces
from hub.core.clock import Clock
from hub.core.context import Authority, Context
from hub.core.events import Event, EventBus
from hub.core.ids import new_id
from hub.core.lanes import Lanes
from hub.core.repairs import Repairs
from hub.core.tasks import TaskOwner
from hub.hooks.from_bus import observe_bus
from hub.hooks.registry import Hooks
from hub.models.contract import Usage, user_message
from hub.models.registry import ModelRegistry
from hub.models.vendors import OPENAI_API
from hub.security.people import People, Person
from hub.security.redaction import Redactor
from hub.sessions.entry import TranscriptEntry
from hub.sessions.keys import main_key
from hub.sessions.store import SessionStore
from hub.storage.database import Database
from hub.storage.homedir import Home
from hub.storage.migrations import HUB_MIGRATIONS
from hub.tools.contract import Annotations, Tool, ToolCall, ToolResult
from hub.tools.parameters import from_json_schema
from hub.tools.registry import ToolRegistry
from integrations.models.openai_compatible.model import OpenAIProvider

MAIN = main_key("main")
LIMIT_S = 20.0
READ_ONLY = Annotations(
    read_only=True, destructive=False, open_world=False, owner_only=False, parallel_safe=True, egress=False
)
CHANGING = Annotations(destructive=False, open_world=False, owner_only=False)
OUTSIDE = Annotations(read_only=True, destructive=False, owner_only=False, parallel_safe=True)
TEXT = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}


class Usages:
    """A log of usage and traces that keeps what it receives."""

    def __init__(self) -> None:
        self.rows: list[tuple[str, Usage]] = []
        self.traces: dict[str, dict[str, Any]] = {}

    def record_usage(
        self, agent_id: str, session_key: str | None, run_id: str | None, model: str, usage: Usage, time: float
    ) -> None:
        self.rows.append((model, usage))

    def record_run(self, run_id: str, trace: RunTrace, time: float) -> None:
        self.traces[run_id] = trace.as_dict()


class AgentHouse:
    """What a runner stands on; can be stopped and stood up again over the same home."""

    def __init__(
        self,
        folder: Path,
        base_url: str,
        agents: Sequence[Mapping[str, Any]] = (),
        models: Mapping[str, Any] | None = None,
        budgets: Sequence[Mapping[str, Any]] = (),
        clock: Clock | None = None,
    ) -> None:
        self.home = Home(folder)
        self.home.create()
        self.clock = clock or Clock()
        self.tasks = TaskOwner("house")
        self.bus = EventBus(TaskOwner("listeners"), self.clock.time)
        self.db = Database(self.home.hub_db, HUB_MIGRATIONS)
        self.redactor = Redactor()
        self.sessions = SessionStore(self.db, self.home, self.clock, self.bus, redact=self.redactor.redact)
        self.agents = Agents(agents, self.home)
        self.people = People([Person("me", "Me", owner=True), Person("anna", "Anna")])
        self.workspaces = Workspaces(self.agents, lambda: self.people, self.home, self.clock, lambda: UTC)
        provider = {"api": "openai", "base_url": base_url, "api_key": "sk-test-not-a-secret"}
        section = {
            "default": "test/model",
            "providers": {"test": {**provider, "models": [{"id": "model", "context_window": 32_768}, {"id": "other"}]}},
            "retry": {"attempts": 1},
            **(models or {}),
        }
        self.models = ModelRegistry(section, self.bus, self.clock, Repairs(self.bus), environment={})
        self.models.register_api(OPENAI_API, lambda name, config: OpenAIProvider(name, config, self.clock))
        self.tools = ToolRegistry(self.bus)
        self.lanes = Lanes()
        self.usages = Usages()
        self.hooks = Hooks(TaskOwner("hooks"))
        observe_bus(self.bus, self.hooks)
        self.budgets = BudgetLedger(self.clock, lambda: UTC, self.db)
        self.budgets.configure(BUDGETS_SCHEMA([dict(item) for item in budgets]))
        self.events: list[tuple[str, dict[str, Any]]] = []
        self.bus.listen("*", self._hear)
        parts = RunDependencies(
            sessions=self.sessions,
            agents=self.agents,
            workspaces=self.workspaces,
            models=self.models,
            tools=self.tools,
            bus=self.bus,
            clock=self.clock,
            history=self.usages,
            redactor=self.redactor,
            tasks=self.tasks,
            budgets=self.budgets,
            hooks=self.hooks,
        )
        self.runner = AgentRunner(parts, self.db, self.lanes)

    async def open(self) -> None:
        await self.db.open()
        await self.budgets.load()
        await self.sessions.open()

    async def close(self) -> None:
        await self.tasks.cancel_all()
        await self.hooks.drain(1)
        await self.models.close()
        await self.sessions.close()
        await self.db.close()

    def tool(
        self,
        name: str,
        run: Callable[[ToolCall], Any],
        annotations: Annotations = READ_ONLY,
        parameters: Mapping[str, Any] | None = None,
    ) -> None:
        """Add a tool; `run` returns text or a `ToolResult`, at once or when awaited."""

        async def invoke(call: ToolCall) -> ToolResult:
            result = run(call)
            if asyncio.iscoroutine(result):
                result = await result
            return result if isinstance(result, ToolResult) else ToolResult(str(result))

        schema = from_json_schema(parameters or {"type": "object", "properties": {}})
        self.tools.register(Tool(name, f"Does {name}.", schema, invoke, "test", annotations))

    def request(
        self,
        text: str = "hello",
        *,
        run_id: str | None = None,
        session: str = MAIN,
        authority: Authority | None = None,
        **fields: Any,
    ) -> RunRequest:
        return RunRequest(
            run_id or new_id(),
            fields.pop("agent_id", "main"),
            session,
            user_message(text),
            Context(authority or self.people.owner_authority()),
            **fields,
        )

    def entries(self, session: str = MAIN) -> list[TranscriptEntry]:
        """Return what is on the disk, read as a fresh hub would."""
        known = self.sessions.get(session)
        if known is None:
            return []
        from hub.sessions.transcript_file import read_lines

        path = self.sessions.transcript_path(known)
        return read_lines(path.read_bytes() if path.exists() else b"").entries

    def said(self, session: str = MAIN) -> list[tuple[str, str]]:
        """Return role and text of every message on the disk."""
        return [
            (entry.message.role.value, entry.message.text)
            for entry in self.entries(session)
            if entry.message is not None
        ]

    async def row(self, run_id: str) -> dict[str, Any]:
        def read(connection: Any) -> dict[str, Any]:
            cursor = connection.execute("SELECT * FROM runs WHERE id = ?", (run_id,))
            names = [column[0] for column in cursor.description]
            return dict(zip(names, cursor.fetchone() or (), strict=False))

        return await self.db.read(read)

    def told(self, type: str) -> list[dict[str, Any]]:
        return [data for name, data in self.events if name == type]

    async def until(self, holds: Callable[[], Any]) -> None:
        """Wait until something is so."""
        async with asyncio.timeout(LIMIT_S):
            while not holds():  # noqa: ASYNC110  there is no event for what a test may wait for
                await asyncio.sleep(0.005)

    def _hear(self, event: Event) -> None:
        self.events.append((event.type, event.data))


@asynccontextmanager
async def standing(house: AgentHouse) -> AsyncIterator[AgentHouse]:
    await house.open()
    try:
        yield house
    finally:
        await house.close()
