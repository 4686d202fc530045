"""The registry of nodes that are connected now, and of the transports that they came by."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct

from hub.core.errors import Conflict, NotFound, TimedOut
from hub.core.events import EventBus
from hub.core.ids import new_id
from hub.nodes.contract import Disconnect, Node, NodeTransport

EVENT_NODE_CONNECTED = "node_connected"
EVENT_NODE_DISCONNECTED = "node_disconnected"
INVOKE_LIMIT_S = 30.0


class ConnectedNode(Struct, frozen=True):
    """A node, and the transport that it came by."""

    node: Node
    transport: str
    connected_ms: int


class NodeRegistry:
    """Knows every node that is connected, and starts and stops the transports.

    Args:
        bus: Receives `node_connected` and `node_disconnected`.
        wall_time: Seconds since the epoch.
    """

    def __init__(self, bus: EventBus, wall_time: Callable[[], float]) -> None:
        self._bus = bus
        self._wall_time = wall_time
        self._transports: dict[str, NodeTransport] = {}
        self._nodes: dict[str, ConnectedNode] = {}

    async def add(self, transport: NodeTransport) -> None:
        """Start a transport.

        Raises:
            Conflict: There is one of that name.
        """
        name = transport.name
        if name in self._transports:
            raise Conflict(f"there is a node transport {name} already")
        self._transports[name] = transport
        try:
            await transport.start(lambda node: self._connect(node, transport))
        except BaseException:
            self._forget(name)
            raise

    async def remove(self, name: str) -> None:
        """Stop a transport; its nodes are disconnected. Nothing happens when it is not there."""
        transport = self._transports.get(name)
        self._forget(name)
        if transport is not None:
            await transport.stop()

    def all(self) -> list[ConnectedNode]:
        """Return all nodes, by id."""
        return [self._nodes[id] for id in sorted(self._nodes)]

    def get(self, id: str) -> Node | None:
        """Return a node, or None when it is not connected."""
        found = self._nodes.get(id)
        return None if found is None else found.node

    async def invoke(
        self, id: str, command: str, params: Mapping[str, Any] | None = None, *, timeout_s: float = INVOKE_LIMIT_S
    ) -> Mapping[str, Any]:
        """Ask a node to do something; cancelling it cancels what the node does.

        Raises:
            NotFound: It is not connected, or has no such command.
            TimedOut: It did not answer in time.
            HubError: It refused.
        """
        node = self.get(id)
        if node is None:
            raise NotFound(f"the node {id} is not connected")
        if command not in node.commands:
            raise NotFound(f"the node {id} has no command {command}")
        try:
            async with asyncio.timeout(timeout_s):
                return await node.invoke(command, params or {}, timeout_s=timeout_s, idempotency_key=new_id())
        except TimeoutError as error:
            raise TimedOut(f"the node {id} did not answer {command} within {timeout_s:g} s") from error

    def _connect(self, node: Node, transport: NodeTransport) -> Disconnect:
        """Take a node in; one of the same id that came by the same transport is replaced.

        Raises:
            Conflict: Another transport has a node of this id, or the transport was stopped.
        """
        name = transport.name
        if self._transports.get(name) is not transport:
            raise Conflict(f"the node transport {name} was stopped")
        before = self._nodes.get(node.id)
        if before is not None and before.transport != name:
            raise Conflict(f"the node {node.id} is connected by {before.transport}")
        if before is not None:
            self._disconnect(before, "it connected again")
        connected = self._nodes[node.id] = ConnectedNode(node, name, int(self._wall_time() * 1000))
        self._bus.fire(EVENT_NODE_CONNECTED, _shown(node))
        return lambda reason: self._disconnect(connected, reason)

    def _disconnect(self, connected: ConnectedNode, reason: str) -> None:
        if self._nodes.get(connected.node.id) is connected:
            del self._nodes[connected.node.id]
            self._bus.fire(EVENT_NODE_DISCONNECTED, {**_shown(connected.node), "reason": reason})

    def _forget(self, name: str) -> None:
        self._transports.pop(name, None)
        for connected in self.all():
            if connected.transport == name:
                self._disconnect(connected, f"{name} was stopped")


def _shown(node: Node) -> dict[str, Any]:
    return {"node_id": node.id, "name": node.name, "platform": node.platform}
