"""`approval.*` and `exec.approval.*`: pending approvals, and their decisions.

The second family is the protocol's own: what its clients know as the approval of a command is any approval here, so
that they can show it and answer it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hub.core.errors import NotFound
from hub.core.schema import All, AnyOf, In, Length, Optional, Range, Required, Schema, boolean, integer, string
from hub.core.surfaces import Method, MethodCall
from hub.tools.approval import QUESTION, Approval, ApprovalState
from hub.tools.approval_rights import SCOPE
from hub.tools.approval_shapes import ALLOW_ALWAYS, ALLOW_ONCE, DENY, as_request, as_snapshot, decision_of, presentation
from hub.tools.approval_store import LISTED_LIMIT
from hub.tools.approvals import Approvals

OWNER = "gateway"

_DECISIONS = [ALLOW_ONCE, ALLOW_ALWAYS, DENY]
_KINDS = ["exec", "plugin", "system-agent"]
"""The protocol's; every approval here is of the first."""

_NAME = All(string, Length(min=1, max=128))
_ONE = Schema({Required("id"): _NAME})
_LIST = Schema(
    {
        Optional("all", default=False, description="Those that were decided, too."): boolean,
        Optional("limit", default=50): All(integer, Range(min=1, max=LISTED_LIMIT)),
    }
)
_HISTORY = Schema(
    {
        Optional("limit", default=50): All(integer, Range(min=1, max=LISTED_LIMIT)),
        Optional("kind", default="exec"): In(_KINDS),
        Optional("cursor"): _NAME,
    }
)
_RESOLVE = Schema(
    {
        Required("id", description="Its id or its short code."): _NAME,
        Required("decision", description="allow-always: do not ask about exactly this again."): In(_DECISIONS),
        Optional("kind", default="exec"): In(_KINDS),
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
            Method("approval.history", self._history, OWNER, _HISTORY, SCOPE),
            Method("approval.resolve", self._resolve, OWNER, _RESOLVE, SCOPE, acts=True),
            Method("exec.approval.list", self._exec_list, OWNER, Schema({}), SCOPE),
            Method("exec.approval.get", self._exec_get, OWNER, _ONE, SCOPE),
            Method("exec.approval.resolve", self._exec_resolve, OWNER, _RESOLVE, SCOPE, acts=True),
            Method("plugin.approval.list", self._none, OWNER, Schema({}), SCOPE, quick=True),
            Method("openclaw.approval.list", self._none, OWNER, Schema({}), SCOPE, quick=True),
        ]

    async def _none(self, call: MethodCall) -> list[Any]:
        return []

    async def _list(self, call: MethodCall) -> Mapping[str, Any]:
        limit = call.params["limit"]
        found = await self._approvals.latest(limit) if call.params["all"] else self._approvals.pending()[:limit]
        return {"approvals": [each.as_dict() for each in found]}

    async def _get(self, call: MethodCall) -> Mapping[str, Any]:
        return {"approval": as_snapshot(await self._found(call))}

    async def _history(self, call: MethodCall) -> Mapping[str, Any]:
        """Return the decisions, newest first; there is one page."""
        if call.params["kind"] != "exec" or "cursor" in call.params:
            return {"items": []}
        found = await self._approvals.latest(call.params["limit"])
        decided = [each for each in found if each.state is not ApprovalState.PENDING and each.kind != QUESTION]
        return {"items": [as_snapshot(each) for each in decided]}

    async def _resolve(self, call: MethodCall) -> Mapping[str, Any]:
        return {"applied": True, "approval": as_snapshot(await self._resolved(call))}

    async def _exec_list(self, call: MethodCall) -> list[dict[str, Any]]:
        return [as_request(each) for each in self._approvals.pending()]

    async def _exec_get(self, call: MethodCall) -> Mapping[str, Any]:
        found = await self._found(call)
        request = as_request(found)
        return {**request, **presentation(found), "decision": decision_of(found)}

    async def _exec_resolve(self, call: MethodCall) -> Mapping[str, Any]:
        await self._resolved(call)
        return {"ok": True}

    async def _resolved(self, call: MethodCall) -> Approval:
        params = call.params
        if params["kind"] != "exec":
            raise NotFound(f"there is no approval {params['id'][:80]!r} of the kind {params['kind']}")
        decision = params["decision"]
        return await self._approvals.resolve(
            params["id"], decision != DENY, call.context, always=decision == ALLOW_ALWAYS
        )

    async def _found(self, call: MethodCall) -> Approval:
        found = await self._approvals.get(call.params["id"])
        if found is None or found.kind == QUESTION:
            raise NotFound(f"there is no approval {call.params['id'][:80]!r}")
        return found
