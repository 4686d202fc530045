"""The HTTP APIs that programs use, and the facts of `status`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from hub.agent.agents import Agents
from hub.agent.runner import AgentRunner
from hub.agent.subagents.subagents import Subagents
from hub.core.component import Component
from hub.core.first_use import FirstUse
from hub.core.surfaces import Method, MethodGroups, Route, RouteGroups
from hub.core.tasks import TaskOwner
from hub.gateway.connection.server import Gateway
from hub.gateway.methods.hub_state import HubFacts
from hub.memory.registry import Embed
from hub.messaging.contract import ChannelState
from hub.messaging.inbox.media_store import Transcribe
from hub.messaging.outbox.outbox import Outbox
from hub.models.registry import ModelRegistry
from hub.security.redaction import Redactor
from hub.sessions.keys import main_key
from hub.sessions.store import SessionStore
from hub.storage.database import Database

if TYPE_CHECKING:
    from hub.agent.methods.catalog import CatalogMethods
    from hub.gateway.http_api.metrics import Metrics, MetricSources


class ClientDependencies(Struct, frozen=True):
    """The dependencies of the routes and the facts.

    Attributes:
        metric_sources: Returns the parts that `/metrics` counts and measures.
    """

    gateway: Gateway
    db: Database
    tasks: TaskOwner
    agents: Agents
    sessions: SessionStore
    models: ModelRegistry
    runner: AgentRunner
    outbox: Outbox
    redactor: Redactor
    subagents: Subagents
    metric_sources: Callable[[], MetricSources]
    transcriber: Callable[[], Transcribe | None] = lambda: None
    embed: Callable[[], Embed | None] = lambda: None


class ClientsComponent(Component):
    """The routes of OpenAI's API, what clients call when they start, and the facts of `status`."""

    name = "clients"

    def __init__(self, needs: ClientDependencies) -> None:
        self._needs = needs
        self._catalog = FirstUse("the catalog of models", self._load_catalog)
        self.metrics: FirstUse[Metrics] = FirstUse("the metrics", self._load_metrics)

    def methods(self) -> MethodGroups:
        """Return the methods that clients call when they start, and the schema of all."""
        return {"clients": self._start_methods}

    def _start_methods(self) -> Iterable[Method]:
        from hub.gateway.methods.client_start import StartMethods
        from hub.gateway.methods.protocol_schema import schema_method

        needs = self._needs
        return [
            *StartMethods(needs.subagents, needs.redactor).methods(),
            schema_method(needs.gateway.methods),
        ]

    def routes(self) -> RouteGroups:
        """Return the routes of the APIs of OpenAI, Anthropic and Ollama, and of Prometheus."""
        return {"clients": self._load_routes, "metrics": self._metric_routes}

    def _metric_routes(self) -> Iterable[Route]:
        from hub.gateway.http_api.metrics import metric_routes

        return metric_routes(self.metrics)

    async def metrics_text(self) -> str:
        """Return the metrics as Prometheus reads them."""
        return await (await self.metrics.get()).text()

    def _load_metrics(self) -> Callable[[], Metrics]:
        from hub.gateway.http_api.metrics import Metrics

        return lambda: Metrics(self._needs.metric_sources())

    def _load_routes(self) -> Iterable[Route]:
        from hub.gateway.http_api.anthropic_messages import anthropic_messages
        from hub.gateway.http_api.chat_completions import chat_completions
        from hub.gateway.http_api.embeddings import Embeddings
        from hub.gateway.http_api.kept_runs import KeptRuns
        from hub.gateway.http_api.models import Models
        from hub.gateway.http_api.ollama import OllamaApi
        from hub.gateway.http_api.responses import Responses
        from hub.gateway.http_api.runs import ApiRuns
        from hub.gateway.http_api.transcriptions import Transcriptions

        needs = self._needs
        gateway = needs.gateway
        kept = KeptRuns(needs.db, gateway.clock)
        runs = ApiRuns(
            needs.agents, needs.sessions, needs.runner, gateway.bus, needs.tasks, clock=gateway.clock, kept=kept
        )
        return [
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
        return await (await self._catalog.get()).models_status()

    def _load_catalog(self) -> Callable[[], CatalogMethods]:
        from hub.agent.methods.catalog import CatalogMethods

        return lambda: CatalogMethods(self._needs.agents, self._needs.models)

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
