"""What a message waits for its recall: with the index awake, at rest, gone, and in a hub that has just started.

`HOMARUS_BENCH_CHUNKS=48,2000` measures other sizes than the default.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import psutil

from hub.core.clock import ManualClock
from hub.core.tasks import TaskOwner
from integrations.memory.notes.client.index_worker import IDLE_S, IndexWorker
from integrations.memory.notes.job import Job, Source
from tests.benchmarks.memory_home import Engines, MemoryHub, memory_home, write_notes
from tests.benchmarks.table import Row, row
from tests.servers.embedding_server import EmbeddingServerProcess

SIZES = "48,2000"
RUNS = 7
KILLS = 4
"""A worker that keeps dying is waited for longer each time."""
GOAL = "< 300"
ENTRY = (
    "- Kessler serviced the boiler and replaced its pump\n  _fact · 2025-05-12 10:00 · from me in `agent:main:main`_\n"
)
QUESTION = "Who was it that serviced the boiler and replaced its pump?"
STEP_S = 0.02


def measure() -> list[Row]:
    """Measure each size in a hub, then the index alone when it rests."""
    rows: list[Row] = []
    for size in map(int, os.environ.get("HOMARUS_BENCH_CHUNKS", SIZES).split(",")):
        sys.stderr.write(f"  recall, {size:,} …\n")
        rows += [*_in_a_hub(size), *asyncio.run(_at_rest(size))]
    return rows


def _in_a_hub(size: int) -> list[Row]:
    with memory_home(Engines()) as memory:
        _write(memory.workspace, size)
        memory.hub.start()
        memory.rpc("memory.index")
        _recalled_ms(memory)
        awake = [_recalled_ms(memory) for _ in range(RUNS)]
        gone, started = [], []
        for _ in range(KILLS):
            _end_worker(memory)
            gone.append(_recalled_ms(memory))
            _until_back(memory)
        for _ in range(RUNS):
            memory.close()
            memory.hub.stop()
            memory.hub.start()
            started.append(_recalled_ms(memory))
    name = f"recall, {size:,} passages"
    return [
        row(f"{name}: the index is awake", "ms", awake, GOAL),
        row(f"{name}: its process is gone", "ms", gone, GOAL),
        row(f"{name}: the hub is ready since just now", "ms", started, GOAL),
    ]


async def _at_rest(size: int) -> list[Row]:
    """Measure a search in an index that rests, and what it takes meanwhile."""
    folder = Path(tempfile.mkdtemp(prefix="homarus-bench-"))
    clock, tasks = ManualClock(), TaskOwner("bench")
    worker = IndexWorker(folder / "index", clock, tasks)
    taken, rests_mb, awake_mb = [], [], []
    try:
        with EmbeddingServerProcess() as server:
            server.set(dimensions=Engines().dimensions)
            _write(folder / "home", size)
            embeddings = {"provider": "openai", "base_url": server.base_url, "model": "instant"}
            job = Job(
                "main", str(folder / "index" / "main"), (Source("", str(folder / "home")),), {"embeddings": embeddings}
            )
            await worker.sync(job)
            for _ in range(RUNS):
                awake_mb.append(_own_mb(worker))
                while "memory index idle" in tasks.names():
                    await clock.advance(IDLE_S + 1)
                    await asyncio.sleep(STEP_S)
                rests_mb.append(_own_mb(worker))
                begun = time.perf_counter()
                answer = await worker.search(job, QUESTION, ["private"])
                taken.append((time.perf_counter() - begun) * 1_000)
                assert len(answer.engines) == 2, answer
            await worker.close()
    finally:
        await tasks.cancel_all()
        shutil.rmtree(folder)
    name = f"recall, {size:,} passages"
    return [
        row(f"{name}: the index rests: a search in it", "ms", taken, GOAL),
        row(f"{name}: own memory of an index at rest", "MB", rests_mb),
        row(f"{name}: own memory of one that is awake", "MB", awake_mb),
    ]


def _write(workspace: Path, size: int) -> None:
    (workspace / "memory").mkdir(parents=True, exist_ok=True)
    (workspace / "memory" / "2025-05-12.md").write_text(f"# 2025-05-12\n\n{ENTRY}", "utf-8")
    write_notes(workspace, size, 1)


def _recalled_ms(memory: MemoryHub) -> float:
    """Say something in a conversation of its own, and return what its trace says that the recall took."""
    mark = str(time.monotonic_ns())
    key = f"agent:main:webchat:direct:{mark}"
    memory.rpc("chat.send", {"sessionKey": key, "message": QUESTION, "idempotencyKey": mark})
    memory.rpc("agent.wait", {"runId": mark, "timeoutMs": 30_000})
    entries: list[dict[str, Any]] = memory.rpc("sessions.transcript", {"key": key})["entries"]
    [told] = [each["data"] for each in entries if (each.get("data") or {}).get("channel") == "memory"]
    assert "boiler" in told["hits"][0]["text"], told
    return float(told["took_ms"])


def _end_worker(memory: MemoryHub) -> None:
    worker = memory.worker
    assert worker is not None
    worker.kill()
    worker.wait()


def _until_back(memory: MemoryHub) -> None:
    while memory.rpc("memory.status")["index"] is None:
        time.sleep(STEP_S)


def _own_mb(worker: IndexWorker) -> float:
    """Return what a process has that no other could use: libraries are shared, and files are read again."""
    return float(psutil.Process(worker.pid).memory_full_info().uss) / 1e6
