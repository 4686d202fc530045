"""Many sessions at once: messages per second and how long each waits."""

from __future__ import annotations

import asyncio
import time

import aiohttp

from tests.benchmarks.homes import bench_hub
from tests.benchmarks.message import Served, served_by
from tests.benchmarks.table import Row, row

MESSAGES = 1_500


def measure() -> list[Row]:
    """Twenty, then a hundred sessions, each sending its next message when it has the answer to the last."""
    rows: list[Row] = []
    with bench_hub() as (hub, _server):
        served = served_by(hub)
        asyncio.run(load(served, 20, 200))
        for sessions in (20, 100):
            rate, waits = asyncio.run(load(served, sessions, MESSAGES))
            rows.append(row(f"{sessions} sessions at once", "msg/s", [rate], "> 300"))
            goal = "p50 < 400" if sessions == 100 else ""
            rows.append(row(f"{sessions} sessions at once: wait for an answer", "ms", waits, goal))
    return rows


async def load(served: Served, sessions: int, messages: int) -> tuple[float, list[float]]:
    """Return messages per second and each wait in milliseconds."""
    waits: list[float] = []
    headers = {"Authorization": f"Bearer {served.token}"}
    body = {"model": "homarus", "messages": [{"role": "user", "content": "hello"}]}
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(served.url, headers=headers, connector=connector) as client:

        async def talk(number: int) -> None:
            for turn in range(messages // sessions):
                begun = time.perf_counter()
                session = f"load-{sessions}-{number}-{turn // 25}"
                async with client.post(
                    "/v1/chat/completions", json=body, headers={"x-homarus-session": session}
                ) as response:
                    text = await response.text()
                    assert response.status == 200, text
                waits.append((time.perf_counter() - begun) * 1000)

        begun = time.perf_counter()
        await asyncio.gather(*(talk(number) for number in range(sessions)))
        return len(waits) / (time.perf_counter() - begun), waits
