"""The services of automations over real parts: database, runner, outbox, a channel, and a scripted model server."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC
from pathlib import Path
from typing import Any

from hub.automation.heartbeat.heartbeats import HeartbeatDependencies, Heartbeats
from hub.automation.services.addresses import Addresses
from hub.automation.services.agent_run import AgentRunService
from hub.automation.services.agent_runs import AgentRuns
from hub.automation.services.delivery import ResultDelivery
from hub.automation.services.heartbeat import register_heartbeat
from hub.automation.services.messages import Messages
from hub.automation.services.system_event_queue import SystemEvents
from hub.automation.services.system_events import register_system_events
from hub.core.context import SCOPES, Authority, Context
from hub.core.services import ServiceRegistry
from hub.core.states import StateMachine
from hub.messaging.access.access import AccessPolicy, DmPolicy, GroupPolicy, GroupSettings
from integrations.channels.webchat.channel import WebChat
from tests.messaging.post import Pigeons, Post

ACCESS = AccessPolicy(dm=DmPolicy.OPEN, group=GroupPolicy.ALLOWLIST, groups={"family": GroupSettings()})
AUTOMATION = Authority("automation:morning", person="me", scopes=SCOPES, owner=True)
ANNA = Authority("peer:test:user:8", person="anna")


class Desk:
    """What automations work with; can be broken off and stood up again over the same home."""

    def __init__(self, folder: Path, base_url: str, pigeons: Pigeons | None = None) -> None:
        self.post = Post(folder, base_url, pigeons, access=ACCESS)
        house = self.post
        self.pigeons = self.post.pigeons
        self.services = ServiceRegistry(house.bus)
        self.states = StateMachine(house.bus)
        self.addresses = Addresses(house.db, lambda: self.post.people, self.post.channels)
        self.delivery = ResultDelivery(
            house.db, self.post.outbox, house.sessions, house.bus, clock=house.clock, tasks=house.tasks
        )
        self.runs = AgentRuns(
            house.runner, house.sessions, house.db, house.lanes, house.bus, clock=house.clock, tasks=house.tasks
        )
        self.events = SystemEvents(house.db, house.sessions, house.bus, house.clock)
        house.runner.on_begin(self.events.before)
        AgentRunService(self.runs, house.agents, self.addresses, self.delivery).register(self.services)
        self.messages = Messages(
            self.addresses, self.delivery, house.agents, lambda: self.post.people, house.phones_here
        )
        self.messages.register(self.services, house.bus)
        register_system_events(self.services, self.events, house.agents)
        self.heartbeats = Heartbeats(
            HeartbeatDependencies(
                runs=self.runs,
                agents=house.agents,
                workspaces=house.workspaces,
                sessions=house.sessions,
                events=self.events,
                tasks=house.tasks,
                addresses=self.addresses,
                delivery=self.delivery,
                db=house.db,
                states=self.states,
                bus=house.bus,
                clock=house.clock,
                zone=lambda: UTC,
            )
        )
        self.events.look = self.heartbeats.look
        register_heartbeat(self.services, self.heartbeats, house.agents)

    async def open(self) -> None:
        """Stand up as the hub does."""
        await self.post.open()
        await self.post.channels.add(WebChat(self.post.bus.fire), home=True)

    async def close(self) -> None:
        await self.post.close()

    def write_checks(self, text: str) -> None:
        """Write the default agent's HEARTBEAT.md."""
        self.post.workspaces.ensure("main")
        (self.post.agents.get("main").workspace / "HEARTBEAT.md").write_text(text, encoding="utf-8")

    async def call(
        self,
        service: str,
        data: Mapping[str, Any] | None = None,
        *,
        key: str | None = None,
        authority: Authority = AUTOMATION,
        context: Context | None = None,
    ) -> dict[str, Any]:
        """Call a service as an automation does and return its response."""
        domain, _, name = service.partition(".")
        answer = await self.services.call(
            domain,
            name,
            data or {},
            context=context or Context(authority),
            wants_response=True,
            idempotency_key=key,
        )
        return dict(answer or {})

    def said(self, session_key: str = "agent:main:main") -> list[tuple[str, str]]:
        """Return role and text of every message of a conversation, as it stands on the disk."""
        return self.post.transcript(session_key)
