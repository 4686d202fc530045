"""The hub as far as an agent's runner needs it, over a scripted model server on a real socket."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from hub.agent.component.agents import AgentsComponent
from hub.agent.run_request import RunRequest
from hub.core.clock import Clock
from hub.core.context import Authority, Context
from hub.core.events import Event
from hub.core.ids import new_id
from hub.models.contract import user_message
from hub.models.vendors import OPENAI_API
from hub.sessions.entry import TranscriptEntry
from hub.sessions.keys import main_key
from hub.sessions.transcript_table import TranscriptTable
from hub.tools.contract import Annotations, Tool, ToolCall, ToolResult
from hub.tools.parameters import from_json_schema
from integrations.models.openai_compatible.model import OpenAIProvider
from tests.hub_fixture import HubFixture
from tests.transcripts import stored_transcript
from tests.until import until

MAIN = main_key("main")
READ_ONLY = Annotations(
    read_only=True, destructive=False, open_world=False, owner_only=False, parallel_safe=True, egress=False
)
CHANGING = Annotations(destructive=False, open_world=False, owner_only=False)
OUTSIDE = Annotations(read_only=True, destructive=False, owner_only=False, parallel_safe=True)
TEXT = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
PEOPLE = [{"id": "me", "name": "Me", "owner": True}, {"id": "anna", "name": "Anna"}]


class AgentHouse(HubFixture):
    """The hub as far as an agent's runner needs it; can be stopped and stood up again over the same home."""

    def __init__(
        self,
        folder: Path,
        base_url: str,
        agents: Sequence[Mapping[str, Any]] = (),
        models: Mapping[str, Any] | None = None,
        budgets: Sequence[Mapping[str, Any]] = (),
        clock: Clock | None = None,
        *,
        sections: Mapping[str, Any] | None = None,
        further: Collection[str] = (),
        form: str = "file",
    ) -> None:
        provider = {"api": "openai", "base_url": base_url, "api_key": "sk-test-not-a-secret"}
        section = {
            "default": "test/model",
            "providers": {"test": {**provider, "models": [{"id": "model", "context_window": 32_768}, {"id": "other"}]}},
            "retry": {"attempts": 1},
            **(models or {}),
        }
        configured = {"models": section, "people": PEOPLE, "agents": agents, "budgets": budgets, **(sections or {})}
        super().__init__(
            folder,
            base_url,
            sections={name: value for name, value in configured.items() if value},
            without=("approvals",),
            only=("hub database", "history", "sessions", "budgets", *further),
            clock=clock,
        )
        self.models.register_api(OPENAI_API, lambda name, config: OpenAIProvider(name, config, self.clock))
        self.form = "table" if self.db.holds_files else form
        if form == "table":
            self.sessions.transcripts = TranscriptTable(self.db)
        self.runs = self.runner.parts.tasks
        self.budgets = self.component(AgentsComponent).budgets
        self.events: list[tuple[str, dict[str, Any]]] = []
        self.bus.listen("*", self._hear)

    async def open(self) -> None:
        await self.start()

    async def close(self) -> None:
        await self.runs.cancel_all()
        await self.tasks.cancel_all()
        await self.hooks.drain(1)
        await self.models.close()
        await self.stop()

    async def usage(self) -> list[tuple[str, int]]:
        """Return the model and the tokens of each call of a model."""
        query = "SELECT model, input_tokens + output_tokens FROM usage ORDER BY id"
        return await self.history.read(lambda connection: connection.execute(query).fetchall(), [])

    async def trace(self, run_id: str) -> dict[str, Any]:
        """Return the trace of a run."""
        return await self.history.run_trace(run_id) or {}

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
        return stored_transcript(self.home, self.form, known.agent_id, known.session_id).entries

    def transcript(self, session: str = MAIN) -> list[tuple[str, str]]:
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
        await until(holds)

    def _hear(self, event: Event) -> None:
        self.events.append((event.type, event.data))


@asynccontextmanager
async def standing(house: AgentHouse) -> AsyncIterator[AgentHouse]:
    await house.open()
    try:
        yield house
    finally:
        await house.close()
