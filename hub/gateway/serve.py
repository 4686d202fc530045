"""What the gateway serves: its methods and HTTP routes, put into its tables beside those of the other components."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from msgspec import Struct

from hub.agent.agents import Agents
from hub.agent.runner import AgentRunner
from hub.config.store import ConfigStore
from hub.core.lanes import Lanes
from hub.core.repairs import Repairs
from hub.core.tasks import TaskOwner
from hub.gateway.calls.contract import Method, Route
from hub.gateway.connection.server import Gateway
from hub.gateway.http_api.chat_completions import ChatCompletions
from hub.gateway.http_api.models import Models
from hub.gateway.http_api.responses import Responses
from hub.gateway.http_api.rpc import rpc_routes
from hub.gateway.http_api.runs import ApiRuns
from hub.gateway.http_api.sign_in import SignIn
from hub.gateway.log_tail import LogTail
from hub.gateway.methods.agent_runs import AgentMethods
from hub.gateway.methods.catalog import CatalogMethods
from hub.gateway.methods.chat import ChatMethods
from hub.gateway.methods.config import ConfigMethods
from hub.gateway.methods.devices import DeviceMethods
from hub.gateway.methods.hub_state import HubFacts, HubState
from hub.gateway.methods.sessions import SessionMethods
from hub.gateway.methods.tokens import TokenMethods
from hub.gateway.push.approval_events import ApprovalEvents
from hub.gateway.push.automation_events import AutomationEvents
from hub.gateway.push.events import HubEvents, RunEvents
from hub.gateway.push.schedule_events import ScheduleEvents
from hub.messaging.inbox import Inbox
from hub.messaging.outbox import Outbox
from hub.models.registry import ModelRegistry
from hub.security.login_codes import LoginCodes
from hub.security.redaction import Redactor
from hub.security.tokens import TokenStore
from hub.security.web_sessions import WebSessions
from hub.sessions.keys import main_key
from hub.sessions.store import SessionStore
from hub.storage.database import Database
from hub.tools.approvals import Approvals
from hub.tools.registry import ToolRegistry


class CoreServices(Struct, frozen=True):
    """What there is in recovery mode too.

    Attributes:
        integrations: Returns the states of integrations as plain data.
        log: The latest log lines, when they are kept.
    """

    db: Database
    config: ConfigStore
    repairs: Repairs
    tokens: TokenStore
    web_sessions: WebSessions
    codes: LoginCodes
    redactor: Redactor
    tasks: TaskOwner
    integrations: Callable[[], list[dict[str, Any]]]
    log: LogTail | None = None


class HubServices(Struct, frozen=True):
    """What there is only when the configuration is good: the agents and all around them."""

    agents: Agents
    sessions: SessionStore
    models: ModelRegistry
    tools: ToolRegistry
    runner: AgentRunner
    inbox: Inbox
    outbox: Outbox
    lanes: Lanes
    approvals: Approvals


class Served(Struct, frozen=True):
    """What the roof and the dashboard may use of what is served.

    Attributes:
        state: Health, status and sign-in links.
        sign_in: The handlers of `/api/login` and `/api/logout`.
        close: Takes everything out of the tables again.
    """

    state: HubState
    sign_in: SignIn
    close: Callable[[], None]


def serve(
    gateway: Gateway,
    ground: CoreServices,
    house: HubServices | None,
    *,
    methods: Iterable[Method] = (),
    routes: Iterable[Route] = (),
) -> Served:
    """Put methods and routes into the gateway's tables; without a house, those of recovery mode.

    `gateway.attach` comes before, `gateway.open` after.

    Args:
        methods, routes: Those of other parts, served as well.
    """
    redactor = ground.redactor
    gateway.broadcast.redact = redactor.redact_data
    catalog = CatalogMethods(house.agents, house.models, house.tools) if house is not None else None
    state = HubState(gateway, ground.repairs, ground.codes, ground.log, _facts(ground, house, catalog))
    sign_in = SignIn(gateway.ingress, gateway.authenticator, ground.codes, ground.web_sessions)
    methods = [
        *methods,
        *state.methods(),
        *ConfigMethods(ground.config, redactor).methods(),
        *TokenMethods(ground.tokens, gateway.authenticator, gateway.clock.time).methods(),
    ]
    if gateway.devices is not None:
        methods += DeviceMethods(gateway.devices, gateway.authenticator).methods()
    routes = [*routes, *rpc_routes(gateway.dispatcher), *sign_in.routes()]
    closers: list[Callable[[], None]] = [HubEvents(gateway.bus, gateway.broadcast, gateway.clock, state.health).close]
    if house is not None and catalog is not None:
        events = RunEvents(gateway.bus, gateway.broadcast, gateway.clock)
        events.start()
        closers.append(events.stop)
        approvals = house.approvals
        closers.append(ApprovalEvents(gateway.bus, gateway.broadcast, gateway.clock, approvals).close)
        methods += [*catalog.methods(), *_conversation(gateway, ground, house, events)]
        routes += _openai(gateway, ground, house)
        closers.append(AutomationEvents(gateway.bus, gateway.broadcast, gateway.clock).close)
        closers.append(ScheduleEvents(gateway.bus, gateway.broadcast, gateway.clock, events.chat_final).close)
    gateway.welcomer.attach(
        state.health,
        state.facts.session_defaults,
        {
            "configPath": str(ground.config.home / "configuration.yaml"),
            "stateDir": str(ground.config.home),
            "authMode": gateway.settings.mode.value,
        },
    )
    closers += _fill(gateway, methods, routes)

    def close() -> None:
        for closer in closers:
            closer()

    return Served(state, sign_in, close)


def _fill(gateway: Gateway, methods: Iterable[Method], routes: Iterable[Route]) -> list[Callable[[], None]]:
    return [
        *(gateway.methods.add(method) for method in methods),
        *(gateway.routes.add(route) for route in routes),
    ]


def _conversation(gateway: Gateway, ground: CoreServices, house: HubServices, events: RunEvents) -> list[Method]:
    sessions = SessionMethods(
        gateway,
        sessions=house.sessions,
        agents=house.agents,
        models=house.models,
        runner=house.runner,
        channels=house.outbox.channels,
    )
    chat = ChatMethods(
        keys=sessions,
        sessions=house.sessions,
        inbox=house.inbox,
        runner=house.runner,
        lanes=house.lanes,
        events=events,
        clock=gateway.clock,
        channels=house.outbox.channels,
    )
    agent = AgentMethods(
        sessions,
        house.sessions,
        house.agents,
        house.runner,
        house.outbox,
        ground.db,
        gateway.clock,
        ground.tasks,
    )
    return [*sessions.methods(), *chat.methods(), *agent.methods()]


def _openai(gateway: Gateway, ground: CoreServices, house: HubServices) -> list[Route]:
    runs = ApiRuns(house.agents, house.sessions, house.runner, gateway.bus, ground.tasks)
    return [
        *ChatCompletions(runs).routes(),
        *Responses(runs, ground.db).routes(),
        *Models(house.agents, int(gateway.clock.time())).routes(),
    ]


def _facts(ground: CoreServices, house: HubServices | None, catalog: CatalogMethods | None) -> HubFacts:
    if house is None or catalog is None:
        return HubFacts(ground.integrations, list, lambda: {"default": None}, lambda: {"count": 0}, dict)

    def session_defaults() -> dict[str, Any]:
        agent = house.agents.default().id
        return {"defaultAgentId": agent, "mainKey": "main", "mainSessionKey": main_key(agent), "scope": "per-sender"}

    return HubFacts(
        integrations=ground.integrations,
        agents=lambda: [agent.as_dict() for agent in house.agents.all()],
        models=catalog.models_status,
        sessions=lambda: {"count": len(house.sessions.list())},
        session_defaults=session_defaults,
    )
