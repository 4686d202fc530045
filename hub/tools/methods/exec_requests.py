"""`exec.approval.request|waitDecision`: a client asks the owner about a command, and waits for the answer.

The hub only asks and passes the answer on; the requester runs the command. The owner sees the whole request.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from hub.core.errors import Conflict, InvalidRequest, NotFound
from hub.core.events import EventBus
from hub.core.ids import new_id
from hub.core.schema import All, AnyOf, Length, Optional, Range, Required, Schema, boolean, integer, string
from hub.core.surfaces import Method, MethodCall
from hub.core.tasks import TaskOwner
from hub.gateway.calls.plain_data import plain_mapping
from hub.tools.approval import TIMEOUT_S, Approval, ApprovalState, Ask
from hub.tools.approval_checks import ID
from hub.tools.approval_rights import SCOPE
from hub.tools.approval_shapes import decision_of
from hub.tools.approvals import EVENT_APPROVAL_REQUESTED, EVENT_APPROVAL_RESOLVED, Approvals

OWNER = "gateway"
_NAME = All(string, Length(min=1, max=512))
_TEXT = AnyOf(None, All(string, Length(max=8_192)))
_SHOWN = ("command", "commandArgv", "cwd", "env", "host", "nodeId", "resolvedPath", "systemRunPlan")
"""What is shown of a request, and what the answer is bound to."""
_REQUEST = Schema(
    {
        Optional("id"): _NAME,
        Optional("command"): All(string, Length(min=1, max=8_192)),
        Optional("commandArgv"): All([string], Length(max=1_000)),
        Optional("systemRunPlan"): AnyOf(None, plain_mapping),
        Optional("env"): AnyOf(None, plain_mapping),
        **{Optional(key): _TEXT for key in ("cwd", "host", "nodeId", "resolvedPath", "warningText")},
        **{Optional(key): _TEXT for key in ("agentId", "sessionKey", "sessionId", "runId", "toolCallId")},
        **{Optional(key, description="What the asker's own rules say."): _TEXT for key in ("ask", "security")},
        Optional("timeoutMs", default=int(TIMEOUT_S * 1000)): All(integer, Range(min=1, max=int(TIMEOUT_S * 1000))),
        Optional("twoPhase", default=False, description="Answer at once, and again with the decision."): boolean,
    }
)


class ExecRequestMethods:
    """The methods.

    Args:
        approvals: Asks the owner.
        bus: Says when something was asked, and when it was answered.
        tasks: Owns the questions whose requesters did not wait.
    """

    def __init__(self, approvals: Approvals, bus: EventBus, tasks: TaskOwner) -> None:
        self._approvals = approvals
        self._bus = bus
        self._tasks = tasks

    def methods(self) -> list[Method]:
        """Return the methods."""
        wait = Schema({Required("id"): _NAME})
        return [
            Method("exec.approval.request", self._request, OWNER, _REQUEST, SCOPE, answers=2),
            Method("exec.approval.waitDecision", self._wait, OWNER, wait, SCOPE),
        ]

    async def _request(self, call: MethodCall) -> Mapping[str, Any]:
        approval = await self._asked(call)
        if not call.params["twoPhase"] or call.respond_later is None:
            return await self._decision(approval.id)
        self._tasks.spawn(self._tell(call.respond_later, approval.id), name=f"tell a client of {approval.id}")
        return {"status": "accepted", **_times(approval)}

    async def _tell(self, respond: Callable[[Mapping[str, Any]], Awaitable[None]], id: str) -> None:
        await respond(await self._decision(id))

    async def _wait(self, call: MethodCall) -> Mapping[str, Any]:
        return await self._decision(call.params["id"])

    async def _asked(self, call: MethodCall) -> Approval:
        """Ask the owner; return a task for the answer, which continues when the asker does not wait."""
        params = call.params
        plan = params.get("systemRunPlan") or {}
        command = params.get("command") or plan.get("commandText") or " ".join(params.get("commandArgv", ()))
        if not isinstance(command, str) or not command.strip():
            raise InvalidRequest("exec.approval.request: command: expected the command to run")
        if params.get("host") == "node" and not plan:
            raise InvalidRequest("exec.approval.request: systemRunPlan is required for host=node")
        id = params.get("id") or new_id()
        if ID.fullmatch(id) and await self._approvals.get(id) is not None:
            raise Conflict(
                f"exec.approval.request: id: {id} was asked already; exec.approval.waitDecision waits for it"
            )
        details = {key: params[key] for key in _SHOWN if params.get(key) is not None}
        ask = Ask(
            kind="exec",
            title=command,
            text=params.get("warningText") or "",
            details={"command": command, **details, "agent": params.get("agentId")},
            context=call.context.child(),
            session_key=params.get("sessionKey"),
            run_id=params.get("runId"),
            timeout_s=params["timeoutMs"] / 1000,
            id=id,
        )
        requested: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        forget = self._bus.listen(EVENT_APPROVAL_REQUESTED, lambda event: _set(requested), {"id": id})
        asking = self._tasks.spawn(self._approvals.ask(ask), name=f"ask about {id}")
        try:
            both: set[asyncio.Future[Any]] = {requested, asking}
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        finally:
            forget()
        if not requested.done():
            asking.result()  # raises what was wrong with it
        found = await self._approvals.get(id)
        if found is None:
            raise NotFound(f"there is no approval {id[:80]!r}")
        return found

    async def _decision(self, id: str) -> dict[str, Any]:
        ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        forget = self._bus.listen(EVENT_APPROVAL_RESOLVED, lambda event: _set(ended), {"id": id})
        try:
            found = await self._approvals.get(id)
            if found is None:
                raise NotFound(f"there is no approval {id[:80]!r}", details={"reason": "APPROVAL_NOT_FOUND"})
            if found.state is ApprovalState.PENDING:
                await ended
                found = await self._approvals.get(id) or found
        finally:
            forget()
        reason = "timeout" if found.state is ApprovalState.EXPIRED else "user" if found.decided_by else "run-aborted"
        return {**_times(found), "decision": decision_of(found), "terminalReason": reason}


def _set(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


def _times(approval: Approval) -> dict[str, Any]:
    return {"id": approval.id, "createdAtMs": approval.created_ms, "expiresAtMs": approval.expires_ms}
