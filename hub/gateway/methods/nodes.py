"""`node.list`: the nodes that are connected."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from hub.core.schema import Schema
from hub.gateway.calls.contract import READ, Method, MethodCall
from hub.nodes.registry import ConnectedNode, NodeRegistry

OWNER = "gateway"


class NodeMethods:
    """The methods about nodes.

    Args:
        nodes: Those that are connected.
        wall_time: Seconds since the epoch.
    """

    def __init__(self, nodes: NodeRegistry, wall_time: Callable[[], float]) -> None:
        self._nodes = nodes
        self._wall_time = wall_time

    def methods(self) -> list[Method]:
        """Return the methods."""
        return [Method("node.list", self._list, OWNER, Schema({}), READ)]

    async def _list(self, call: MethodCall) -> Mapping[str, Any]:
        return {"ts": int(self._wall_time() * 1000), "nodes": [_as_dict(each) for each in self._nodes.all()]}


def _as_dict(connected: ConnectedNode) -> dict[str, Any]:
    node = connected.node
    return {
        "nodeId": node.id,
        "displayName": node.name,
        "platform": node.platform,
        "transport": connected.transport,
        "commands": sorted(node.commands),
        "permissions": dict(node.permissions),
        "connectedAtMs": connected.connected_ms,
        "connected": True,
    }
