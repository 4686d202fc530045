"""`approval.*` and `exec.approval.*`: what waits for the owner's word, and the answer.

The second family is the protocol's own: what its clients know as the approval of a command is any approval here, so
that they can show it and answer it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hub.core.errors import NotFound
from hub.core.schema import All, AnyOf, In, Length, Optional, Range, Required, Schema, boolean, integer, string
from hub.gateway.calls.contract import Method, MethodCall
from hub.tools.approval import Approval, ApprovalState
from hub.tools.approval_rights import SCOPE
from hub.tools.approval_store import LISTED_LIMIT
from hub.tools.approvals import Approvals

OWNER = "gateway"
ALLOW_ONCE = "allow-once"
ALLOW_ALWAYS = "allow-always"
DENY = "deny"

_NAME = All(string, Length(min=1, max=128))
_ONE = Schema({Required("id"): _NAME})
_LIST = Schema(
    {
        Optional("all", default=False, description="Those that were decided, too."): boolean,
        Optional("limit", default=50): All(integer, Range(min=1, max=LISTED_LIMIT)),
    }
)
_RESOLVE = Schema(
    {
        Required("id", description="Its id or its short code."): _NAME,
        Required("approved"): boolean,
        Optional("always", default=False, description="Do not ask about exactly this again."): boolean,
    }
)
_EXEC_RESOLVE = Schema(
    {
        Required("id"): _NAME,
        Required("decision"): In([ALLOW_ONCE, ALLOW_ALWAYS, DENY]),
        Optional("reason"): AnyOf(None, All(string, Length(max=500))),
    }
)


class ApprovalMethods:
    """The methods about approvals.

    Args:
        approvals: What waits.
    """

    def __init__(self, approvals: Approvals) -> None:
        self._approvals = approvals

    def methods(self) -> list[Method]:
        """Return the methods."""
        return [
            Method("approval.list", self._list, OWNER, _LIST, SCOPE),
            Method("approval.get", self._get, OWNER, _ONE, SCOPE),
            Method("approval.resolve", self._resolve, OWNER, _RESOLVE, SCOPE, acts=True),
            Method("exec.approval.list", self._exec_list, OWNER, Schema({}), SCOPE),
            Method("exec.approval.get", self._exec_get, OWNER, _ONE, SCOPE),
            Method("exec.approval.resolve", self._exec_resolve, OWNER, _EXEC_RESOLVE, SCOPE, acts=True),
        ]

    async def _list(self, call: MethodCall) -> Mapping[str, Any]:
        limit = call.params["limit"]
        found = await self._approvals.latest(limit) if call.params["all"] else self._approvals.pending()[:limit]
        return {"approvals": [each.as_dict() for each in found]}

    async def _get(self, call: MethodCall) -> Mapping[str, Any]:
        return (await self._found(call)).as_dict()

    async def _resolve(self, call: MethodCall) -> Mapping[str, Any]:
        params = call.params
        ended = await self._approvals.resolve(params["id"], params["approved"], call.context, always=params["always"])
        return ended.as_dict()

    async def _exec_list(self, call: MethodCall) -> list[dict[str, Any]]:
        return [as_request(each) for each in self._approvals.pending()]

    async def _exec_get(self, call: MethodCall) -> Mapping[str, Any]:
        found = await self._found(call)
        return {**as_request(found), "decision": decision_of(found)}

    async def _exec_resolve(self, call: MethodCall) -> Mapping[str, Any]:
        decision = call.params["decision"]
        always = decision == ALLOW_ALWAYS
        await self._approvals.resolve(call.params["id"], decision != DENY, call.context, always=always)
        return {"ok": True}

    async def _found(self, call: MethodCall) -> Approval:
        found = await self._approvals.get(call.params["id"])
        if found is None:
            raise NotFound(f"there is no approval {call.params['id'][:80]!r}")
        return found


def as_request(approval: Approval) -> dict[str, Any]:
    """Return an approval in the protocol's shape; `request.command` holds exactly what will run."""
    shown = approval.as_dict()
    return {
        "id": approval.id,
        "request": {
            "command": shown["shown"],
            "host": "gateway",
            "agentId": approval.details.get("agent"),
            "sessionKey": approval.session_key,
            "ask": "always",
            "warningText": f"{approval.kind} {approval.title}: {approval.text}",
            "allowedDecisions": [ALLOW_ONCE, *([ALLOW_ALWAYS] if approval.may_persist else []), DENY],
        },
        "code": approval.code,
        "createdAtMs": approval.created_ms,
        "expiresAtMs": approval.expires_ms,
    }


def decision_of(approval: Approval) -> str | None:
    """Return the protocol's word for the outcome of an approval; None while it is pending or when nobody answered."""
    words = {ApprovalState.APPROVED: ALLOW_ONCE, ApprovalState.DENIED: DENY}
    return words.get(approval.state)
