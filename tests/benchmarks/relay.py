"""The limit of this machine: the same measurements through a bare relay, to hold the hub's figures against."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from tests.benchmarks.homes import ANSWER
from tests.benchmarks.message import MESSAGES, WARM, Client, Served, measure_messages
from tests.benchmarks.table import Row, row
from tests.benchmarks.throughput import MESSAGES as LOAD, load
from tests.servers.forked import REPOSITORY
from tests.servers.openai_server import OpenAIServerProcess


@contextmanager
def relay() -> Iterator[tuple[Served, OpenAIServerProcess]]:
    """A relay in a process of its own."""
    with OpenAIServerProcess() as server:
        server.set_default({"text": ANSWER})
        command = [sys.executable, "-m", "tests.benchmarks.relay_server", server.base_url]
        process = subprocess.Popen(command, cwd=REPOSITORY, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        try:
            yield Served(int(json.loads(process.stdout.readline())["port"]), "none", process.pid), server
        finally:
            process.terminate()
            process.wait(10)


def measure() -> list[Row]:
    """One message after the other, then many at once."""
    with relay() as (served, server):
        rows = measure_messages(served, server, Client(served), "relay", WARM, MESSAGES)
        for sessions in (20, 100):
            rate, waits = asyncio.run(load(served, sessions, LOAD))
            rows.append(row(f"relay: {sessions} at once", "msg/s", [rate]))
            rows.append(row(f"relay: {sessions} at once: wait for an answer", "ms", waits))
    return rows
