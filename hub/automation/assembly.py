"""Builds the engine: automations, scripts, their services, traces and blueprints, out of what the hub hands it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import tzinfo
from typing import Any

from hub.agent.agents import Agents
from hub.agent.runner import AgentRunner
from hub.agent.workspace import Workspaces
from hub.config.checked import Config
from hub.config.store import ConfigStore
from hub.core.clock import Clock
from hub.core.events import EventBus
from hub.core.lanes import Lanes
from hub.core.repairs import Repairs
from hub.core.services import ServiceRegistry
from hub.core.states import StateMachine
from hub.core.tasks import TaskOwner
from hub.memory.registry import MemoryRegistry
from hub.messaging.channels import ChannelRegistry
from hub.messaging.outbox import Outbox
from hub.models.registry import ModelRegistry
from hub.security.egress import Egress
from hub.security.people import People
from hub.security.redaction import Redactor
from hub.sessions.store import SessionStore
from hub.storage.database import Database
from hub.storage.history import History
from hub.storage.homedir import Home
from hub.tools.approvals import Approvals
from hub.tools.registry import ToolRegistry


@dataclass(frozen=True, slots=True)
class Needs:
    """What the engine is built from.

    Attributes:
        people, zone, language: As configured now.
        reload: Reads the configuration again and puts it into force.
        restart: Ends this hub and begins a new one.
        stop: Ends the process.
    """

    home: Home
    bus: EventBus
    states: StateMachine
    services: ServiceRegistry
    clock: Clock
    repairs: Repairs
    lanes: Lanes
    db: Database
    history: History
    config: ConfigStore
    redactor: Redactor
    models: ModelRegistry
    tools: ToolRegistry
    memory: MemoryRegistry
    sessions: SessionStore
    agents: Agents
    workspaces: Workspaces
    runner: AgentRunner
    channels: ChannelRegistry
    outbox: Outbox
    approvals: Approvals
    egress: Egress
    people: Callable[[], People]
    zone: Callable[[], tzinfo]
    language: Callable[[], str]
    reload: Callable[[], Awaitable[Any]]
    restart: Callable[[], None]
    stop: Callable[[], None]
