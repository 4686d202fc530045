"""Process start to HTTP ready, and to the first reply, on the starter configuration."""

from __future__ import annotations

import subprocess
import sys
import time

from tests.benchmarks.homes import BenchHub, empty_home
from tests.benchmarks.table import Row, row

RUNS = 10


def measure() -> list[Row]:
    """Start hubs on the starter configuration: the first makes its home, the others find it."""
    ready, replied, fresh = [], [], []
    with empty_home() as home:
        for run in range(RUNS + 1):
            hub = BenchHub(home)
            begun = time.perf_counter()
            took = hub.start()
            hub.post("/v1/chat/completions", {"model": "homarus", "messages": [{"role": "user", "content": "hello"}]})
            first = time.perf_counter() - begun
            hub.stop()
            if run:
                ready.append(took)
                replied.append(first)
            else:
                fresh.append(took)
    return [
        row("import of the libraries alone (reference machine 0.19)", "s", [libraries() for _ in range(RUNS)]),
        row("start, empty home: process to ready", "s", fresh),
        row("start: process to HTTP ready", "s", ready, "< 0.45"),
        row("start: process to first reply (offline model)", "s", replied, "< 0.6"),
    ]


def libraries() -> float:
    """Return what the libraries that stand at start cost a bare process: what a machine's figures scale with."""
    begun = time.perf_counter()
    command = [sys.executable, "-c", "import aiohttp.web, voluptuous, click, orjson, ruamel.yaml"]
    subprocess.run(command, check=True)
    return time.perf_counter() - begun
