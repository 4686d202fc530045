"""The tool that writes to another conversation: sessions_send."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from hub.agent.agents import Agents
from hub.agent.exchanges.exchanges import Correspondent, ExchangeRequest, Exchanges
from hub.agent.exchanges.settings import ExchangeSettings
from hub.agent.run_request import RunStatus
from hub.core.errors import Forbidden, InvalidRequest
from hub.core.schema import All, Length, Optional, Range, Required, Schema, integer, slug, string
from hub.security.people import People
from hub.sessions.keys import main_key
from hub.sessions.privacy import is_private
from hub.tools.contract import Annotations, Tool, ToolCall, ToolResult
from hub.tools.parameters import from_schema
from integrations.tools.sessions.visibility import SessionVisibility

GROUP = "session"
TEXT_LIMIT = 50_000
WAIT_LIMIT_S = 600
SENDS = Annotations(destructive=False, open_world=False, owner_only=True, egress=True)

_SEND = Schema(
    {
        Optional("session_key", description="As sessions_list names it."): All(string, Length(min=1, max=2_048)),
        Optional("agent_id", description="Instead: the main conversation of another agent."): slug,
        Required("message"): All(string, Length(min=1, max=TEXT_LIMIT)),
        Optional("timeout", default=30, description="Seconds to wait for the answer; 0 does not wait."): All(
            integer, Range(min=0, max=WAIT_LIMIT_S)
        ),
    }
)


class SendTool:
    """Writes to other conversations.

    Args:
        exchanges: Runs both sides.
        visibility: Which sessions a call may see.
        agents: The agents.
        people: The people of this home, as configured now.
        settings: Returns the present settings.
    """

    def __init__(
        self,
        exchanges: Exchanges,
        visibility: SessionVisibility,
        agents: Agents,
        *,
        people: Callable[[], People],
        settings: Callable[[], ExchangeSettings],
    ) -> None:
        self._exchanges = exchanges
        self._visibility = visibility
        self._agents = agents
        self._people = people
        self._settings = settings

    def all(self) -> list[Tool]:
        """Return the tool."""
        return [
            Tool(
                "sessions_send",
                "Write to another conversation, of yours or of another agent, and get its answer. Who answers is an "
                "agent, not a person. It may answer back to you later; it may tell the people of that conversation.",
                from_schema(_SEND),
                self._send,
                GROUP,
                SENDS,
                timeout_s=WAIT_LIMIT_S + 10.0,
            )
        ]

    async def _send(self, call: ToolCall) -> ToolResult:
        other, settings = self._other(call), self._settings()
        writer = Correspondent(call.agent_id, call.session_key)
        request = ExchangeRequest(call.arguments["message"], call.context, writer, other, settings.max_turns)
        exchange = self._exchanges.begin(request, settings)
        told: dict[str, Any] = {"run_id": exchange.id, "session_key": other.session_key}
        wait_s = call.arguments["timeout"]
        if not wait_s:
            return ToolResult.of({"status": "accepted", **told})
        try:
            async with asyncio.timeout(wait_s):
                result = await asyncio.shield(exchange.answer)
        except TimeoutError:
            return ToolResult.of({"status": "timeout", **told})
        if result.status is RunStatus.OK:
            return ToolResult.of({"status": "ok", **told, "reply": result.reply}, trusted=not result.tainted)
        why = (result.error or {}).get("message") or result.status.value
        return ToolResult.of({"status": "error", **told, "error": why}, trusted=not result.tainted)

    def _other(self, call: ToolCall) -> Correspondent:
        authority, given = call.context.authority, call.arguments
        if not is_private(call.session_key, authority, self._people()):
            raise Forbidden("only an owner's own conversation writes to others")
        if ("session_key" in given) is ("agent_id" in given):
            raise InvalidRequest("give session_key or agent_id, one of them")
        if "session_key" in given:
            session = self._visibility.get(call, given["session_key"], of_others=True)
            return Correspondent(session.agent_id, session.key)
        agent = self._agents.get(given["agent_id"])
        return Correspondent(agent.id, main_key(agent.id))
