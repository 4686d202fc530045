"""The WebSocket: requests per second when they are pipelined, and how soon a hundred clients have an event."""

from __future__ import annotations

import asyncio
import time

import aiohttp

from tests.benchmarks.homes import BenchHub, empty_home
from tests.benchmarks.table import Row, row

REQUESTS = 30_000
WINDOW = 500
CLIENTS = 100
EVENTS = 40


def measure() -> list[Row]:
    """Speak the protocol as a client does."""
    with empty_home() as home, BenchHub(home) as hub:
        rate = asyncio.run(_pipelined(hub))
        hello = {"model": "homarus", "messages": [{"role": "user", "content": "hello"}]}
        hub.post("/v1/chat/completions", hello, headers={"x-homarus-session": "main"})
        spread = asyncio.run(_spread(hub))
    return [
        row("WebSocket: health requests, pipelined", "1/s", [rate], "> 30 k"),
        row(f"WebSocket: event to {CLIENTS} clients, last one", "ms", spread, "< 2"),
    ]


async def _connect(client: aiohttp.ClientSession, hub: BenchHub) -> aiohttp.ClientWebSocketResponse:
    ws = await client.ws_connect(f"{hub.url}/ws")
    await ws.receive_json()
    await ws.send_json(
        {
            "type": "req",
            "id": "connect",
            "method": "connect",
            "params": {
                "minProtocol": 4,
                "maxProtocol": 4,
                "client": {"id": "test", "version": "1", "platform": "linux", "mode": "test"},
                "scopes": ["operator.admin"],
                "auth": {"token": hub.token},
            },
        }
    )
    while True:
        answer = await ws.receive_json()
        if answer.get("id") == "connect":
            assert answer["ok"], answer
            return ws


async def _pipelined(hub: BenchHub) -> float:
    async with aiohttp.ClientSession() as client:
        ws = await _connect(client, hub)
        frame = '{"type":"req","id":"1","method":"health","params":{}}'
        begun = time.perf_counter()
        sent = received = 0
        while received < REQUESTS:
            while sent < REQUESTS and sent - received < WINDOW:
                await ws.send_str(frame)
                sent += 1
            answer = await ws.receive()
            received += '"res"' in answer.data
        return REQUESTS / (time.perf_counter() - begun)


async def _spread(hub: BenchHub) -> list[float]:
    """Patch a session and time until the last of a hundred clients has the event; clients share this process."""
    loop = asyncio.get_running_loop()
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as client:
        sockets = [await _connect(client, hub) for _ in range(CLIENTS)]
        for ws in sockets:
            await ws.send_json({"type": "req", "id": "subscribe", "method": "sessions.subscribe", "params": {}})
        arrived: asyncio.Queue[float] = asyncio.Queue()

        async def read(ws: aiohttp.ClientWebSocketResponse) -> None:
            async for message in ws:
                if '"sessions.changed"' in message.data:
                    arrived.put_nowait(loop.time())

        readers = [asyncio.ensure_future(read(ws)) for ws in sockets]
        headers = {"Authorization": f"Bearer {hub.token}"}
        taken = []
        for number in range(EVENTS):
            body = {"method": "sessions.patch", "params": {"key": "main", "label": f"name {number}"}}
            async with client.post(f"{hub.url}/api/rpc", json=body, headers=headers) as response:
                assert response.status == 200, await response.text()
                times = [await arrived.get() for _ in range(CLIENTS)]
            taken.append((max(times) - min(times)) * 1000)
        for reader in readers:
            reader.cancel()
        await asyncio.gather(*readers, return_exceptions=True)
    return taken
