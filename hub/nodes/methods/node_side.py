"""`node.*` for nodes: their answers, events, tools and skills, and pending work."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import orjson

from hub.core.errors import InvalidRequest, Unavailable
from hub.core.phrases import phrase
from hub.core.schema import (
    REMOVE_EXTRA,
    All,
    AnyOf,
    Length,
    Optional,
    Range,
    Required,
    Schema,
    boolean,
    integer,
    string,
)
from hub.core.surfaces import LARGE_FRAME_BYTES, Method, MethodCall
from hub.gateway.calls.method_table import NODE
from hub.gateway.node_socket import SocketNode, SocketNodes
from hub.nodes.offered_tools import TOOLS_SCHEMA, OfferedTools
from hub.nodes.registry import NodeRegistry
from hub.nodes.work import COMMAND

OWNER = "gateway"
SKILLS_LIMIT = 64
EVENT_BYTES = 131_072

_ID = All(string, Length(min=1, max=128))
_JSON = AnyOf(None, All(string, Length(max=EVENT_BYTES)))
_ERROR = Schema({Optional("code"): string, Optional("message"): string}, extra=REMOVE_EXTRA)
_RESULT = Schema(
    {
        Required("id"): _ID,
        Required("nodeId"): _ID,
        Required("ok"): boolean,
        Optional("payload"): object,
        Optional("payloadJSON"): AnyOf(None, string),
        Optional("error"): AnyOf(None, _ERROR),
    }
)
_PROGRESS = Schema(
    {
        Required("invokeId"): _ID,
        Required("nodeId"): _ID,
        Required("seq"): All(integer, Range(min=0)),
        Required("chunk"): All(string, Length(max=16_384)),
    }
)
_SKILLS = Schema(
    {
        Required("skills"): All(
            [
                Schema(
                    {
                        Required("name"): All(string, Length(min=1, max=64)),
                        Required("description"): All(string, Length(min=1, max=1_024)),
                        Required("content"): All(string, Length(min=1, max=65_536)),
                    }
                )
            ],
            Length(max=SKILLS_LIMIT),
        )
    }
)

NodeEvent = Callable[[SocketNode, str, Any], Awaitable[Mapping[str, Any]]]
"""Does what an event of a node asks for, and returns the answer."""


class NodeSideMethods:
    """The methods that nodes call.

    Args:
        nodes: All nodes.
        sockets: Finds the node of a connection.
        tools: Takes the tools that nodes offer.
        event: Takes their events.
    """

    def __init__(self, nodes: NodeRegistry, sockets: SocketNodes, tools: OfferedTools, event: NodeEvent) -> None:
        self._nodes = nodes
        self._sockets = sockets
        self._tools = tools
        self._event_of = event

    def methods(self) -> list[Method]:
        """Return the methods."""
        event = Schema({Required("event"): _ID, Optional("payload"): object, Optional("payloadJSON"): _JSON})
        ack = Schema({Required("ids"): All([_ID], Length(min=1, max=100))})
        drain = Schema({Optional("maxItems", default=10): All(integer, Range(min=1, max=10))})
        anything = Schema({}, extra=REMOVE_EXTRA)
        large = LARGE_FRAME_BYTES
        return [
            Method("node.event", self._event, OWNER, event, NODE),
            Method("node.invoke.result", self._result, OWNER, _RESULT, NODE, frame_limit=large),
            Method("node.invoke.progress", self._progress, OWNER, _PROGRESS, NODE),
            Method("node.pending.pull", self._pull, OWNER, anything, NODE),
            Method("node.pending.ack", self._ack, OWNER, ack, NODE),
            Method("node.pending.drain", self._drain, OWNER, drain, NODE),
            Method("node.pluginTools.update", self._plugin_tools, OWNER, TOOLS_SCHEMA, NODE),
            Method("node.skills.update", self._skills, OWNER, _SKILLS, NODE, frame_limit=large),
            Method("node.runnerInventory.update", self._inventory, OWNER, anything, NODE),
        ]

    async def _event(self, call: MethodCall) -> Mapping[str, Any]:
        node, name = self._node(call), call.params["event"]
        if self._nodes.surfaces.require(node.id).approved_ms is None:
            raise Unavailable(
                phrase("node pairing changed while invocation was active"),
                details={"code": "PAIRING_CHANGED"},
                retry_after_s=5.0,
            )
        data = call.params.get("payload")
        if (text := call.params.get("payloadJSON")) is not None:
            try:
                data = orjson.loads(text)
            except orjson.JSONDecodeError:
                raise InvalidRequest("payloadJSON: expected JSON") from None
        return await self._event_of(node, name, data)

    async def _result(self, call: MethodCall) -> Mapping[str, Any]:
        settled = self._node(call).settle(call.params["id"], call.params)
        return {"ok": True} if settled else {"ok": True, "ignored": True}

    async def _progress(self, call: MethodCall) -> Mapping[str, Any]:
        node = self._node(call)
        key = node.keys.get(call.params["invokeId"])
        if key is not None:
            self._nodes.progress(node.id, key, call.params["chunk"])
        return {"ok": True} if key is not None else {"ok": True, "ignored": True}

    async def _pull(self, call: MethodCall) -> Mapping[str, Any]:
        id = self._node(call).id
        waiting = [each for each in self._nodes.work.of(id, COMMAND) if "foreground" in each.data]
        return {"nodeId": id, "actions": [each.as_action() for each in waiting]}

    async def _ack(self, call: MethodCall) -> Mapping[str, Any]:
        id = self._node(call).id
        acked = await self._nodes.work.remove(id, call.params["ids"])
        return {"nodeId": id, "ackedIds": acked, "remainingCount": len(self._nodes.work.of(id, COMMAND))}

    async def _drain(self, call: MethodCall) -> Mapping[str, Any]:
        id, limit = self._node(call).id, call.params["maxItems"]
        waiting = self._nodes.work.of(id, "status.request", "location.request")
        await self._nodes.work.remove(id, [each.id for each in waiting[:limit]])
        return {
            "nodeId": id,
            "revision": self._nodes.work.revision,
            "items": [each.as_item() for each in waiting[:limit]],
            "hasMore": len(waiting) > limit,
        }

    async def _plugin_tools(self, call: MethodCall) -> Mapping[str, Any]:
        node, tools = self._node(call), call.params["tools"]
        self._nodes.note(node.id, "nodePluginTools", tools)
        self._tools.offer(node.id, tools)
        return {"nodeId": node.id, "tools": tools}

    async def _skills(self, call: MethodCall) -> Mapping[str, Any]:
        node = self._node(call)
        named = [{key: each[key] for key in ("name", "description")} for each in call.params["skills"]]
        self._nodes.note(node.id, "nodeSkills", named)
        self._nodes.skills[node.id] = {each["name"]: each["content"] for each in call.params["skills"]}
        return {"nodeId": node.id, "skills": named}

    async def _inventory(self, call: MethodCall) -> Mapping[str, Any]:
        return {"nodeId": self._node(call).id}

    def _node(self, call: MethodCall) -> SocketNode:
        node = self._sockets.of(call.connection_id)
        if node is None or self._nodes.get(node.id) is not node:
            raise Unavailable(phrase("this node is not connected any more"))
        return node
