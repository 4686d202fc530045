"""The services `agent.heartbeat` and `agent.heartbeat_due`: run an agent's checks, and whether any are due."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hub.agent.agents import Agents
from hub.automation.heartbeat.heartbeats import CHECKS_DEFAULT, Heartbeats, HeartbeatSettings
from hub.automation.services.addresses import TARGET
from hub.automation.services.agent_runs import run_recorder
from hub.core.errors import Forbidden
from hub.core.events import Unsubscribe
from hub.core.schema import (
    All,
    In,
    Length,
    Optional,
    Range,
    Schema,
    boolean,
    integer,
    positive_seconds,
    slug,
    string,
)
from hub.core.services import ResponseMode, ServiceCall, ServiceRegistry
from hub.messaging.outbox.ack import ACK_LIMIT

HEARTBEAT_SCHEMA = Schema(
    {
        Optional("agent", description="The agent; the default agent if omitted."): slug,
        Optional("target", default="last", description="Where an alert goes: last, none, or channel and to."): TARGET,
        Optional("session", default="isolated", description="isolated, or main: in the main conversation."): In(
            ("isolated", "main")
        ),
        Optional("model", description="Instead of the agent's own; empty means the agent's own."): All(
            string, Length(max=200)
        ),
        Optional("prompt", description="Replaces the usual beginning of its prompt."): All(
            string, Length(min=1, max=8_000)
        ),
        Optional(
            "ack_max_chars", default=ACK_LIMIT, description="Characters around HEARTBEAT_OK that are ignored."
        ): All(integer, Range(min=0, max=10_000)),
        Optional("checks", default=CHECKS_DEFAULT, description="Maximum number of checks per heartbeat."): All(
            integer, Range(min=1, max=50)
        ),
        Optional("timeout", description="Timeout."): positive_seconds,
    }
)
DUE_SCHEMA = Schema(
    {
        Optional("agent", description="The agent; the default agent if omitted."): slug,
        Optional("skip_unchanged", default=True, description="Skip when nothing changed since the last check."): (
            boolean
        ),
    }
)


def register_heartbeat(services: ServiceRegistry, heartbeats: Heartbeats, agents: Agents) -> Unsubscribe:
    """Register the services; see `Heartbeats.beat` and `Heartbeats.due` for their responses.

    Returns:
        A function that removes them.
    """

    def agent_of(call: ServiceCall) -> str:
        return agents.get(call.data["agent"]).id if "agent" in call.data else agents.default().id

    async def beat(call: ServiceCall) -> Mapping[str, Any]:
        data = call.data
        wanted = HeartbeatSettings(
            agent_of(call),
            data["target"],
            data["session"] == "main",
            data.get("model") or None,
            data.get("timeout"),
            data.get("prompt"),
            data["ack_max_chars"],
            data["checks"],
            call.quoted,
        )
        if not call.context.authority.owner:
            raise Forbidden("agent.heartbeat: only the owner may run an agent's heartbeat")
        answer = await heartbeats.beat(wanted, call.context, key=call.idempotency_key, began=run_recorder(call))
        if answer.get("tainted"):
            call.taint()
        return {key: value for key, value in answer.items() if key != "tainted"}

    async def due(call: ServiceCall) -> Mapping[str, Any]:
        found = await heartbeats.due(agent_of(call), skip_unchanged=call.data["skip_unchanged"])
        return {"due": found.holds, "reason": found.reason}

    removers = [
        services.register(
            "agent",
            "heartbeat",
            beat,
            HEARTBEAT_SCHEMA,
            ResponseMode.OPTIONAL,
            description="Let an agent go through its HEARTBEAT.md and report what needs attention",
            idempotent=True,
            told=("prompt",),
        ),
        services.register(
            "agent",
            "heartbeat_due",
            due,
            DUE_SCHEMA,
            ResponseMode.ONLY,
            description="Return whether an agent has something to look after",
        ),
    ]

    def remove() -> None:
        for each in removers:
            each()

    return remove
