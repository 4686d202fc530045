"""The component of nodes: their records, their transports, and their commands for agents and automations."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from hub.agent.workspace.workspace import Workspaces
from hub.core.component import Component
from hub.core.events import Event
from hub.core.services import ServiceRegistry
from hub.core.stages import Stage
from hub.core.surfaces import PAIRING, READ, Method, MethodGroups, Push, Route, RouteGroups
from hub.entities.entities import HomeEntities
from hub.foundation import Foundation
from hub.gateway.access.auth import CallClient
from hub.gateway.connection.server import Gateway
from hub.gateway.node_events import NodeEvents
from hub.gateway.node_socket import SocketNodes
from hub.integration.json_storage import JsonStorage
from hub.nodes.commands import PLAY, CommandRules
from hub.nodes.offered_tools import OfferedTools
from hub.nodes.records import NodeRecord, NodeRecords
from hub.nodes.registry import EVENT_NODE_CONNECTED, EVENT_NODE_DISCONNECTED, NodeRegistry
from hub.nodes.sensors import NodeSensors
from hub.nodes.services import NOTIFY, NodeServices
from hub.nodes.surfaces import EVENT_SURFACE_REQUESTED, EVENT_SURFACE_RESOLVED, NodeSurfaces
from hub.nodes.tool import NodesTool
from hub.nodes.work import PendingWork
from hub.security.egress import Egress
from hub.storage.database import Database
from hub.tools.registry import ToolRegistry

if TYPE_CHECKING:
    from hub.nodes.node_phones import NodePhones
    from hub.nodes.phones import Phones
    from hub.voice.contract import Satellites
    from hub.voice.node_satellites import NodeSatellites

BOOTSTRAP = "bootstrap"


class NodesComponent(Component):
    """The registry of nodes, and the WebSocket as one of its transports."""

    name = "nodes"
    sections = frozenset({"nodes"})

    def __init__(
        self,
        base: Foundation,
        *,
        gateway: Gateway,
        db: Database,
        tools: ToolRegistry,
        services: ServiceRegistry,
        workspaces: Workspaces,
        entities: HomeEntities,
        egress: Egress,
    ) -> None:
        self._base = base
        self._gateway = gateway
        wall_time = base.clock.time
        surfaces = NodeSurfaces(base.bus, wall_time, NodeRecords(db))
        self.nodes = NodeRegistry(base.bus, wall_time, surfaces, PendingWork(wall_time, db), base.tasks)
        self.nodes.lease = base.lease
        self._sockets = SocketNodes(gateway.broadcast)
        self._tools = OfferedTools(self.nodes, tools)
        self._sensors = NodeSensors(entities)
        self._events = NodeEvents(self.nodes, gateway, self._sensors, self._hear)
        tools.register(NodesTool(self.nodes, workspaces.keep_from_outside).tool())
        self._services, self._entities, self._egress = services, entities, egress
        self._phones: Phones | None = None
        self._satellites: Callable[[], Satellites] | None = None
        self._listening: NodeSatellites | None = None
        self._node_phones: NodePhones | None = None
        NodeServices(services, self.nodes, self._notify_phone)

    def phones(self) -> Phones:
        """Return the phones of the home; a home without one imports nothing of them."""
        if self._phones is None:
            from hub.nodes.node_phones import NodePhones
            from hub.nodes.phones import Phones
            from hub.nodes.shown import ShownNotifications

            base, gateway = self._base, self._gateway
            storage = JsonStorage(base.home.storage / "notifications.json", base.home.documents)
            shown = ShownNotifications(
                base.bus, base.clock.time, storage, gateway.authenticator.authority_of, self._sign
            )
            self._phones = Phones(self._services, self._entities, shown)
            self._node_phones = NodePhones(self._phones, self.nodes, self._person_of)
        return self._phones

    def speak_in_rooms(self, satellites: Callable[[], Satellites]) -> None:
        """Have nodes with a microphone be satellites of the home; a home without one imports nothing of them."""
        self._satellites = satellites

    def stages(self) -> Sequence[Stage]:
        """Return the stage that loads the records and accepts connections."""
        return [Stage("nodes", self._start, self._stop)]

    async def apply(self, changed: frozenset[str]) -> None:
        """Put changed rules into force."""
        section = self._base.section("nodes")
        self.nodes.configure(CommandRules.from_config(section))
        rules = section.get("auto_approve", {})
        networks = [ipaddress.ip_network(each) for each in rules.get("networks", ())]

        def let_in(client: CallClient) -> bool:
            if client.local:
                return bool(rules.get("local"))
            address = ipaddress.ip_address(client.address)
            return any(address.version == network.version and address in network for network in networks)

        self._gateway.handshake.lets_nodes_in = let_in

    def methods(self) -> MethodGroups:
        """Return the methods about nodes, and those for nodes."""
        return {"nodes": self._load_methods}

    def routes(self) -> RouteGroups:
        """Return the addresses of what was shown on phones."""
        return {"notifications": self._load_routes}

    def _load_routes(self) -> Iterable[Route]:
        from hub.nodes.methods.notification_routes import NotificationRoutes

        return NotificationRoutes(self.phones().shown, self._gateway, self._egress).routes()

    def _load_methods(self) -> Iterable[Method]:
        from hub.nodes.methods.node_side import NodeSideMethods
        from hub.nodes.methods.nodes import NodeMethods

        return [
            *NodeMethods(self.nodes, self._base.clock.time, self._unpair).methods(),
            *NodeSideMethods(self.nodes, self._sockets, self._tools, self._events.take).methods(),
        ]

    async def _start(self) -> None:
        await self.nodes.records.open()
        await self.nodes.work.open()
        await self.apply(frozenset())
        for record in self.nodes.records.all():
            self._appear(record.id)
        listen = self._base.bus.listen
        listen(EVENT_SURFACE_REQUESTED, self._requested)
        listen(EVENT_SURFACE_RESOLVED, self._resolved)
        for type in (EVENT_NODE_CONNECTED, EVENT_NODE_DISCONNECTED):
            listen(type, self._changed)
        await self.nodes.add(self._sockets)

    async def _stop(self) -> None:
        await self.nodes.remove(self._sockets.name)

    async def _unpair(self, device_id: str) -> None:
        if self._gateway.devices is not None:
            await self._gateway.devices.remove(device_id, "node")
        self._sensors.forget(device_id)
        if self._node_phones is not None:
            self._node_phones.forget(device_id)
        if self._listening is not None:
            self._listening.forget(device_id)

    def _hear(self, node_id: str, data: Any) -> bool:
        return self._listening is not None and self._listening.hear(node_id, data)

    def _follow_satellite(self, record: NodeRecord) -> None:
        if self._listening is None and self._satellites is not None and PLAY in record.commands:
            from hub.voice.node_satellites import NodeSatellites

            self._listening = NodeSatellites(self.nodes, self._satellites(), self._sensors.appear)
        if self._listening is not None:
            self._listening.follow(record)

    def _sign(self, path: str, life_s: float) -> str:
        return self._gateway.signed_paths.sign(path, life_s)

    async def _notify_phone(self, said: Mapping[str, Any]) -> None:
        await self.phones().notify_device(said)

    def _person_of(self, node_id: str) -> str | None:
        grant = self._gateway.devices.grant(node_id, "node") if self._gateway.devices is not None else None
        return grant.owner if grant is not None else None

    def _requested(self, event: Event) -> None:
        """Tell clients about a request; a device from a setup code has its first commands approved at once."""
        data = event.data
        grant = self._gateway.devices.grant(data["node_id"], "node") if self._gateway.devices is not None else None
        record = self.nodes.records.get(data["node_id"])
        if record is not None and record.approved_ms is None and grant and grant.data.get("approvedVia") == BOOTSTRAP:
            self.nodes.surfaces.admit(record)
            return
        shown = {"requestId": data["request_id"], "nodeId": data["node_id"], "displayName": data["name"]}
        shown |= {"platform": data["platform"], "commands": data["commands"], "caps": data["caps"]}
        self._push("node.pair.requested", shown | {"silent": False}, PAIRING)

    def _resolved(self, event: Event) -> None:
        data = event.data
        self._appear(data["node_id"])
        self._tools.offer(data["node_id"], self.nodes.extra.get(data["node_id"], {}).get("nodePluginTools", ()))
        shown = {"requestId": data["request_id"], "nodeId": data["node_id"], "decision": data["decision"]}
        self._push("node.pair.resolved", shown, PAIRING)

    def _changed(self, event: Event) -> None:
        connected = event.type == EVENT_NODE_CONNECTED
        if connected:
            self._appear(event.data["node_id"])
        else:
            self._tools.withdraw(event.data["node_id"])
            self._sensors.away(event.data["node_id"])
            if (record := self.nodes.records.get(event.data["node_id"])) is not None:
                self._follow_satellite(record)
        self._push("node.presence", {"nodeId": event.data["node_id"], "connected": connected}, READ)

    def _appear(self, node_id: str) -> None:
        """Show an approved node among the devices of the home, under its present name."""
        record = self.nodes.records.get(node_id)
        if record is not None and record.approved_ms is not None:
            self._sensors.appear(record)
            if NOTIFY in record.commands:
                self.phones()
            if self._node_phones is not None:
                self._node_phones.follow(record)
            self._follow_satellite(record)

    def _push(self, name: str, payload: dict[str, object], scope: str) -> None:
        self._gateway.push(Push(name, payload | {"ts": int(self._base.clock.time() * 1000)}, scope=scope))
