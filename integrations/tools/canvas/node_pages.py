"""Files of a canvas on a node: addresses that this node alone can open while it is connected, for ten minutes."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from hub.core.clock import Clock
from hub.core.errors import InvalidRequest, Unavailable
from hub.core.schema import All, Length, Required, Schema, string
from hub.core.surfaces import Method, MethodCall
from hub.gateway.calls.method_table import NODE
from hub.nodes.contract import Node
from hub.nodes.registry import NodeRegistry
from integrations.tools.canvas.canvases import TOKEN_BYTES
from integrations.tools.canvas.origin import CAPABILITY, CanvasOrigin
from integrations.tools.canvas.surfaces import Surfaces

OWNER = "canvas"
LIFE_S = 600.0
ADDRESSES_LIMIT = 64
"""Of all nodes; the oldest goes first."""
_REFRESH = Schema({Required("surface"): All(string, Length(min=1, max=100))})


class _Capability(Struct, frozen=True):
    agent: str
    node: Node
    until_s: float


class NodePages:
    """Makes the addresses, and knows whose they are.

    Args:
        nodes: The connected ones.
        clock: Ends the addresses.
        origin: Serves the files.
    """

    def __init__(self, nodes: NodeRegistry, clock: Clock, origin: CanvasOrigin) -> None:
        self._nodes, self._clock, self._origin = nodes, clock, origin
        self._capabilities: dict[str, _Capability] = {}
        self._shown: dict[str, str] = {}
        self.surfaces: dict[str, Surfaces] = {}
        """The surfaces of A2UI that each node was sent."""

    async def url(self, agent: str, id: str, path: str) -> str:
        """Return the address of an agent's file for a node.

        Raises:
            InvalidRequest: It is not connected by the gateway's WebSocket.
        """
        node = self._nodes.get(id)
        host = getattr(node, "host", "")
        if node is None or not host:
            raise InvalidRequest("node: files are shown on nodes that are connected by the hub's WebSocket")
        await self._origin.start()
        while len(self._capabilities) >= ADDRESSES_LIMIT:
            del self._capabilities[next(iter(self._capabilities))]
        token = secrets.token_urlsafe(TOKEN_BYTES)
        self._capabilities[token] = _Capability(agent, node, self._clock.monotonic() + LIFE_S)
        self._shown[id] = agent
        return f"{self._origin.address(host)}/{CAPABILITY}{token}{path and f'/{path}'}"

    def agent(self, token: str, address: str) -> str | None:
        """Return the agent whose files a token grants to a client at this address; None if none."""
        found = self._capabilities.get(token)
        if (
            found is None
            or self._clock.monotonic() >= found.until_s
            or self._nodes.get(found.node.id) is not found.node
        ):
            return None
        return found.agent if address == getattr(found.node, "about", {}).get("remoteIp") else None

    def end(self, id: str) -> None:
        """End all addresses of a node."""
        self._shown.pop(id, None)
        self.surfaces.pop(id, None)
        self._capabilities = {token: each for token, each in self._capabilities.items() if each.node.id != id}

    def method(self) -> Method:
        """Return the method by which a node gets another address when its own has ended."""
        return Method("node.pluginSurface.refresh", self._refresh, OWNER, _REFRESH, NODE)

    async def _refresh(self, call: MethodCall) -> Mapping[str, Any]:
        id, surface = call.caller.authority.principal.removeprefix("device:"), call.params["surface"]
        may = any(each.startswith("canvas.") for each in self._nodes.commands(id))
        if surface != "canvas" or id not in self._shown or not may:
            raise Unavailable(f"{surface} plugin surface unavailable")
        url = await self.url(self._shown[id], id, "")
        ends_ms = int((self._clock.time() + LIFE_S) * 1_000)
        return {"surface": surface, "pluginSurfaceUrls": {surface: url}, "expiresAtMs": ends_ms}
