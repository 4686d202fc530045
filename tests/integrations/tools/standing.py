"""A hub's real parts, as far as tools need them, in a home directory of a test's own."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

from hub.agent.agents import Agents
from hub.agent.workspace.workspace import Workspaces
from hub.config.store import ConfigStore
from hub.core.clock import ManualClock
from hub.core.context import Authority, Context
from hub.core.events import EventBus
from hub.core.repairs import Repairs
from hub.core.services import ServiceRegistry
from hub.core.states import StateMachine
from hub.core.tasks import TaskOwner
from hub.entities.entities import HomeEntities
from hub.entities.registry import VERSION, HomeRegistry
from hub.entities.targets import Targets
from hub.host import IntegrationHost
from hub.integration.registrations import Registrations
from hub.memory.registry import MemoryRegistry
from hub.messaging.channels import ChannelRegistry
from hub.messaging.commands.registry import CommandCall, CommandReply, Commands
from hub.messaging.contract import Address, InboundMessage
from hub.models.registry import ModelRegistry
from hub.sandbox.sandboxes import Sandboxes
from hub.sections import all_sections
from hub.security.egress import Egress
from hub.security.people import People, Person
from hub.security.redaction import Redactor
from hub.sessions.search import TranscriptSearch
from hub.sessions.store import SessionStore
from hub.storage.database import Database
from hub.storage.homedir import Home
from hub.storage.migrations import HUB_MIGRATIONS
from hub.storage.versioned_file import VersionedFile
from hub.tools.agent_secrets import AgentSecrets
from hub.tools.approvals import Approvals
from hub.tools.contract import ToolResult
from hub.tools.invoke import ToolCallRequest, invoke_tool
from hub.tools.registry import ToolRegistry

NOON = 1_778_587_200.0  # 2026-05-12 12:00 UTC
MAIN = "agent:main:main"
ANNAS = "agent:main:telegram:direct:2"
GROUP = "agent:main:telegram:group:-100"


class Standing:
    """What integrations are given; `call` invokes a tool as an agent would."""

    def __init__(self, folder: Path) -> None:
        self.home = Home(folder)
        self.home.create()
        self.clock = ManualClock(NOON)
        self.tasks = TaskOwner("test")
        self.bus = EventBus(self.tasks, self.clock.time)
        self.states = StateMachine(self.bus, self.clock.time)
        self.services = ServiceRegistry(self.bus)
        file = VersionedFile(self.home.storage / "home_registry.json", VERSION)
        self.registry = HomeRegistry(file, self.bus, self.states, self.tasks)
        self.entities = HomeEntities(self.registry, self.states, self.bus)
        self.targets = Targets(self.registry, self.states)
        self.people = People(
            [
                Person("me", "Me", owner=True, identities=("telegram:user:1",)),
                Person("anna", "Anna", identities=("telegram:user:2",)),
            ]
        )
        self.db = Database(self.home.hub_db, HUB_MIGRATIONS, synchronous="NORMAL")
        self.tools = ToolRegistry(self.bus)
        self.redactor = Redactor()
        self.approvals = Approvals(self.db, self.bus, self.clock, self.redactor)
        self.agent_secrets = AgentSecrets(self.home.storage, self.redactor, self.clock)
        self.tools.secrets = self.agent_secrets.for_call
        self.gateway = SimpleNamespace(url="http://127.0.0.1:18789")
        self.memory = MemoryRegistry()
        self.sessions = SessionStore(self.db, self.home, self.clock, self.bus)
        self.transcript_search = TranscriptSearch(self.home, self.sessions, self.clock)
        self.agents = Agents(None, self.home)
        self.workspaces = Workspaces(self.agents, lambda: self.people, self.home, self.clock)
        self.repairs = Repairs(self.bus)
        self.models = ModelRegistry(None, self.bus, self.clock, self.repairs)
        self.channels = ChannelRegistry(self.bus, self.clock, self.repairs)
        self.config = ConfigStore(self.home.path, all_sections(), self.bus, self.repairs)
        self.registrations = Registrations("test")
        self.sandboxes = Sandboxes(lambda id: self.agents.get(id).sandbox, self.workspaces.sandboxes, self.clock)
        self.egress = Egress(list)
        self.commands = Commands(lambda: "en")
        self.time_zone = "Europe/Berlin"
        self.owner = self.people.owner_authority()
        self.anna = self.people.authority_for("telegram:user:2")
        self.stranger = self.people.authority_for("telegram:user:9")

    @property
    def workspace(self) -> Path:
        self.workspaces.ensure("main")
        return self.agents.get("main").workspace

    async def set_up(self, integration: ModuleType, config: Mapping[str, Any] | None = None, yaml: str = "") -> None:
        (self.home.path / "configuration.yaml").write_text(f"hub: {{time_zone: {self.time_zone}}}\n{yaml}")
        self.config.load()
        names = ("nodes", "pages", "subagents", "exchanges", "inbox")
        beyond = dict.fromkeys(names)
        parts: Any = SimpleNamespace(
            **vars(self), **beyond, hooks=None, automation=SimpleNamespace(scheduled=None), agent_messages=None
        )
        await integration.setup(IntegrationHost("test", self.registrations, parts), config or {})

    async def call(
        self,
        name: str,
        arguments: dict[str, Any] | None = None,
        *,
        authority: Authority | None = None,
        session: str = MAIN,
        run: str = "r",
    ) -> ToolResult:
        request = ToolCallRequest("c", name, arguments or {}, Context(authority or self.owner), "main", session, run)
        return await invoke_tool(self.tools, request)

    async def command(self, text: str, *, authority: Authority | None = None, session: str = MAIN) -> CommandReply:
        name, _, arguments = text.removeprefix("/").partition(" ")
        who = authority or self.owner
        message = InboundMessage(Address("test", "7"), "1", "test:user:7", text)
        return await self.commands.run(CommandCall(name, arguments, message, "main", session, Context(who), who.owner))
