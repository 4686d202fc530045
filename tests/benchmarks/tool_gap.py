"""A turn with tools: the time between the end of one model call and the arrival of the next."""

from __future__ import annotations

import time
from itertools import pairwise

from tests.benchmarks.homes import ANSWER, bench_hub
from tests.benchmarks.message import Client, served_by
from tests.benchmarks.relay import relay
from tests.benchmarks.table import Row, row

TURNS = 100
WARM = 10
CALLS = 4


def measure() -> list[Row]:
    """Let the model list the workspace some times and then answer; after each turn ask the bare relay as often."""
    steps = [{"tool_call": {"name": "ls", "arguments": {}}}] * CALLS
    with bench_hub() as (hub, server), relay() as (served, relayed):
        client, bare = Client(served_by(hub)), Client(served)
        relayed.set_default({"text": ANSWER})
        round_ms: list[float] = []
        for turn in range(WARM + TURNS):
            if turn == WARM:
                server.reset()
                round_ms.clear()
            server.queue(*steps, {"text": "done"})
            client.ask("look", f"gap-{turn // 10}")
            for _ in range(CALLS):
                begun = time.perf_counter()
                bare.ask("look")
                round_ms.append((time.perf_counter() - begun) * 1_000)
        arrived = [record["arrived_monotonic_ns"] for record in server.requests()]
        client.close()
        bare.close()
    gaps = [(second - first) / 1e6 for first, second in pairwise(arrived)]
    of_turn = CALLS + 1  # the gap behind the last call of a turn is between two turns
    firsts = gaps[::of_turn]
    others = [gap for at, gap in enumerate(gaps) if at % of_turn not in (0, CALLS)]
    first = row("one-tool turn: gap between the two model calls, a commit of the run's row in it", "ms", firsts, "< 3")
    further = row("each further tool call: gap between two model calls", "ms", others)
    trip = row("the relay's round trip beside them", "ms", round_ms)
    share = Row(
        "loop overhead per tool call ÷ the relay's round trip",
        "",
        further.median / trip.median,
        further.p95 / trip.p95,
        further.runs,
        "≤ 0.8",
    )
    return [first, further, trip, share]
