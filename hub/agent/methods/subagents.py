"""`subagents.*`: background tasks, running and ended. For owners, who see those of their own conversations."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from hub.agent.subagents.record import Subagent
from hub.agent.subagents.subagents import Subagents
from hub.core.errors import NotFound
from hub.core.schema import All, Length, Required, Schema
from hub.core.surfaces import ADMIN, Method, MethodCall
from hub.gateway.methods.client_start import visible_subagents
from hub.security.redaction import Redactor

OWNER = "gateway"
RESULT_CHARS = 8_000
"""Characters of a result in a list; the rest is in the subagent's conversation."""


class SubagentMethods:
    """The methods about subagents.

    Args:
        subagents: Knows them until they are archived.
        now_ms: Returns the time in milliseconds since the epoch.
        redactor: Removes secrets from displayed text.
    """

    def __init__(self, subagents: Subagents, now_ms: Callable[[], int], redactor: Redactor) -> None:
        self._subagents = subagents
        self._now_ms = now_ms
        self._redactor = redactor

    def methods(self) -> list[Method]:
        """Return the methods."""
        one = Schema({Required("id"): All(str, Length(min=1, max=256))})
        return [
            Method("subagents.list", self._list, OWNER, Schema({}), ADMIN),
            Method("subagents.kill", self._kill, OWNER, one, ADMIN),
        ]

    async def _list(self, call: MethodCall) -> Mapping[str, Any]:
        found = reversed(visible_subagents(self._subagents, call.context.authority))
        return {"subagents": [self._redactor.redact_data(self._row(each)) for each in found]}

    async def _kill(self, call: MethodCall) -> Mapping[str, Any]:
        for each in visible_subagents(self._subagents, call.context.authority):
            if each.id == call.params["id"]:
                return {"stopped": self._subagents.kill(each)}
        raise NotFound("id: there is no such subagent (subagents.list names them)")

    def _row(self, each: Subagent) -> dict[str, Any]:
        return {
            "id": each.id,
            "runId": each.run_id,
            "label": each.label,
            "task": each.task,
            "state": each.state.value,
            "sessionKey": each.session_key,
            "requesterKey": each.requester_key,
            "agentId": each.agent_id,
            "model": each.model or None,
            "depth": each.depth,
            "createdAt": each.created_ms,
            "endedAt": each.ended_ms,
            "durationMs": (each.ended_ms or self._now_ms()) - each.created_ms,
            "usage": {"total_tokens": each.tokens, "cost_usd": each.cost_usd},
            "result": each.result[:RESULT_CHARS],
            "spawnedBy": each.requester_key,
            "spawnDepth": each.depth,
            **each.ended_as(),
        }
