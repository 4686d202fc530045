"""MQTT as a node transport: JSON-RPC 2.0 on `homarus/node/<id>/in` and `…/out`, with `…/status` as the node's will.

A node has been authenticated by the embedded broker, where each has a credential that opens these topics alone.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from hub.core.errors import HubError
from hub.core.ids import new_id
from hub.core.schema import ALLOW_EXTRA, All, Length, Optional, Required, Schema, SchemaError, boolean, string
from hub.core.tasks import TaskOwner
from hub.nodes.contract import Connect, Disconnect
from hub.nodes.failures import CONNECTION, NodeRefused
from hub.nodes.registry import NodeRegistry
from integrations.devices.mqtt.bridge import MqttBridge, MqttMessage
from integrations.devices.mqtt.topics import NODES

USER = "node-"
"""The user name of a node at the broker is this and its id."""
ONLINE = "online"
_WORD = All(string, Length(min=1, max=128))
HELLO = Schema(
    {
        Required("name"): _WORD,
        Required("platform"): All(string, Length(min=1, max=64)),
        Required("commands"): All([_WORD], Length(max=200)),
        Optional("permissions", default=dict): {str: boolean},
        Optional("version", default=""): All(string, Length(max=64)),
    },
    extra=ALLOW_EXTRA,
)


def topics_of(id: str) -> tuple[str, str, str]:
    """Return the topics to a node, from it, and of its status."""
    return f"{NODES}/{id}/in", f"{NODES}/{id}/out", f"{NODES}/{id}/status"


class MqttNode:
    """A node behind the broker.

    Args:
        said: Its `hello`, checked.
    """

    def __init__(self, id: str, said: Mapping[str, Any], bridge: MqttBridge, tasks: TaskOwner) -> None:
        self.id, self._tasks = id, tasks
        self.name, self.platform = said["name"], said["platform"]
        self.commands, self.permissions = frozenset(said["commands"]), dict(said["permissions"])
        self.about = {"version": said["version"], "clientId": "mqtt"}
        self._bridge = bridge
        self._topic = topics_of(id)[0]
        self._waiting: dict[str, asyncio.Future[Mapping[str, Any]]] = {}
        self.keys: dict[str, str] = {}

    async def invoke(
        self, command: str, params: Mapping[str, Any], *, timeout_s: float, idempotency_key: str
    ) -> Mapping[str, Any]:
        """Send a request and wait for its response; cancelling it sends the notification `cancel`."""
        id, future = new_id(), asyncio.get_running_loop().create_future()
        self._waiting[id], self.keys[id] = future, idempotency_key
        about = {"timeout_s": timeout_s, "idempotency_key": idempotency_key}
        try:
            await self._send({"id": id, "method": command, "params": dict(params), "homarus": about})
            answer: Mapping[str, Any] = await future
        except asyncio.CancelledError:
            if not self._tasks.closed:  # in a task of its own, since the caller may cancel twice
                self._tasks.spawn(self._cancel(id), name=f"cancel at {self.id}")
            raise
        finally:
            del self._waiting[id], self.keys[id]
        return answer

    def settle(self, id: Any, said: Mapping[str, Any]) -> None:
        """Take a response; one that nobody waits for is dropped."""
        future = self._waiting.get(id) if isinstance(id, str) else None
        if future is None or future.done():
            return
        if isinstance(error := said.get("error"), dict):
            future.set_exception(NodeRefused(str(error.get("code", ""))[:64], str(error.get("message", ""))[:1_000]))
            return
        result = said.get("result")
        future.set_result(result if isinstance(result, dict) else {"value": result})

    def lost(self) -> None:
        """Fail all pending calls: the node has disconnected."""
        for future in self._waiting.values():
            if not future.done():
                future.set_exception(NodeRefused(CONNECTION, "the node disconnected", outside=False))

    async def _cancel(self, id: str) -> None:
        with suppress(HubError):  # it is gone, and does nothing more
            await self._send({"method": "cancel", "params": {"id": id}})

    async def _send(self, said: Mapping[str, Any]) -> None:
        await self._bridge.publish(self._topic, json.dumps({"jsonrpc": "2.0", **said}), qos=1)


class MqttNodes:
    """The transport.

    Args:
        ids: The nodes that have a credential.
        registry: Takes what nodes report.
    """

    name = "mqtt"

    def __init__(self, ids: frozenset[str], bridge: MqttBridge, registry: NodeRegistry) -> None:
        self._ids, self._bridge, self._registry = ids, bridge, registry
        self._connect: Connect | None = None
        self._nodes: dict[str, tuple[MqttNode, Disconnect]] = {}
        self._tasks = TaskOwner("mqtt nodes")
        self._ends: list[Any] = []

    async def start(self, connect: Connect) -> None:
        """Take the nodes that say hello from now on, and ask those that are there for it."""
        self._connect = connect
        for id in self._ids:
            _, out, status = topics_of(id)
            self._ends.append(self._bridge.listen(out, self._came, large=True))
            self._ends.append(self._bridge.listen(status, self._status))
        self._ends.append(self._bridge.on_change(self._connection_changed))

    async def stop(self) -> None:
        """Disconnect all nodes."""
        self._connect = None
        for end in self._ends:
            end()
        for id in list(self._nodes):
            self._gone(id, "MQTT nodes are not accepted now")
        await self._tasks.cancel_all()

    def _connection_changed(self, connected: bool) -> None:
        if connected:
            for id in self._ids:
                self._tell(id, {"method": "hello"})
            return
        for id in list(self._nodes):
            self._gone(id, "the connection to the broker is lost")

    def _tell(self, id: str, said: Mapping[str, Any]) -> None:
        async def tell() -> None:
            with suppress(HubError):  # there is no connection; the next one asks it to say hello
                await self._bridge.publish(topics_of(id)[0], json.dumps({"jsonrpc": "2.0", **said}), qos=1)

        self._tasks.spawn(tell(), name=f"tell {id} over MQTT")

    def _status(self, message: MqttMessage) -> None:
        id = message.topic.split("/")[2]
        if message.payload != ONLINE.encode():
            self._gone(id, "it is offline")

    def _came(self, message: MqttMessage) -> None:
        id = message.topic.split("/")[2]
        try:
            said = json.loads(message.payload)
        except (ValueError, RecursionError):
            return
        if not isinstance(said, dict) or message.retain:
            return
        params = said.get("params")
        match said.get("method"):
            case "hello":
                self._hello(id, params)
            case "event" if isinstance(params, dict) and isinstance(params.get("event"), str):
                self._registry.event(id, params["event"][:128], params.get("data"))
            case "progress" if isinstance(params, dict) and (node := self._nodes.get(id)) is not None:
                key = node[0].keys.get(str(params.get("id")))
                if key is not None:
                    self._registry.progress(id, key, str(params.get("text", "")))
            case None if (node := self._nodes.get(id)) is not None:
                node[0].settle(said.get("id"), said)

    def _hello(self, id: str, params: Any) -> None:
        if self._connect is None:
            return
        try:
            said = HELLO(params if isinstance(params, dict) else {})
        except SchemaError as error:
            self._tell(id, {"id": None, "error": {"code": -32602, "message": str(error)[:500]}})
            return
        self._gone(id, "it says hello again")
        node = MqttNode(id, said, self._bridge, self._tasks)
        self._nodes[id] = (node, self._connect(node))

    def _gone(self, id: str, reason: str) -> None:
        found = self._nodes.pop(id, None)
        if found is not None:
            found[0].lost()
            found[1](reason)


def credentials(nodes: Mapping[str, Mapping[str, Any]]) -> dict[str, tuple[str, tuple[str, ...], tuple[str, ...]]]:
    """Return password, readable and writable topics of each node, by its user name at the broker."""
    found: dict[str, tuple[str, tuple[str, ...], tuple[str, ...]]] = {}
    for id, each in nodes.items():
        into, out, status = topics_of(id)
        found[f"{USER}{id}"] = (each["password"].reveal(), (into,), (out, status))
    return found
