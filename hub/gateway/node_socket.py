"""The WebSocket as a node transport: OpenClaw's node host and apps, and other programs of their protocol."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import orjson

from hub.core.errors import HubError, InvalidRequest
from hub.core.ids import new_id
from hub.gateway.calls.method_table import NODE
from hub.gateway.connection.connection import Connection
from hub.gateway.connection.outlet import EVENT
from hub.gateway.connection.protocol import CLOSE_POLICY, encode_event
from hub.gateway.push.broadcast import Broadcast
from hub.nodes.contract import Connect, Disconnect
from hub.nodes.failures import CONNECTION, NodeRefused


class SocketNode:
    """A node connected over a WebSocket.

    Args:
        connection: Its connection, which has proved its device.
    """

    def __init__(self, connection: Connection) -> None:
        client, caller = connection.client, connection.caller
        self.connection, self.host = connection, connection.host
        self.id = client.device_id or ""
        self.name = client.display_name or client.id
        self.platform = client.platform
        self.commands = frozenset(client.commands)
        self.permissions = dict(client.permissions)
        self.about: dict[str, Any] = {
            "version": client.version,
            "clientId": client.id,
            "clientMode": client.mode,
            "deviceFamily": client.device_family,
            "modelIdentifier": client.model_identifier,
            "pathEnv": client.path_env,
            "caps": list(client.caps),
            "remoteIp": caller.address if caller is not None else None,
        }
        self._waiting: dict[str, asyncio.Future[Mapping[str, Any]]] = {}
        self.keys: dict[str, str] = {}
        """The idempotency key of each invocation under way, by the id that the node knows."""

    async def invoke(
        self, command: str, params: Mapping[str, Any], *, timeout_s: float, idempotency_key: str
    ) -> Mapping[str, Any]:
        """Send `node.invoke.request` and wait for `node.invoke.result`; cancelling it sends `node.invoke.cancel`."""
        id, future = new_id(), asyncio.get_running_loop().create_future()
        self._waiting[id], self.keys[id] = future, idempotency_key
        request = {
            "id": id,
            "nodeId": self.id,
            "command": command,
            "paramsJSON": orjson.dumps(dict(params)).decode(),
            "timeoutMs": int(timeout_s * 1000),
            "idempotencyKey": idempotency_key,
        }
        self._send("node.invoke.request", request)
        try:
            answer: Mapping[str, Any] = await future
        except asyncio.CancelledError:
            self._send("node.invoke.cancel", {"invokeId": id, "nodeId": self.id})
            raise
        finally:
            del self._waiting[id], self.keys[id]
        return answer

    def settle(self, id: str, result: Mapping[str, Any]) -> bool:
        """Resolve the node's answer; return whether somebody waits for it.

        Raises:
            InvalidRequest: Its payload is not JSON.
        """
        future = self._waiting.get(id)
        if future is None or future.done():
            return False
        if not result["ok"]:
            error = result.get("error") or {}
            code, message = error.get("code") or "UNAVAILABLE", error.get("message") or "the node says no more"
            future.set_exception(NodeRefused(code[:64], message[:1_000]))
            return True
        payload = result.get("payload")
        if (text := result.get("payloadJSON")) is not None:
            try:
                payload = orjson.loads(text)
            except orjson.JSONDecodeError:
                raise InvalidRequest("payloadJSON: expected JSON") from None
        future.set_result(payload if isinstance(payload, dict) else {"value": payload})
        return True

    def lost(self) -> None:
        """Fail all pending calls: the connection has ended."""
        for future in self._waiting.values():
            if not future.done():
                future.set_exception(NodeRefused(CONNECTION, "the node disconnected", outside=False))

    def _send(self, event: str, payload: Mapping[str, Any]) -> None:
        if not self.connection.outlet.send(encode_event(event, payload), EVENT):
            self.lost()


class SocketNodes:
    """The transport.

    Args:
        broadcast: Announces clients.
    """

    name = "gateway"

    def __init__(self, broadcast: Broadcast) -> None:
        self._broadcast = broadcast
        self._nodes: dict[str, tuple[SocketNode, Disconnect]] = {}
        self._connect: Connect | None = None

    async def start(self, connect: Connect) -> None:
        """Accept nodes that connect from now on."""
        self._connect = connect
        self._broadcast.on_client(self._client)

    async def stop(self) -> None:
        """Accept no more nodes and close the connected ones."""
        self._connect = None
        for node, _ in list(self._nodes.values()):
            node.connection.close(CLOSE_POLICY, "nodes are not accepted now")

    def of(self, connection_id: str | None) -> SocketNode | None:
        """Return the node of a connection."""
        found = self._nodes.get(connection_id or "")
        return found[0] if found is not None else None

    def _client(self, connection: Connection, joined: bool) -> None:
        if joined and connection.client.role == NODE and self._connect is not None:
            node = SocketNode(connection)
            try:
                self._nodes[connection.id] = node, self._connect(node)
            except HubError as error:
                connection.close(CLOSE_POLICY, error.message)
        elif not joined and (found := self._nodes.pop(connection.id, None)) is not None:
            found[1]("it disconnected")
            found[0].lost()
