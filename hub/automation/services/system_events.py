"""The service `agent.system_event`: give an agent a fact to see at its next look."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hub.agent.agents import Agents
from hub.automation.services.system_event_queue import TEXT_LIMIT, SystemEvents
from hub.core.errors import Forbidden, InvalidRequest
from hub.core.events import Unsubscribe
from hub.core.schema import All, In, Length, Optional, Required, Schema, slug, string
from hub.core.services import ResponseMode, ServiceCall, ServiceRegistry
from hub.sessions.keys import SessionKey, SessionKind, main_key

NOW = "now"
NEXT = "next_heartbeat"

SYSTEM_EVENT_SCHEMA = Schema(
    {
        Required("text", description="What happened."): All(string, Length(min=1, max=TEXT_LIMIT)),
        Optional("agent", description="The agent it is for; the default agent if omitted."): slug,
        Optional("session", default="main", description="main, or the key of a session."): All(
            string, Length(min=1, max=2048)
        ),
        Optional("mode", default=NEXT, description="now: the agent looks at once; next_heartbeat: when it does."): In(
            (NOW, NEXT)
        ),
    }
)


def register_system_events(services: ServiceRegistry, events: SystemEvents, agents: Agents) -> Unsubscribe:
    """Register `agent.system_event`; its response has `event_id` and `session_key`.

    Returns:
        A function that removes it.
    """

    async def add(call: ServiceCall) -> Mapping[str, Any]:
        data = call.data
        agent_id = agents.get(data["agent"]).id if "agent" in data else agents.default().id
        session = data["session"]
        key = SessionKey.parse(main_key(agent_id) if session == "main" else session, default_agent=agent_id)
        if key.agent != agent_id:
            raise InvalidRequest(f"session: {session[:100]} is not a conversation of the agent {agent_id}")
        if key.kind is SessionKind.MAIN and not call.context.authority.owner:
            raise Forbidden("session: the main conversation is the owner's")
        event_id = await events.add(
            agent_id, str(key), data["text"], call.context, key=call.idempotency_key, wake=data["mode"] == NOW
        )
        return {"event_id": event_id, "session_key": str(key)}

    return services.register(
        "agent",
        "system_event",
        add,
        SYSTEM_EVENT_SCHEMA,
        ResponseMode.OPTIONAL,
        description="Leave an agent a note that it sees in its next run",
        idempotent=True,
    )
