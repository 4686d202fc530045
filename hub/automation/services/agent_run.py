"""The service `agent.run`: sends a message to an agent; the answer may go to a conversation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hub.agent.agents import Agents
from hub.agent.run_request import RunResult, RunStatus
from hub.automation.services.addresses import TARGET, Addresses
from hub.automation.services.agent_runs import (
    AgentRuns,
    RequestedRun,
    response_data,
    run_id_of,
    run_recorder,
)
from hub.automation.services.delivery import ResultDelivery
from hub.core.context import Authority
from hub.core.errors import Forbidden, InvalidRequest
from hub.core.events import Unsubscribe
from hub.core.schema import (
    All,
    AnyOf,
    In,
    Length,
    Optional,
    Required,
    Schema,
    boolean,
    ensure_list,
    positive_seconds,
    slug,
    string,
)
from hub.core.services import ResponseMode, ServiceCall, ServiceRegistry
from hub.core.sql import SqlConnection
from hub.messaging.outbox.ack import is_silent
from hub.models.thinking import LEVELS
from hub.sessions.keys import SessionKey, SessionKind, main_key
from hub.tools.policy import policies_from_config
from hub.tools.profiles import PROFILES
from hub.tools.schema import POLICY_KEYS

TEXT_LIMIT = 200_000
MAIN = "main"
ISOLATED = "isolated"

_TOOL = All(string, Length(min=1, max=80))

AGENT_RUN_SCHEMA = Schema(
    {
        Required("message", description="The message to the agent."): All(string, Length(min=1, max=TEXT_LIMIT)),
        Optional("agent", description="The agent that answers; the default agent if omitted."): slug,
        Optional(
            "session",
            default=ISOLATED,
            description="isolated: a new conversation each time; main; or the key of a session.",
        ): All(string, Length(min=1, max=2048)),
        Optional("name", description="Name of the separate conversation; the automation if omitted."): All(
            string, Length(min=1, max=128)
        ),
        Optional("model", description="Instead of the agent's own."): All(string, Length(min=1, max=200)),
        Optional("thinking", description="Thinking level."): In(LEVELS),
        Optional("tools", description="Only these tools: a profile, a list of names, or profile, allow and deny."): (
            AnyOf(In(sorted(PROFILES)), [_TOOL], Schema(dict(POLICY_KEYS)))
        ),
        Optional("announce", default="none", description="Where the answer goes: none, last, or channel and to."): (
            TARGET
        ),
        Optional("silent", default=True, description="Whether NO_REPLY and HEARTBEAT_OK are suppressed."): boolean,
        Optional("silent_unless", description="Announce only an answer that contains one of these words."): ensure_list(
            All(string, Length(min=1, max=500))
        ),
        Optional("timeout", description="Timeout."): positive_seconds,
        Optional("spoken", default=False, description="Whether it was spoken in a room."): boolean,
        Optional("area", description="The name of the room that it is about where no other is named."): All(
            string, Length(min=1, max=128)
        ),
    }
)


SPOKEN = "voice"
"""The channel of what is spoken in a room."""


class AgentRunService:
    """Handles `agent.run`.

    Args:
        runs: Asks the runner.
        agents: The agents.
        addresses: Finds where `announce` means.
        delivery: Sends the answer.
    """

    def __init__(self, runs: AgentRuns, agents: Agents, addresses: Addresses, delivery: ResultDelivery) -> None:
        self._runs = runs
        self._agents = agents
        self._addresses = addresses
        self._delivery = delivery

    def register(self, services: ServiceRegistry) -> Unsubscribe:
        """Register the service; returns what removes it.

        Its response: `reply`, `run_id`, `session_key`, `status` (ok, or queued when it waits for the conversation that
        asked for it), `announced`, `usage`, `cost_usd`, `model`.
        """
        return services.register(
            "agent",
            "run",
            self._run,
            AGENT_RUN_SCHEMA,
            ResponseMode.OPTIONAL,
            description="Send an agent a message and forward its answer",
            idempotent=True,
            told=("message",),
        )

    async def _run(self, call: ServiceCall) -> Mapping[str, Any]:
        data = call.data
        agent_id = self._agents.get(data["agent"]).id if "agent" in data else self._agents.default().id
        authority = narrow_tools(call.context.authority, data.get("tools"))
        context = call.context.child(authority)
        session_key = _session_key(data["session"], agent_id, authority)
        place = await self._addresses.target(data["announce"], agent_id=agent_id, session_key=session_key)

        def on_final(connection: SqlConnection, result: RunResult) -> None:
            if place is not None and result.status is RunStatus.OK and _is_told(result.reply, data):
                self._delivery.insert(connection, place, result.reply, context, run_id=result.run_id)

        def after(result: RunResult) -> None:
            if place is not None and result.status is RunStatus.OK and _is_told(result.reply, data):
                came_with = context.tainted() if result.tainted else context
                self._delivery.sent(place, result.reply, came_with, result.run_id)

        result = await self._runs.run(
            RequestedRun(
                agent_id,
                data["message"],
                context,
                session_key,
                name=data.get("name") or _automation_of(call.context.authority) or "automation",
                key=call.idempotency_key,
                model=data.get("model"),
                thinking=data.get("thinking"),
                timeout_s=data.get("timeout"),
                began=run_recorder(call),
                on_final=on_final if place is not None else None,
                after=after,
                quoted=call.quoted,
                channel=SPOKEN if data["spoken"] else "automation",
                area=data.get("area"),
            )
        )
        if result is None:
            return {"reply": "", "run_id": run_id_of(call.idempotency_key), "session_key": session_key} | {
                "status": "queued",
                "announced": False,
            }
        if result.tainted:
            call.taint()
        if result.status is not RunStatus.OK:
            raise await self._runs.error_of(result)
        return {**response_data(result), "announced": place is not None and _is_told(result.reply, data)}


def narrow_tools(authority: Authority, tools: Any) -> Authority:
    """Return an authority with at most these tools; nothing here can widen it."""
    if tools is None:
        return authority
    if isinstance(tools, str):
        tools = {"profile": tools}
    elif isinstance(tools, list):
        tools = {"allow": tools}
    for policy in policies_from_config(tools, "agent.run tools"):
        authority = authority.narrow(policy=policy)
    return authority


def _session_key(session: str, agent_id: str, authority: Authority) -> str | None:
    """Return the requested conversation; None for a new one.

    Raises:
        InvalidRequest: It is not a session key, or one of another agent.
        Forbidden: It is the owner's own conversation, and this is not done for the owner.
    """
    if session == ISOLATED:
        return None
    key = SessionKey.parse(main_key(agent_id) if session == MAIN else session, default_agent=agent_id)
    if key.agent != agent_id:
        raise InvalidRequest(f"session: {session[:100]} is not a conversation of the agent {agent_id}")
    if key.kind is SessionKind.MAIN and not authority.owner:
        raise Forbidden("session: the main conversation is the owner's")
    return str(key)


def _automation_of(authority: Authority) -> str | None:
    kind, _, id = authority.principal.partition(":")
    return id if kind == "automation" and id else None


def _is_told(reply: str, data: Mapping[str, Any]) -> bool:
    if not reply.strip() or (data["silent"] and is_silent(reply)):
        return False
    wanted = data.get("silent_unless")
    return not wanted or any(word.casefold() in reply.casefold() for word in wanted)
