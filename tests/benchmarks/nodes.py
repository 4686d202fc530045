"""Five hundred nodes that lose the hub at once and log in again, all at the same time."""

from __future__ import annotations

import asyncio
import tempfile
import time
from pathlib import Path
from typing import Any

import aiohttp

from tests.benchmarks.table import Row, row
from tests.gateway.rig import Client, Device
from tests.gateway.test_nodes import NODE_HOST
from tests.servers.hub_process import HubProcess

NODES = 500
P99_GOAL_MS = 1_000
CONFIGURATION = f"""\
hub: {{name: Test}}
models: {{default: offline/rules}}
memory: {{embeddings: {{provider: none}}}}
http: {{limits: {{sockets: {NODES}, sockets_per_address: {NODES}}}}}
"""
"""All of them come from one address here; at home each has its own."""


def measure() -> list[Row]:
    """Log in with the hub token, drop, and log in again with the device token."""
    with tempfile.TemporaryDirectory() as folder:
        hub = HubProcess(Path(folder) / "home")
        hub.home.mkdir()
        (hub.home / "configuration.yaml").write_text(CONFIGURATION)
        hub.start()
        try:
            taken, connected = asyncio.run(_storm(hub))
        finally:
            hub.stop()
    if connected != NODES:
        raise RuntimeError(f"{connected} of {NODES} nodes are connected")
    return [row(f"nodes: {NODES} log in again at once", "ms", taken, f"p99 < {P99_GOAL_MS}")]


async def _storm(hub: HubProcess) -> tuple[list[float], int]:
    devices = [Device() for _ in range(NODES)]
    taken: list[float] = []

    async def again(
        session: aiohttp.ClientSession, device: Device, token: str
    ) -> tuple[aiohttp.ClientWebSocketResponse, Any]:
        begun = time.perf_counter()
        made = await _login(session, hub, device, {"deviceToken": token})
        taken.append((time.perf_counter() - begun) * 1000)
        return made

    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:
        first = [await _login(session, hub, device, {"token": hub.token}) for device in devices]
        await asyncio.gather(*(socket.close() for socket, _ in first))
        tokens = [token for _, token in first]
        kept = await asyncio.gather(*(again(session, *each) for each in zip(devices, tokens, strict=True)))
        listed = await asyncio.to_thread(hub.rpc, "node.list")
        await asyncio.gather(*(socket.close() for socket, _ in kept))
    return taken, sum(each["connected"] for each in listed["nodes"])


async def _login(
    session: aiohttp.ClientSession, hub: HubProcess, device: Device, auth: dict[str, str]
) -> tuple[aiohttp.ClientWebSocketResponse, Any]:
    """Connect a node; return its socket and its token."""
    socket = await session.ws_connect(f"{hub.url}/ws", max_msg_size=0)
    client = Client(socket)
    client.nonce = (await client.frame(60))["payload"]["nonce"]
    answer = await client.connect(device, **(NODE_HOST | {"auth": auth}))
    return socket, answer["payload"]["auth"]["deviceToken"]
