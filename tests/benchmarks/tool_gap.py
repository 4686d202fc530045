"""A turn with one tool: the time between the end of the first model call and the second one's arrival."""

from __future__ import annotations

from tests.benchmarks.homes import bench_hub
from tests.benchmarks.message import Client, served_by
from tests.benchmarks.table import Row, row

TURNS = 100


def measure() -> list[Row]:
    """The model lists the workspace and then answers; both calls arrive at the scripted server."""
    call = {"tool_call": {"name": "ls", "arguments": {}}}
    with bench_hub() as (hub, server):
        client = Client(served_by(hub))
        for turn in range(10):
            server.queue(call, {"text": "done"})
            client.ask("look", f"warm-{turn}")
        server.reset()
        for turn in range(TURNS):
            server.queue(call, {"text": "done"})
            client.ask("look", f"gap-{turn // 10}")
        arrived = [record["arrived_monotonic_ns"] for record in server.requests()]
        client.close()
    gaps = [(second - first) / 1e6 for first, second in zip(arrived[::2], arrived[1::2], strict=True)]
    return [row("one-tool turn: gap between the two model calls", "ms", gaps, "< 3")]
