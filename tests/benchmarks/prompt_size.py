"""The first request of a fresh agent for "hello", and whether its head stays the same bytes."""

from __future__ import annotations

import json

from tests.benchmarks.homes import bench_hub
from tests.benchmarks.message import Client, served_by
from tests.benchmarks.table import Row, row


def measure() -> list[Row]:
    """Say hello twice in one session and compare."""
    with bench_hub() as (hub, server):
        client = Client(served_by(hub))
        client.ask("hello", "size")
        client.ask("hello again", "size")
        first, second = server.requests()
        client.close()
    head = [json.dumps([each["body"]["messages"][0], each["body"].get("tools")]) for each in (first, second)]
    return [
        row("first request body for hello", "KB", [first["size_bytes"] / 1000], "< 12"),
        row("its head is the same bytes at the next turn", "1 = yes", [float(head[0] == head[1])], "1"),
    ]
