"""The nodes: devices that are connected, and the transports they come by."""

from __future__ import annotations

from collections.abc import Iterable

from hub.components.component import Component
from hub.components.foundation import Foundation
from hub.gateway.calls.contract import Method
from hub.gateway.methods.nodes import NodeMethods
from hub.nodes.registry import NodeRegistry


class NodesComponent(Component):
    """The registry of nodes."""

    name = "nodes"

    def __init__(self, base: Foundation) -> None:
        self._base = base
        self.nodes = NodeRegistry(base.bus, base.clock.time)

    def methods(self) -> Iterable[Method]:
        """Return the methods about nodes."""
        return NodeMethods(self.nodes, self._base.clock.time).methods()
