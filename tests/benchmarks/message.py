"""One message: request in to first byte at the model, round trip, and CPU."""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import psutil

from tests.benchmarks.homes import ANSWER, bench_hub
from tests.benchmarks.table import Row, row
from tests.servers.hub_process import HubProcess
from tests.servers.openai_server import OpenAIServerProcess

WARM = 20
MESSAGES = 300


@dataclass(frozen=True, slots=True)
class Served:
    """What answers `/v1`: the hub, or something to hold it against."""

    port: int
    token: str
    pid: int

    @property
    def url(self) -> str:
        """Where it answers."""
        return f"http://127.0.0.1:{self.port}"


def served_by(hub: HubProcess) -> Served:
    """Return the hub as something that answers."""
    return Served(hub.port, hub.token, hub.pid)


class Client:
    """One keep-alive connection to `/v1`, from the standard library, so that the client costs little."""

    def __init__(self, served: Served) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=60)
        self._headers = {"Authorization": f"Bearer {served.token}", "Content-Type": "application/json"}

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
    goals = {"request in → model": "< 4 / 8", "round trip, instant model": "< 7 / 15", "CPU": "< 3"}
    with bench_hub() as (hub, server):
        served = served_by(hub)
        return measure_messages(served, server, Client(served), "message", WARM, MESSAGES, goals)


def measure_messages(
    served: Served,
    server: OpenAIServerProcess,
    client: Client,
    name: str,
    warm: int,
    messages: int,
    goals: Mapping[str, str] | None = None,
) -> list[Row]:
    """Return when requests came to the model, when answers came back, and what it cost, one after the other."""
    goals = goals or {}
    for turn in range(warm):
        client.ask("hello", f"warm-{turn}")
    server.reset()
    server.set_default({"text": ANSWER})
    process = psutil.Process(served.pid)
    sent_ns, round_ms = [], []
    before = process.cpu_times()
    for turn in range(messages):
        sent_ns.append(time.monotonic_ns())
        client.ask("hello", f"bench-{turn // 25}")
        round_ms.append((time.monotonic_ns() - sent_ns[-1]) / 1e6)
    after = process.cpu_times()
    arrived = [record["arrived_monotonic_ns"] for record in server.requests()]
    client.close()
    cpu_ms = (after.user + after.system - before.user - before.system) * 1000 / messages
    to_model = [(there - here) / 1e6 for here, there in zip(sent_ns, arrived, strict=True)]
    return [
        row(f"{name}: {what}", "ms", values, goals.get(what, ""))
        for what, values in (
            ("request in → model", to_model),
            ("round trip, instant model", round_ms),
            ("CPU", [cpu_ms]),
        )
    ]
