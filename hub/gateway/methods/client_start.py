"""Methods that clients of the protocol call at their start, for features this hub lacks or simplifies.

The answers are true: tasks are the subagents; there are no progress cards.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from hub.agent.subagents.record import Subagent, SubagentState
from hub.agent.subagents.subagents import Subagents
from hub.core.context import SYSTEM, Authority
from hub.core.schema import All, AnyOf, In, Length, Optional, Range, Required, Schema, integer, string
from hub.core.surfaces import READ, Method, MethodCall
from hub.security.redaction import Redactor

OWNER = "gateway"
TASKS_LIMIT = 500
_STATES = {
    SubagentState.RUNNING: "running",
    SubagentState.COMPLETED: "completed",
    SubagentState.FAILED: "failed",
    SubagentState.TIMED_OUT: "timed_out",
    SubagentState.KILLED: "cancelled",
    SubagentState.INTERRUPTED: "failed",
}
_STATUS = In(("queued", "running", "completed", "failed", "cancelled", "timed_out"))
_KEY = All(string, Length(min=1, max=2_048))
NOTHING: Mapping[str, tuple[str, Schema, Mapping[str, Any]]] = {
    "progressCard.get": (READ, Schema({Required("sessionKey"): _KEY}), {"card": None}),
    "taskSuggestions.list": (
        READ,
        Schema({Optional("sessionKey"): _KEY, Optional("agentId"): _KEY}),
        {"suggestions": []},
    ),
}
"""Methods with always the same answer: scope, parameters, answer."""


class StartMethods:
    """The methods.

    Args:
        subagents: Knows them until they are archived.
        redactor: Removes secrets from displayed text.
    """

    def __init__(self, subagents: Subagents, redactor: Redactor) -> None:
        self._subagents = subagents
        self._redactor = redactor

    def methods(self) -> list[Method]:
        """Return the methods."""
        tasks = Schema(
            {
                Optional("status"): AnyOf(_STATUS, [_STATUS]),
                Optional("agentId"): _KEY,
                Optional("sessionKey"): _KEY,
                Optional("limit", default=100): All(integer, Range(min=1, max=TASKS_LIMIT)),
                Optional("sortBy"): In(("createdAt", "updatedAt", "endedAt")),
                Optional("cursor"): All(string, Length(max=64)),
            }
        )
        always = [
            Method(name, _always(answer), OWNER, schema, scope, quick=True)
            for name, (scope, schema, answer) in NOTHING.items()
        ]
        return [Method("tasks.list", self._tasks, OWNER, tasks, READ), *always]

    async def _tasks(self, call: MethodCall) -> Mapping[str, Any]:
        params = call.params
        wanted = params.get("status", list(_STATES.values()))
        found = [
            each
            for each in reversed(visible_subagents(self._subagents, call.context.authority))
            if _STATES[each.state] in ([wanted] if isinstance(wanted, str) else wanted)
            and params.get("agentId") in (None, each.agent_id)
            and params.get("sessionKey") in (None, each.session_key, each.requester_key)
        ]
        if params.get("sortBy") == "endedAt":
            found.sort(key=lambda each: -(each.ended_ms or 0))
        begin = int(params["cursor"]) if params.get("cursor", "").isdecimal() else 0
        end = begin + params["limit"]
        page = {"tasks": [self._redactor.redact_data(_task(each)) for each in found[begin:end]]}
        return page | ({"nextCursor": str(end)} if end < len(found) else {})


def visible_subagents(subagents: Subagents, authority: Authority) -> list[Subagent]:
    """Return the subagents that a caller may see: as private as the conversation they work for."""
    person, hub = authority.person, SYSTEM.principal
    mine = [each for each in subagents.all() if each.authority.person == person or each.authority.principal == hub]
    return mine if authority.owner else []


def _task(each: Subagent) -> dict[str, Any]:
    shown = {
        "id": each.id,
        "taskId": each.id,
        "kind": "subagent",
        "status": _STATES[each.state],
        "title": each.label or each.task[:200],
        "prompt": each.task,
        "agentId": each.agent_id,
        "sessionKey": each.requester_key,
        "childSessionKey": each.session_key,
        "runId": each.run_id,
        "createdAt": each.created_ms,
        "startedAt": each.created_ms,
        "endedAt": each.ended_ms,
        "result": each.result[:2_000] or None,
    }
    return {key: value for key, value in shown.items() if value is not None}


def _always(answer: Mapping[str, Any]) -> Callable[[MethodCall], Any]:
    async def handler(call: MethodCall) -> Mapping[str, Any]:
        return answer

    return handler
