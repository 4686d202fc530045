"""The tool of sessions: session_status."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from hub import __version__
from hub.agent.agents import Agents
from hub.core.clock import Clock
from hub.core.errors import HubError
from hub.models.registry import ModelRegistry
from hub.sessions.store import SessionStore
from hub.tools.contract import READS_HOME, Tool, ToolCall, ToolResult
from hub.tools.parameters import from_schema

GROUP = "session"


class SessionTools:
    """The tools over the session that calls.

    Args:
        sessions: The sessions.
        agents: The agents.
        models: The models.
        clock: The clock.
        zone: The time zone of this home.
    """

    def __init__(
        self,
        sessions: SessionStore,
        agents: Agents,
        models: ModelRegistry,
        clock: Clock,
        zone: Callable[[], ZoneInfo],
    ) -> None:
        self._sessions = sessions
        self._agents = agents
        self._models = models
        self._clock = clock
        self._zone = zone

    def all(self) -> list[Tool]:
        """Return the tools."""
        return [
            Tool(
                "session_status",
                "Tell the time and date here, this conversation's model, and the tokens and cost it has used.",
                from_schema({}),
                self._status,
                GROUP,
                READS_HOME,
            )
        ]

    async def _status(self, call: ToolCall) -> ToolResult:
        zone = self._zone()
        now = datetime.fromtimestamp(self._clock.time(), zone)
        session = self._sessions.get(call.session_key)
        agent = self._agents.get(call.agent_id)
        status: dict[str, Any] = {
            "time": now.isoformat(timespec="seconds"),
            "weekday": f"{now:%A}",
            "time_zone": zone.key,
            "agent": {"id": agent.id, "name": agent.name},
            "session_key": call.session_key,
            **await self._model((session.model if session else None) or agent.model),
        }
        if session is not None:
            begun = datetime.fromtimestamp(session.created_ms / 1_000, zone)
            status |= {
                "begun": begun.isoformat(timespec="seconds"),
                "turns": session.turns,
                "usage": session.usage.as_dict(),
                "context_tokens": session.context_tokens,
                "words_from_outside": session.tainted,
            }
        status["version"] = __version__
        return ToolResult.of(status)

    async def _model(self, ref: str | None) -> dict[str, Any]:
        try:
            resolved = await self._models.resolve(ref)
        except HubError as error:
            return {"model": None, "model_error": error.message}
        return {"model": resolved.ref, "context_window": resolved.info.context_window}
