"""The connected nodes, their permitted commands, and their events."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from hub.core.clock import ALWAYS, Lease
from hub.core.context import Context
from hub.core.errors import Conflict, HubError
from hub.core.events import EventBus
from hub.core.ids import new_id
from hub.core.plain_words import is_plain
from hub.core.tasks import TaskOwner
from hub.nodes.commands import CommandRules
from hub.nodes.contract import Disconnect, Node, NodeTransport
from hub.nodes.failures import BACKGROUND, CONNECTION, NOT_READY, NodeRefused, NodeTimedOut
from hub.nodes.records import NodeRecord, node_data
from hub.nodes.surfaces import NodeSurfaces, shown
from hub.nodes.work import COMMAND, NodeWork, PendingWork

_log = logging.getLogger(__name__)

EVENT_NODE_CONNECTED = "node_connected"
EVENT_NODE_DISCONNECTED = "node_disconnected"
EVENT_NODE_EVENT = "node_event"
INVOKE_LIMIT_S = 30.0
READY_TRIES = 4
SEEN_EVERY_MS = 60_000
READY_WAIT_S = 0.25
ANSWERS_KEPT = 256
ANSWER_KEPT_CHARS = 65_536

Progress = Callable[[str], None]
"""Takes a piece of what a node puts out while it works."""


class ConnectedNode(Struct, frozen=True):
    """A node, and its transport."""

    node: Node
    transport: str
    connected_ms: int


class NodeRegistry:
    """Knows every node, asks those that are connected, and starts and stops the transports.

    Args:
        bus: Receives `node_connected`, `node_disconnected` and `node_event`.
        wall_time: Seconds since the epoch.
        surfaces: Known nodes, and their approved commands.
        work: Work that waits for sleeping nodes.
        tasks: Owns the work after a node connects.

    Attributes:
        lease: Waited for before each command.
    """

    def __init__(
        self, bus: EventBus, wall_time: Callable[[], float], surfaces: NodeSurfaces, work: PendingWork, tasks: TaskOwner
    ) -> None:
        self._bus = bus
        self._wall_time = wall_time
        self.surfaces = surfaces
        self.records = surfaces.records
        self.work = work
        self._tasks = tasks
        self.lease: Lease = ALWAYS
        self.extra: dict[str, dict[str, Any]] = {}
        """What connected nodes said after they connected, as `node.list` shows it: `hostStats`, `nodePluginTools`."""
        self.skills: dict[str, Mapping[str, str]] = {}
        """The skills that connected nodes offer: by node, their text by name."""
        self._transports: dict[str, NodeTransport] = {}
        self._nodes: dict[str, ConnectedNode] = {}
        self._flights: dict[tuple[str, str], asyncio.Future[Mapping[str, Any]]] = {}
        self._answers: dict[tuple[str, str], Mapping[str, Any] | None] = {}
        self._progress: dict[tuple[str, str], Progress] = {}

    def configure(self, rules: CommandRules) -> None:
        """Replace the command rules; they apply from the next call on."""
        self.surfaces.rules = rules
        for connected in self.all():
            self.surfaces.declare(connected.node, self.surfaces.require(connected.node.id))

    async def add(self, transport: NodeTransport) -> None:
        """Start a transport.

        Raises:
            Conflict: There is one with that name.
        """
        name = transport.name
        if name in self._transports:
            raise Conflict(f"there is a node transport {name} already")
        self._transports[name] = transport
        try:
            await transport.start(lambda node: self._connect(node, transport))
        except BaseException:
            self._drop(name)
            raise

    async def remove(self, name: str) -> None:
        """Stop a transport; its nodes are disconnected. Nothing happens when it is not there."""
        transport = self._transports.get(name)
        self._drop(name)
        if transport is not None:
            await transport.stop()

    def all(self) -> list[ConnectedNode]:
        """Return all nodes that are connected, by id."""
        return [self._nodes[id] for id in sorted(self._nodes)]

    def get(self, id: str) -> Node | None:
        """Return a node, or None when it is not connected."""
        found = self._nodes.get(id)
        return None if found is None else found.node

    def commands(self, id: str) -> frozenset[str]:
        """Return the commands of a connected node: declared, approved and permitted; none for any other."""
        node = self.get(id)
        return frozenset() if node is None else self.surfaces.commands(node)

    def node_data(self, record: NodeRecord) -> dict[str, Any]:
        """Return a node as the protocol lists it, whether it is connected or not."""
        id = record.id
        return node_data(record, self.commands(id), self.extra.get(id, {}), connected=id in self._nodes)

    async def invoke(
        self,
        id: str,
        command: str,
        params: Mapping[str, Any] | None = None,
        *,
        timeout_s: float = INVOKE_LIMIT_S,
        key: str | None = None,
        on_progress: Progress | None = None,
    ) -> Mapping[str, Any]:
        """Send a node a command; cancelling it cancels the command on the node.

        Args:
            key: The same key means the same invocation: it is done once, and answered again.
            on_progress: Takes the node's output before the end.

        Raises:
            NotFound: There is no such node.
            NodeRefused: It is not connected, or answered with an error.
            CommandNotAllowed: It does not have the command, or may not be sent it.
            NodeTimedOut: It did not answer in time.
        """
        node = self._judge(id, command)
        place = (id, key or new_id())
        if place in self._answers:
            return self._answered(place)
        flight = self._flights.get(place)
        if flight is not None:
            return await asyncio.shield(flight)
        if on_progress is not None:
            self._progress[place] = on_progress
        flight = self._flights[place] = asyncio.get_running_loop().create_future()
        try:
            answer = await self._ask(node, command, params or {}, timeout_s, place[1])
            flight.set_result(answer)
        except HubError as error:
            flight.set_exception(error)
            flight.exception()  # others may wait for it, but need not
            raise
        finally:
            flight.cancel()
            self._flights.pop(place, None)
            self._progress.pop(place, None)
        if key is not None:
            self._keep(place, answer)
        return answer

    async def queue(self, id: str, command: str, params: Mapping[str, Any], **how: Any) -> NodeWork:
        """Queue a command until a node next connects; its answer comes as its event `invoke.result`.

        Raises:
            NotFound: There is no such node.
            CommandNotAllowed: It may not be sent this command.
        """
        record = self.surfaces.require(id)
        if not self.surfaces.may_queue(record, command):
            raise self.surfaces.refusal(record, self.get(id), command)
        return await self.work.add(id, COMMAND, {"command": command, "params": dict(params)}, **how)

    def progress(self, id: str, key: str, text: str) -> None:
        """Handle a node's progress output, from its transport."""
        listener = self._progress.get((id, key))
        if listener is not None:
            listener(text)

    def event(self, id: str, name: str, data: Any) -> bool:
        """Fire `node_event` for what a node reports; return whether it is connected and approved."""
        record = self.records.get(id)
        if record is None or id not in self._nodes or record.approved_ms is None:
            return False
        self.record_activity(id, name)
        self._bus.fire(EVENT_NODE_EVENT, {**shown(record), "event": name, "data": data})
        return True

    def scanned(self, id: str, tag: dict[str, Any], context: Context) -> bool:
        """Fire `tag_scanned` for a tag that a phone has read; return whether it is connected and approved."""
        record = self.records.get(id)
        if record is None or id not in self._nodes or record.approved_ms is None:
            return False
        self.record_activity(id, "tag")
        self._bus.fire("tag_scanned", tag, context)
        return True

    def note(self, id: str, key: str, value: Any) -> None:
        """Record what a connected node reports about itself, for `node.list`."""
        if id in self._nodes:
            self.extra.setdefault(id, {})[key] = value

    def record_activity(self, id: str, reason: str) -> None:
        """Record that a node was active; written at most once a minute."""
        record = self.records.get(id)
        if record is not None and self._now_ms() - (record.seen_ms or 0) >= SEEN_EVERY_MS:
            self.records.put(replace(record, seen_ms=self._now_ms(), seen_reason=reason[:64]))

    async def forget(self, id: str) -> None:
        """Forget a node and its pending work.

        Raises:
            NotFound: There is no such node.
        """
        record = self.surfaces.require(id)
        await self.work.forget(record.id)
        self.records.remove(record.id)

    def _judge(self, id: str, command: str) -> Node:
        node, record = self.get(id), self.surfaces.require(id)
        if node is None:
            told = f"the node {record.title} is not connected"
            raise NodeRefused(CONNECTION, told, outside=not is_plain(record.title))
        if command not in self.commands(id):
            raise self.surfaces.refusal(record, node, command)
        return node

    async def _ask(
        self, node: Node, command: str, params: Mapping[str, Any], timeout_s: float, key: str
    ) -> Mapping[str, Any]:
        try:
            async with asyncio.timeout(timeout_s):
                for wait_s in (READY_WAIT_S * 2**n for n in range(READY_TRIES)):
                    await self.lease.held()
                    try:
                        return await node.invoke(command, params, timeout_s=timeout_s, idempotency_key=key)
                    except NodeRefused as error:
                        if error.node_code != NOT_READY:
                            raise
                        await asyncio.sleep(wait_s)
                await self.lease.held()
                return await node.invoke(command, params, timeout_s=timeout_s, idempotency_key=key)
        except TimeoutError as error:
            raise NodeTimedOut from error

    def _keep(self, place: tuple[str, str], answer: Mapping[str, Any]) -> None:
        while len(self._answers) >= ANSWERS_KEPT:
            del self._answers[next(iter(self._answers))]
        self._answers[place] = answer if len(str(answer)) <= ANSWER_KEPT_CHARS else None

    def _answered(self, place: tuple[str, str]) -> Mapping[str, Any]:
        answer = self._answers[place]
        if answer is None:
            raise Conflict("this was done and answered already, and the answer was too large to be kept")
        return answer

    def _connect(self, node: Node, transport: NodeTransport) -> Disconnect:
        """Add a node; one of the same id and transport is replaced.

        Raises:
            Conflict: Another transport has a node of this id, or the transport was stopped.
            LimitExceeded: Too many nodes are known.
        """
        name = transport.name
        if self._transports.get(name) is not transport:
            raise Conflict(f"the node transport {name} was stopped")
        before = self._nodes.get(node.id)
        if before is not None and before.transport != name:
            raise Conflict(f"the node {node.id} is connected by {before.transport}")
        now = self._now_ms()
        record = self.records.get(node.id) or NodeRecord(node.id, node.name, node.platform, now)
        record = self.records.put(
            replace(
                record,
                name=node.name,
                platform=node.platform,
                about=dict(getattr(node, "about", {})),
                permissions=dict(node.permissions),
                transport=name,
                connected_ms=now,
                seen_ms=now,
                seen_reason="connect",
            )
        )
        if before is not None:
            self._disconnect(before, "it connected again")
        connected = self._nodes[node.id] = ConnectedNode(node, name, now)
        self.surfaces.declare(node, record)
        self._bus.fire(EVENT_NODE_CONNECTED, shown(record))
        self.begin_work(node.id)
        return lambda reason: self._disconnect(connected, reason)

    def begin_work(self, id: str) -> None:
        """Do the pending work of a node, if it is connected and permitted."""
        if id in self._nodes and any("foreground" not in each.data for each in self.work.of(id, COMMAND)):
            self._tasks.spawn(self._do_work(id), name="work of a node")

    async def _do_work(self, id: str) -> None:
        for item in self.work.of(id, COMMAND):
            command = str(item.data.get("command"))
            if "foreground" in item.data or command not in self.commands(id):
                continue
            try:
                payload = await self.invoke(id, command, item.data.get("params", {}), key=item.id)
                answer: dict[str, Any] = {"ok": True, "payload": payload}
            except NodeRefused as error:
                if error.node_code in (CONNECTION, BACKGROUND):
                    return
                answer = {"ok": False, "error": error.message}
            except HubError as error:
                answer = {"ok": False, "error": error.message}
            await self.work.remove(id, [item.id])
            self.event(id, "invoke.result", {"id": item.id, "command": command, **answer})

    def _disconnect(self, connected: ConnectedNode, reason: str) -> None:
        id = connected.node.id
        if self._nodes.get(id) is connected:
            del self._nodes[id]
            self.extra.pop(id, None)
            self.skills.pop(id, None)
            self.record_activity(id, "disconnect")
            record = self.records.get(id)
            facts = shown(record) if record is not None else {"node_id": id, "name": connected.node.name}
            self._bus.fire(EVENT_NODE_DISCONNECTED, {**facts, "reason": reason})

    def _drop(self, name: str) -> None:
        self._transports.pop(name, None)
        for connected in self.all():
            if connected.transport == name:
                self._disconnect(connected, f"{name} was stopped")

    def _now_ms(self) -> int:
        return int(self._wall_time() * 1000)
