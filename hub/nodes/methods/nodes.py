"""`node.*` for operators: the nodes, their approval, their commands, and pending work."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import orjson

from hub.core.errors import Forbidden, InvalidRequest, Unavailable
from hub.core.phrases import phrase
from hub.core.schema import All, AnyOf, In, Length, Optional, Range, Required, Schema, boolean, integer, string
from hub.core.surfaces import ADMIN, LARGE_FRAME_BYTES, PAIRING, READ, WRITE, Method, MethodCall
from hub.nodes.commands import ADMIN_COMMANDS, matches, scopes_to_approve
from hub.nodes.records import NodeRecord
from hub.nodes.registry import INVOKE_LIMIT_S, NodeRegistry

OWNER = "gateway"
TIMEOUT_LIMIT_MS = 600_000
APPROVAL_KEYS = frozenset({"approved", "approvalDecision", "runId", "systemRunPlan"})

_ID = All(string, Length(min=1, max=128))
_NODE = Schema({Required("nodeId"): _ID})
_REQUEST = Schema({Required("requestId"): _ID})
_RENAME = Schema({Required("nodeId"): _ID, Required("displayName"): All(string, Length(min=1, max=64))})
_INVOKE = Schema(
    {
        Required("nodeId"): _ID,
        Required("command"): _ID,
        Optional("params"): AnyOf(None, {string: object}),
        Optional("timeoutMs", default=int(INVOKE_LIMIT_S * 1000)): All(integer, Range(min=0, max=TIMEOUT_LIMIT_MS)),
        Optional("idempotencyKey"): All(string, Length(min=1, max=256)),
        Optional("noWait", default=False, description="Have it done when the node next connects."): boolean,
        Optional("sessionKey"): AnyOf(None, string),
        **{Optional(f"turnSource{each}"): object for each in ("Channel", "To", "AccountId", "ThreadId")},
    }
)
_RULES = Schema(
    {Required("nodeId"): _ID, Required("file"): {string: object}, Optional("baseHash"): AnyOf(None, string)}
)
_ENQUEUE = Schema(
    {
        Required("nodeId"): _ID,
        Required("type"): In(["status.request", "location.request"]),
        Optional("priority", default="normal"): In(["normal", "high"]),
        Optional("expiresInMs", default=86_400_000): All(integer, Range(min=1_000, max=86_400_000)),
        Optional("wake"): boolean,
    }
)


class NodeMethods:
    """The methods about nodes.

    Args:
        nodes: All nodes.
        wall_time: Seconds since the epoch.
        unpair: Takes back the role `node` of a device, if it is one.
    """

    def __init__(
        self, nodes: NodeRegistry, wall_time: Callable[[], float], unpair: Callable[[str], Awaitable[Any]]
    ) -> None:
        self._nodes = nodes
        self._wall_time = wall_time
        self._unpair = unpair

    def methods(self) -> list[Method]:
        """Return the methods."""
        return [
            Method("node.list", self._list, OWNER, Schema({}), READ),
            Method("node.describe", self._describe, OWNER, _NODE, READ),
            Method("node.rename", self._rename, OWNER, _RENAME, PAIRING, acts=True),
            Method("node.pair.list", self._pair_list, OWNER, Schema({}), PAIRING),
            Method("node.pair.approve", self._approve, OWNER, _REQUEST, PAIRING, acts=True),
            Method("node.pair.reject", self._reject, OWNER, _REQUEST, PAIRING, acts=True),
            Method("node.pair.remove", self._remove, OWNER, _NODE, PAIRING, acts=True),
            Method("node.invoke", self._invoke, OWNER, _INVOKE, WRITE, frame_limit=LARGE_FRAME_BYTES),
            Method("exec.approvals.node.get", self._rules, OWNER, _NODE, ADMIN),
            Method("exec.approvals.node.set", self._set_rules, OWNER, _RULES, ADMIN, acts=True),
            Method("node.pending.enqueue", self._enqueue, OWNER, _ENQUEUE, WRITE, acts=True),
        ]

    async def _list(self, call: MethodCall) -> Mapping[str, Any]:
        return {"ts": self._now_ms(), "nodes": [self._nodes.node_data(each) for each in self._nodes.records.all()]}

    async def _describe(self, call: MethodCall) -> Mapping[str, Any]:
        return {"ts": self._now_ms(), **self._nodes.node_data(self._nodes.surfaces.require(call.params["nodeId"]))}

    async def _rename(self, call: MethodCall) -> Mapping[str, Any]:
        record = self._nodes.surfaces.rename(call.params["nodeId"], call.params["displayName"])
        return {"nodeId": record.id, "displayName": record.title}

    async def _pair_list(self, call: MethodCall) -> Mapping[str, Any]:
        records = self._nodes.records.all()
        pending = [_request(each) for each in records if each.request is not None]
        return {"pending": pending, "paired": [_paired(each) for each in records if each.approved_ms is not None]}

    async def _approve(self, call: MethodCall) -> Mapping[str, Any]:
        record = self._nodes.surfaces.approve(call.params["requestId"], call.caller.authority)
        self._nodes.begin_work(record.id)
        return {"requestId": call.params["requestId"], "node": _paired(record)}

    async def _reject(self, call: MethodCall) -> Mapping[str, Any]:
        record = self._nodes.surfaces.reject(call.params["requestId"])
        return {"requestId": call.params["requestId"], "nodeId": record.id}

    async def _remove(self, call: MethodCall) -> Mapping[str, Any]:
        id = call.params["nodeId"]
        if not call.caller.authority.has("operator.admin"):
            record = self._nodes.surfaces.require(id)
            if "operator.admin" in scopes_to_approve(record.commands):
                raise Forbidden(phrase("this node may do more than you, so you cannot remove it"))
        await self._unpair(id)
        await self._nodes.forget(id)
        return {"nodeId": id}

    async def _invoke(self, call: MethodCall) -> Mapping[str, Any]:
        params = call.params
        id, command, given = params["nodeId"], params["command"], params.get("params") or {}
        _judge_invocation(call, command, given)
        if self._nodes.records.get(id) is None:
            raise Unavailable(
                phrase("node pairing changed while invocation was active"),
                details={"code": "PAIRING_CHANGED"},
                retry_after_s=1.0,
            )
        shown = {"ok": True, "nodeId": id, "command": command}
        if params["noWait"]:
            return {**shown, "queued": (await self._nodes.queue(id, command, given)).as_item()}
        key = params.get("idempotencyKey")
        timeout_s = params["timeoutMs"] / 1000
        answer = await self._nodes.invoke(id, command, given, timeout_s=timeout_s, key=key)
        return {**shown, "payload": answer, "payloadJSON": orjson.dumps(dict(answer)).decode()}

    async def _rules(self, call: MethodCall) -> Mapping[str, Any]:
        """Return the node's own command rules, as it answers."""
        return await self._nodes.invoke(call.params["nodeId"], "system.execApprovals.get")

    async def _set_rules(self, call: MethodCall) -> Mapping[str, Any]:
        """Replace the rules of a node that allows it; our node program's are changed on its own machine alone."""
        given = {key: call.params[key] for key in ("file", "baseHash") if key in call.params}
        return await self._nodes.invoke(call.params["nodeId"], "system.execApprovals.set", given)

    async def _enqueue(self, call: MethodCall) -> Mapping[str, Any]:
        params = call.params
        record = self._nodes.surfaces.require(params["nodeId"])
        item = await self._nodes.work.add(
            record.id, params["type"], priority=params["priority"], life_ms=params["expiresInMs"]
        )
        return {
            "nodeId": record.id,
            "revision": self._nodes.work.revision,
            "queued": item.as_item(),
            "wakeTriggered": False,
        }

    def _now_ms(self) -> int:
        return int(self._wall_time() * 1000)


def _judge_invocation(call: MethodCall, command: str, given: Mapping[str, Any]) -> None:
    """Refuse a direct invocation that programs may not make.

    Raises:
        Forbidden: Only an owner may.
        InvalidRequest: It claims an approval, or has a method of its own.
    """
    if command.startswith("system.execApprovals."):
        raise InvalidRequest(
            "node.invoke does not allow system.execApprovals.*; use exec.approvals.node.*", details={"command": command}
        )
    if command == "system.run" and not APPROVAL_KEYS.isdisjoint(given):
        details = {"code": "APPROVAL_REQUEST_MISMATCH", "runId": given.get("runId")}
        raise InvalidRequest("approval id does not match request", details=details)
    if matches(ADMIN_COMMANDS, command) and not call.caller.authority.owner:
        raise Forbidden(phrase("only an owner may ask a node for {command}", command=command[:80]))


def _paired(record: NodeRecord) -> dict[str, Any]:
    shown = {
        **record.about,
        "nodeId": record.id,
        "displayName": record.title,
        "platform": record.platform,
        "caps": list(record.caps),
        "commands": list(record.commands),
        "createdAtMs": record.created_ms,
        "approvedAtMs": record.approved_ms,
        "lastConnectedAtMs": record.connected_ms,
        "lastSeenAtMs": record.seen_ms,
        "lastSeenReason": record.seen_reason,
    }
    return {key: value for key, value in shown.items() if value is not None}


def _request(record: NodeRecord) -> dict[str, Any]:
    request = record.request
    commands = list(request.commands) if request is not None else []
    shown = {
        **record.about,
        "requestId": request.id if request is not None else "",
        "nodeId": record.id,
        "displayName": record.title,
        "platform": record.platform,
        "caps": list(request.caps) if request is not None else [],
        "commands": commands,
        "requiredApproveScopes": list(scopes_to_approve(commands)),
        "silent": False,
        "ts": request.asked_ms if request is not None else 0,
    }
    return {key: value for key, value in shown.items() if value is not None}
