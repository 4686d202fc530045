"""What clients of the gateway do with agents: chat, sessions, runs, models and tools, and OpenAI's API."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from hub.agent.agents import Agents
from hub.agent.runner import AgentRunner
from hub.agent.subagents.spawning import policies_of_subagent
from hub.agent.subagents.subagents import Subagents
from hub.automation.services.addresses import Addresses
from hub.core.component import Component
from hub.core.stages import Stage
from hub.core.surfaces import Method, MethodGroups, Route
from hub.core.tasks import TaskOwner
from hub.gateway.connection.server import Gateway
from hub.gateway.http_api.anthropic_messages import anthropic_messages
from hub.gateway.http_api.chat_completions import chat_completions
from hub.gateway.http_api.embeddings import Embeddings
from hub.gateway.http_api.kept_runs import KeptRuns
from hub.gateway.http_api.models import Models
from hub.gateway.http_api.ollama import OllamaApi
from hub.gateway.http_api.responses import Responses
from hub.gateway.http_api.runs import ApiRuns
from hub.gateway.http_api.transcriptions import Transcriptions
from hub.gateway.methods.hub_state import HubFacts
from hub.gateway.push.events import RunEvents
from hub.gateway.push.schedule_events import ScheduleEvents
from hub.memory.registry import Embed
from hub.messaging.contract import ChannelState
from hub.messaging.inbox.inbox import Inbox
from hub.messaging.inbox.media_store import Transcribe
from hub.messaging.outbox.outbox import Outbox
from hub.models.registry import ModelRegistry
from hub.security.people import People
from hub.security.redaction import Redactor
from hub.sessions.keys import main_key
from hub.sessions.search import TranscriptSearch
from hub.sessions.store import SessionStore
from hub.storage.database import Database
from hub.storage.history import HistoryStore
from hub.tools.agent_secrets import AgentSecrets
from hub.tools.approvals import Approvals
from hub.tools.registry import ToolRegistry

if TYPE_CHECKING:
    from hub.tools.methods.tools import ToolMethods


class ClientDependencies(Struct, frozen=True):
    """What the methods for clients need."""

    gateway: Gateway
    db: Database
    tasks: TaskOwner
    agents: Agents
    sessions: SessionStore
    search: TranscriptSearch
    models: ModelRegistry
    tools: ToolRegistry
    runner: AgentRunner
    inbox: Inbox
    outbox: Outbox
    addresses: Addresses
    redactor: Redactor
    history: HistoryStore
    people: Callable[[], People]
    subagents: Subagents
    approvals: Approvals
    secrets: AgentSecrets
    transcriber: Callable[[], Transcribe | None] = lambda: None
    embed: Callable[[], Embed | None] = lambda: None


class ClientsComponent(Component):
    """The methods and events of conversations, and the routes of OpenAI's API."""

    name = "clients"

    def __init__(self, needs: ClientDependencies) -> None:
        self._needs = needs
        gateway = needs.gateway
        self._events = RunEvents(gateway.bus, gateway.broadcast, gateway.clock)

    def stages(self) -> Sequence[Stage]:
        """Return the stage that begins to tell clients of runs."""
        return [Stage("events of runs", self._open)]

    def methods(self) -> MethodGroups:
        """Return the methods about chat, sessions, runs, agents, models and tools."""
        return {
            "agents": self._agent_methods,
            "sessions": self._session_methods,
            "tools": lambda: self._tool_methods().methods(),
            "clients": self._start_methods,
        }

    def _agent_methods(self) -> Iterable[Method]:
        from hub.agent.methods.agent_files import AgentFileMethods
        from hub.agent.methods.agent_runs import AgentMethods
        from hub.agent.methods.catalog import CatalogMethods
        from hub.agent.methods.context import ContextMethods
        from hub.agent.methods.runs import RunMethods
        from hub.agent.methods.subagents import SubagentMethods

        needs = self._needs
        agent = AgentMethods(
            sessions=needs.sessions,
            agents=needs.agents,
            runner=needs.runner,
            outbox=needs.outbox,
            addresses=needs.addresses,
            db=needs.db,
            clock=needs.gateway.clock,
            tasks=needs.tasks,
        )
        runs = RunMethods(
            db=needs.db,
            history=needs.history,
            sessions=needs.sessions,
            runner=needs.runner,
            people=needs.people,
            redactor=needs.redactor,
        )
        return [
            *CatalogMethods(needs.agents, needs.models).methods(),
            *AgentFileMethods(needs.agents, needs.runner.parts.workspaces).methods(),
            *agent.methods(),
            *ContextMethods(needs.agents, needs.runner).methods(),
            *runs.methods(),
            *SubagentMethods(needs.subagents, needs.runner.parts.now_ms, needs.redactor).methods(),
        ]

    def _session_methods(self) -> Iterable[Method]:
        from hub.messaging.methods.chat import ChatMethods
        from hub.messaging.methods.chat_views import ChatViews
        from hub.sessions.methods.session_rows import SessionRows
        from hub.sessions.methods.session_search import SessionSearchMethods
        from hub.sessions.methods.session_views import SessionViews
        from hub.sessions.methods.sessions import SessionMethods

        needs, clock, channels = self._needs, self._needs.gateway.clock, self._needs.outbox.channels
        rows = SessionRows(needs.agents, needs.models, needs.runner, needs.subagents)
        sessions = SessionMethods(
            needs.gateway,
            sessions=needs.sessions,
            agents=needs.agents,
            models=needs.models,
            runner=needs.runner,
            channels=channels,
            rows=rows,
        )
        chat = ChatMethods(
            keys=sessions,
            sessions=needs.sessions,
            inbox=needs.inbox,
            events=self._events,
            clock=clock,
            channels=channels,
        )
        return [
            *sessions.methods(),
            *SessionViews(sessions, needs.sessions, rows, clock).methods(),
            *SessionSearchMethods(needs.search, needs.sessions).methods(),
            *chat.methods(),
            *ChatViews(sessions, needs.sessions, rows, needs.gateway.methods).methods(),
        ]

    def _tool_methods(self) -> ToolMethods:
        from hub.tools.methods.tools import ToolMethodDependencies, ToolMethods

        needs = self._needs
        return ToolMethods(
            ToolMethodDependencies(
                agents=needs.agents,
                sessions=needs.sessions,
                models=needs.models,
                tools=needs.tools,
                channels=needs.outbox.channels,
                addresses=needs.addresses,
                redactor=needs.redactor,
                tasks=needs.tasks,
                policies_of_subagent=lambda key: tuple(
                    policy
                    for each in needs.subagents.all()
                    if each.session_key == key
                    for policy in policies_of_subagent(needs.runner.parts, each)
                ),
            )
        )

    def _start_methods(self) -> Iterable[Method]:
        from hub.gateway.methods.client_start import StartMethods
        from hub.tools.methods.secrets import SecretMethods

        needs = self._needs
        return [
            *StartMethods(needs.subagents, needs.redactor).methods(),
            *SecretMethods(needs.secrets, needs.approvals, needs.agents).methods(),
        ]

    def routes(self) -> Iterable[Route]:
        """Return the routes of OpenAI's API, and the one to use a tool."""
        needs = self._needs
        gateway = needs.gateway
        kept = KeptRuns(needs.db, gateway.clock)
        runs = ApiRuns(
            needs.agents, needs.sessions, needs.runner, gateway.bus, needs.tasks, clock=gateway.clock, kept=kept
        )
        return [
            *self._tool_methods().routes(),
            chat_completions(runs),
            *Responses(runs).routes(),
            anthropic_messages(runs),
            *Transcriptions(needs.transcriber).routes(),
            *Embeddings(needs.agents, needs.embed).routes(),
            *OllamaApi(needs.agents, runs).routes(),
            *Models(needs.agents, int(gateway.clock.time())).routes(),
        ]

    def facts(self, integrations: Callable[[], list[dict[str, Any]]]) -> HubFacts:
        """Return the facts of `status`.

        Args:
            integrations: Returns the states of integrations as plain data.
        """
        needs = self._needs
        return HubFacts(
            integrations=integrations,
            agents=lambda: [agent.as_dict() for agent in needs.agents.all()],
            models=self._models_status,
            sessions=lambda: {"count": len(needs.sessions.list())},
            session_defaults=self._session_defaults,
            health=self._health,
            waiting=self._waiting,
        )

    async def _models_status(self) -> dict[str, Any]:
        from hub.agent.methods.catalog import CatalogMethods

        return await CatalogMethods(self._needs.agents, self._needs.models).models_status()

    async def _waiting(self) -> list[dict[str, Any]]:
        return [each.as_dict() for each in await self._needs.outbox.waiting()]

    def _session_defaults(self) -> dict[str, Any]:
        agent = self._needs.agents.default().id
        return {"defaultAgentId": agent, "mainKey": "main", "mainSessionKey": main_key(agent), "scope": "per-sender"}

    def _health(self) -> dict[str, Any]:
        needs = self._needs
        channels: dict[str, dict[str, Any]] = {}
        registry = needs.outbox.channels
        for each in (one for one in registry.all() if not registry.is_home(one.channel.name)):
            connected = each.status.state is ChannelState.CONNECTED
            known = channels.setdefault(each.channel.name, {"configured": True, "linked": False, "accounts": {}})
            known["linked"] |= connected
            known["accounts"][each.channel.account] = {"configured": True, "linked": connected}
        return {
            "channels": channels,
            "channelOrder": list(channels),
            "channelLabels": {name: name for name in channels},
            "defaultAgentId": needs.agents.default().id,
            "sessions": {"path": str(needs.db.path), "count": len(needs.sessions.list()), "recent": []},
        }

    async def _open(self) -> None:
        gateway = self._needs.gateway
        self._events.start()
        ScheduleEvents(gateway.bus, gateway.broadcast, gateway.clock, self._events.chat_final)
