"""Resident memory and CPU: idle, and after 400 turns with an OpenAI-compatible model."""

from __future__ import annotations

import time

import psutil

from tests.benchmarks.homes import BenchHub, bench_hub, empty_home
from tests.benchmarks.message import Client, served_by
from tests.benchmarks.table import Row, row

IDLE_S = 30.0
TURNS = 400
SESSIONS = 20


def measure() -> list[Row]:
    """Let a hub idle, then make another work."""
    with empty_home() as home, BenchHub(home) as hub:
        process = psutil.Process(hub.pid)
        time.sleep(2)
        before = process.cpu_times()
        time.sleep(IDLE_S)
        after = process.cpu_times()
        idle_mb = process.memory_info().rss / 1e6
        cpu = (after.user + after.system - before.user - before.system) / IDLE_S * 100
    with bench_hub() as (hub, _server):
        process = psutil.Process(hub.pid)
        client = Client(served_by(hub))
        for turn in range(TURNS):
            client.ask("hello", f"bench-{turn % SESSIONS}")
        client.close()
        worked_mb = process.memory_info().rss / 1e6
    return [
        row("memory, idle 30 s", "MB", [idle_mb], "< 60"),
        row("memory after 400 turns", "MB", [worked_mb], "< 90"),
        row("idle CPU", "% of a core", [cpu], "< 0.3"),
    ]
