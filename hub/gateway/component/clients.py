"""The HTTP APIs that programs use, and the facts of `status`."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from hub.agent.component.agents import AgentsComponent
from hub.agent.subagents.subagents import Subagents
from hub.core.component import Component
from hub.core.context import Authority
from hub.core.errors import HubError
from hub.core.first_use import FirstUse
from hub.core.ids import new_id
from hub.core.phrases import phrase
from hub.core.surfaces import READ, Method, MethodCall, MethodGroups, Push, Route, RouteGroups
from hub.foundation import Foundation
from hub.gateway.calls.method_table import NODE
from hub.gateway.connection.connection import Connection
from hub.gateway.connection.server import Gateway
from hub.gateway.methods.hub_state import HubFacts
from hub.memory.component import MemoryComponent
from hub.messaging.component.messaging import MessagingComponent
from hub.messaging.contract import ChannelState
from hub.models.registry import ModelRegistry
from hub.nodes.registry import NodeRegistry
from hub.sessions.keys import main_key
from hub.sessions.store import SessionStore
from hub.storage.database import Database
from hub.tools.approvals import Approvals

if TYPE_CHECKING:
    from hub.agent.methods.catalog import CatalogMethods
    from hub.gateway.http_api.metrics import Metrics
    from hub.voice.methods.talk_sessions import TalkSessions
    from hub.voice.methods.talks import Talks
    from hub.voice.talk import Put, Talk, TalkParts
    from hub.voice.talk_engines import TalkEngines
    from hub.voice.turn_log import TurnLog
    from hub.voice.voice_wake import VoiceWake
    from hub.voice.wake import SoundStream

_log = logging.getLogger(__name__)


class ClientDependencies(Struct, frozen=True):
    """The dependencies of the routes, the metrics and the facts."""

    base: Foundation
    gateway: Gateway
    db: Database
    sessions: SessionStore
    models: ModelRegistry
    approvals: Approvals
    agents: AgentsComponent
    nodes: NodeRegistry
    memory: MemoryComponent
    messaging: MessagingComponent
    subagents: Subagents
    turns: Callable[[], TurnLog]
    judge: Callable[[str, Callable[[float], None]], SoundStream | None]


class ClientsComponent(Component):
    """The routes of OpenAI's API, what clients call when they start, and the facts of `status`."""

    name = "clients"

    def __init__(self, needs: ClientDependencies) -> None:
        self._needs = needs
        self._agents, self._outbox = needs.agents.agents, needs.messaging.outbox
        self._catalog = FirstUse("the catalog of models", self._load_catalog)
        self._node_connections: set[str] = set()
        self._open_talks: TalkSessions | None = None
        needs.gateway.broadcast.on_client(self._joined)
        self.metrics: FirstUse[Metrics] = FirstUse("the metrics", self._load_metrics)

    def methods(self) -> MethodGroups:
        """Return the methods that clients call when they start, and about talking, and the schema of all."""
        return {"clients": self._start_methods, "talk": self._talk_methods, "talks": self._open_methods}

    def _talk_methods(self) -> Iterable[Method]:
        from hub.voice.methods.talk import TalkMethods
        from hub.voice.methods.voice_wake import VoiceWakeMethods

        needs, base = self._needs, self._needs.base
        push = needs.gateway.push
        return [
            *TalkMethods(
                needs.models, needs.messaging.transcriber, base.language, base.clock, push, speech=self._speech
            ).methods(),
            *self._talk_sessions().methods(),
            *VoiceWakeMethods(self._voice_wake(), self._agents, base.clock, self._tell_all).methods(),
        ]

    def _voice_wake(self) -> VoiceWake:
        from hub.voice.voice_wake import FILE, VoiceWake  # only clients of OpenClaw ask

        home = self._needs.base.home
        return VoiceWake(home.storage / FILE, home.documents)

    def _joined(self, connection: Connection, joined: bool) -> None:
        """Tell a node that comes which words are to wake it; end the talks of a client that leaves."""
        if not joined and self._open_talks is not None:
            self._open_talks.left(connection.id)
        if connection.client.role != NODE:
            return
        if not joined:
            self._node_connections.discard(connection.id)
            return
        self._node_connections.add(connection.id)
        self._needs.base.tasks.spawn(self._tell_words(connection.id), name="tell a node the wake words")

    async def _tell_words(self, connection_id: str) -> None:
        try:
            words = self._voice_wake()
            told = (
                ("voicewake.changed", {"triggers": await words.triggers()}),
                ("voicewake.routing.changed", {"config": await words.routing()}),
            )
        except HubError as error:
            _log.warning("nodes are not told the wake words: %s", error)
            return
        for event, payload in told:
            self._needs.gateway.push(Push(event, payload, scope=None, connection_ids=frozenset({connection_id})))

    def _tell_all(self, event: str, payload: Mapping[str, Any]) -> None:
        self._needs.gateway.push(Push(event, payload, scope=READ))
        nodes = frozenset(self._node_connections)
        self._needs.gateway.push(Push(event, payload, scope=None, connection_ids=nodes))

    def _start_methods(self) -> Iterable[Method]:
        from hub.gateway.methods.client_start import StartMethods
        from hub.gateway.methods.protocol_schema import schema_method

        needs = self._needs
        return [
            *StartMethods(needs.subagents, needs.base.redactor).methods(),
            schema_method(needs.gateway.methods),
        ]

    def routes(self) -> RouteGroups:
        """Return the routes of the APIs of OpenAI, Anthropic and Ollama, of Prometheus, and of talks."""
        return {"clients": self._load_routes, "metrics": self._metric_routes, "talks": self._talk_routes}

    def _open_methods(self) -> Iterable[Method]:
        return self._talks.methods()

    def _talk_routes(self) -> Iterable[Route]:
        return self._talks.routes()

    def _speech(self) -> Mapping[str, Any]:
        return self._needs.base.config.current.raw.get("speech") or {}

    @cached_property
    def _talk_engines(self) -> TalkEngines:
        from hub.voice.contract import SatelliteInfo
        from hub.voice.engines import VoiceEngines
        from hub.voice.settings import VoiceSettings
        from hub.voice.talk_engines import TalkEngines

        needs = self._needs
        router = needs.messaging.router
        return TalkEngines(
            VoiceEngines(needs.models, needs.base.clock, lambda: router.settings.transcription_model, self._speech),
            settings=lambda person: VoiceSettings.from_config(needs.base.config.current.raw.get("voice") or {}).of(
                SatelliteInfo("talk", "", "", person=person)
            ),
            language_of=lambda person: self._language_of(person) or needs.base.language(),
            judge=needs.judge,
        )

    @cached_property
    def _talk_parts(self) -> TalkParts:
        from hub.voice.talk import TalkParts

        needs, messaging, engines = self._needs, self._needs.messaging, self._talk_engines
        runner, bus, tasks = needs.agents.runner, needs.base.bus, needs.base.tasks

        async def prepare(authority: Authority) -> None:
            await engines.prepare(authority)
            await needs.models.prepare(None, self._language_of(authority.person) or needs.base.language())

        return TalkParts(
            bus,
            tasks,
            messaging.inbox.receive,
            lambda key: runner.abort(session_key=key, waiting=False),
            engines.listen,
            engines.judge,
            engines.sound_of,
            lambda: messaging.outbox.channels.home,
            prepare,
            needs.turns(),
        )

    @cached_property
    def _talks(self) -> Talks:
        from hub.voice.methods.talks import Talks

        base, engines = self._needs.base, self._talk_engines
        return Talks(
            self._talk_parts,
            self._agents,
            base.clock,
            all_valid=self._needs.gateway.authenticator.all_valid,
            hears=engines.hears,
            speaks=engines.speaks,
        )

    def _talk_sessions(self) -> TalkSessions:
        from hub.voice.methods.talk_sessions import TalkSessions
        from hub.voice.talk import Talk

        needs, base, engines = self._needs, self._needs.base, self._talk_engines
        dispatcher = needs.gateway.dispatcher

        def begin(key: str, authority: Authority, put: Put) -> Talk:
            return Talk(key, authority, self._talk_parts, put, place=phrase("an app"))

        async def steer(call: MethodCall, key: str, mode: str) -> None:
            sent = {"sessionKey": key, "message": call.params["text"], "idempotencyKey": new_id(), "queueMode": mode}
            await dispatcher.run(*dispatcher.prepare("chat.send", sent, call.caller))

        self._open_talks = TalkSessions(
            begin,
            self._agents,
            base.clock,
            base.tasks,
            engines=engines,
            steer=steer,
            push=needs.gateway.push,
        )
        return self._open_talks

    def _metric_routes(self) -> Iterable[Route]:
        from hub.gateway.http_api.metrics import metric_routes

        return metric_routes(self.metrics)

    async def metrics_text(self) -> str:
        """Return the metrics as Prometheus reads them."""
        return await (await self.metrics.get()).text()

    def _load_metrics(self) -> Callable[[], Metrics]:
        from hub.gateway.http_api.metrics import Metrics, MetricSources

        needs = self._needs
        base = needs.base
        return lambda: Metrics(
            MetricSources(
                home=base.home,
                clock=base.clock,
                bus=base.bus,
                tasks=base.tasks,
                repairs=base.repairs,
                gateway=needs.gateway,
                db=needs.db,
                channels=self._outbox.channels,
                runner=needs.agents.runner,
                approvals=needs.approvals,
                nodes=needs.nodes,
                states=base.states,
            )
        )

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

        needs, base, agents = self._needs, self._needs.base, self._agents
        kept = KeptRuns(needs.db, base.clock)
        runs = ApiRuns(agents, needs.sessions, needs.agents.runner, base.bus, base.tasks, clock=base.clock, kept=kept)
        return [
            chat_completions(runs),
            *Responses(runs).routes(),
            anthropic_messages(runs),
            *Transcriptions(needs.messaging.transcriber).routes(),
            *Embeddings(agents, lambda: needs.memory.memory.embed).routes(),
            *OllamaApi(agents, runs).routes(),
            *Models(agents, int(base.clock.time())).routes(),
        ]

    def _language_of(self, person: str | None) -> str | None:
        known = self._needs.gateway.authenticator.people.by_id(person or "")
        return known.language if known is not None else None

    def facts(self, integrations: Callable[[], list[dict[str, Any]]]) -> HubFacts:
        """Return the facts of `status`.

        Args:
            integrations: Returns the states of integrations as plain data.
        """
        needs = self._needs
        return HubFacts(
            integrations=integrations,
            agents=lambda: [agent.as_dict() for agent in self._agents.all()],
            models=self._models_status,
            sessions=lambda: {"count": len(needs.sessions.list())},
            session_defaults=self._session_defaults,
            health=self._health,
            waiting=self._waiting,
            database=needs.db.status,
        )

    async def _models_status(self) -> dict[str, Any]:
        return await (await self._catalog.get()).models_status()

    def _load_catalog(self) -> Callable[[], CatalogMethods]:
        from hub.agent.methods.catalog import CatalogMethods

        return lambda: CatalogMethods(self._agents, self._needs.models)

    async def _waiting(self) -> list[dict[str, Any]]:
        return [each.as_dict() for each in await self._outbox.waiting()]

    def _session_defaults(self) -> dict[str, Any]:
        agent = self._agents.default().id
        return {"defaultAgentId": agent, "mainKey": "main", "mainSessionKey": main_key(agent), "scope": "per-sender"}

    def _health(self) -> dict[str, Any]:
        needs = self._needs
        channels: dict[str, dict[str, Any]] = {}
        registry = self._outbox.channels
        for each in (one for one in registry.all() if not registry.is_home(one.channel.name)):
            connected = each.status.state is ChannelState.CONNECTED
            known = channels.setdefault(each.channel.name, {"configured": True, "linked": False, "accounts": {}})
            known["linked"] |= connected
            known["accounts"][each.channel.account] = {"configured": True, "linked": connected}
        return {
            "channels": channels,
            "channelOrder": list(channels),
            "channelLabels": {name: name for name in channels},
            "defaultAgentId": self._agents.default().id,
            "sessions": {"path": needs.db.place, "count": len(needs.sessions.list()), "recent": []},
        }
