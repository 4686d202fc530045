"""A node transport: devices that the hub can ask to do something connect by it.

This one takes nodes over TCP: one line `ID NAME` when they connect, then a line of JSON for each command and one for
each answer. In `configuration.yaml`: `kiosk: {node_port: 7778}` and `nodes: {commands: {allow: [switch]}}`; then
`homarus nodes approve lamp-1`, once. `homarus nodes list` shows the nodes, and the trigger `node` fires when one comes
or goes.

- `connect(node)` returns the function to call when the node has gone. A node's `id` must be proved (by a key, a
  password) and never change.
- The transport moves bytes; what a node may be asked is for the hub to decide. `invoke` is cancelled when `timeout_s`
  is over.
- A node may have an attribute `about`, a mapping of what else it says of itself: `version`, `caps`, `deviceFamily`.
  What it reports is passed on with `host.nodes.registry.event(id, name, data)`; output of a command under way with
  `progress(id, key, text)`.

The contract: `hub/nodes/contract.py`.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any

from hub.core.errors import Unavailable
from hub.core.schema import Required, Schema, boolean, string
from hub.core.services import ResponseMode, ServiceCall
from hub.host import IntegrationHost
from hub.nodes.contract import Connect


async def add(host: IntegrationHost, config: Mapping[str, Any]) -> None:
    """Take nodes, if there is a port for them, and switch them with the service `kiosk.switch`."""
    if "node_port" not in config:
        return

    async def switch(call: ServiceCall) -> Mapping[str, Any]:
        return await host.nodes.registry.invoke(call.data["lamp"], "switch", {"on": call.data["on"]})

    await host.nodes.add(Lamps(config["node_port"]))
    schema = Schema({Required("lamp"): string, Required("on"): boolean})
    host.services.register("switch", switch, schema, ResponseMode.OPTIONAL)


class Lamp:
    """A device that is connected; it is asked one thing at a time."""

    platform = "linux"
    commands = frozenset({"switch"})
    permissions: Mapping[str, bool] = {}

    def __init__(self, id: str, name: str, writer: asyncio.StreamWriter) -> None:
        self.id, self.name = id, name
        self.answers: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()
        self._writer = writer
        self._asking = asyncio.Lock()

    async def invoke(
        self, command: str, params: Mapping[str, Any], *, timeout_s: float, idempotency_key: str
    ) -> Mapping[str, Any]:
        """Ask it to do a command, and return its answer."""
        async with self._asking:
            question = {"command": command, "key": idempotency_key, **params}
            self._writer.write(json.dumps(question).encode() + b"\n")
            while True:
                answer = await self.answers.get()
                if answer is None:
                    raise Unavailable(f"{self.name} has gone")
                if answer["key"] == idempotency_key:
                    return answer


class Lamps:
    """Takes the lamps that connect to a port."""

    name = "kiosk"

    def __init__(self, port: int) -> None:
        self._port = port
        self._writers: set[asyncio.StreamWriter] = set()

    async def start(self, connect: Connect) -> None:
        """Listen."""
        self._connect = connect
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self._port)

    async def stop(self) -> None:
        """Let go of all of them."""
        self._server.close()
        for writer in self._writers:
            writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        id, _, name = (await reader.readline()).decode().strip().partition(" ")
        lamp = Lamp(id, name, writer)
        disconnected = self._connect(lamp)
        while line := await reader.readline():
            lamp.answers.put_nowait(json.loads(line))
        lamp.answers.put_nowait(None)
        disconnected("the connection ended")
        self._writers.discard(writer)
        writer.close()
