"""One message: request in to first byte at the model, round trip, and CPU."""

from __future__ import annotations

import http.client
import json
import time
from typing import Any

import psutil

from tests.benchmarks.homes import bench_hub
from tests.benchmarks.table import Row, row
from tests.servers.hub_process import HubProcess

WARM = 20
MESSAGES = 300


class Client:
    """One keep-alive connection to `/v1`, from the standard library, so that the client costs little."""

    def __init__(self, hub: HubProcess) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", hub.port, timeout=60)
        self._headers = {"Authorization": f"Bearer {hub.token}", "Content-Type": "application/json"}

    def ask(self, text: str, session: str | None = None) -> dict[str, Any]:
        """Send one message and return the answer."""
        headers = self._headers | ({"x-homarus-session": session} if session else {})
        body = {"model": "homarus", "messages": [{"role": "user", "content": text}]}
        self._connection.request("POST", "/v1/chat/completions", json.dumps(body).encode(), headers)
        response = self._connection.getresponse()
        answer: dict[str, Any] = json.loads(response.read())
        assert response.status == 200, answer
        return answer

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


def measure() -> list[Row]:
    """Send messages one after the other into one persistent session, a new one every 25."""
    sent_ns, round_ms = [], []
    with bench_hub() as (hub, server):
        client = Client(hub)
        for turn in range(WARM):
            client.ask("hello", f"warm-{turn}")
        server.reset()
        server.set_default({"text": "All is well at home."})
        process = psutil.Process(hub.pid)
        before = process.cpu_times()
        for turn in range(MESSAGES):
            sent_ns.append(time.monotonic_ns())
            client.ask("hello", f"bench-{turn // 25}")
            round_ms.append((time.monotonic_ns() - sent_ns[-1]) / 1e6)
        after = process.cpu_times()
        arrived = [record["arrived_monotonic_ns"] for record in server.requests()]
        client.close()
    cpu_ms = (after.user + after.system - before.user - before.system) * 1000 / MESSAGES
    to_model = [(there - here) / 1e6 for here, there in zip(sent_ns, arrived, strict=True)]
    return [
        row("message: request in → model", "ms", to_model, "< 4 / 8"),
        row("message: round trip, instant model", "ms", round_ms, "< 7 / 15"),
        row("message: CPU of the hub", "ms", [cpu_ms], "< 3"),
    ]
