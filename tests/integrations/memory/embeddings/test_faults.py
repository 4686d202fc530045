"""A process that is killed, a disk that is full, several at once: what was paid for stays, answers come."""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

from tests.integrations.memory.embeddings.conftest import Make
from tests.servers.embedding_server import EmbeddingServer

REPOSITORY = Path(__file__).resolve().parents[4]
LIMIT_S = 60.0


def _start(server: EmbeddingServer, cache_path: Path, count: int, file_limit: str = "") -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.integrations.memory.embeddings.worker"]
    command += [server.base_url, str(cache_path), str(count), *([file_limit] if file_limit else [])]
    return subprocess.Popen(
        command, cwd=REPOSITORY, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=dict(os.environ)
    )


def _wait_for_vectors(cache_path: Path, least: int) -> int:
    deadline = time.monotonic() + LIMIT_S
    while time.monotonic() < deadline:
        if cache_path.exists():
            with closing(sqlite3.connect(cache_path)) as database:
                try:
                    count = int(database.execute("SELECT count(*) FROM vectors").fetchone()[0])
                except sqlite3.OperationalError:
                    count = 0
            if count >= least:
                return count
        time.sleep(0.01)
    raise AssertionError(f"fewer than {least} vectors were kept")


async def test_what_was_made_before_a_kill_is_not_paid_for_again(
    server: EmbeddingServer, make: Make, cache_path: Path
) -> None:
    server.queue({"match": "text 640", "delay_s": 120.0, "always": True})
    process = _start(server, cache_path, 1_000)
    await asyncio.to_thread(_wait_for_vectors, cache_path, 256)
    process.send_signal(signal.SIGKILL)
    await asyncio.to_thread(process.communicate)
    server.reset()

    vectors, took = await (await make()).documents([f"text {number}" for number in range(1_000)])

    assert all(vector is not None for vector in vectors)
    assert took.cached >= 256
    assert took.cached + took.texts == 1_000


async def test_a_full_disk_costs_no_answer(server: EmbeddingServer, cache_path: Path) -> None:
    process = _start(server, cache_path, 300, file_limit="60000")

    out, errors = await asyncio.to_thread(process.communicate, timeout=LIMIT_S)

    assert out.split() == ["300", "384"], errors


async def test_two_processes_share_one_cache(server: EmbeddingServer, make: Make, cache_path: Path) -> None:
    processes = [_start(server, cache_path, 500) for _ in range(2)]
    outs = await asyncio.gather(*(asyncio.to_thread(each.communicate, timeout=LIMIT_S) for each in processes))

    _, took = await (await make()).documents([f"text {number}" for number in range(500)])

    assert [out.split() for out, _ in outs] == [["500", "384"]] * 2, outs
    assert took.cached == 500


async def test_several_agents_at_once_share_one_cache(server: EmbeddingServer, make: Make) -> None:
    embedders = [await make() for _ in range(4)]
    texts = [f"text {number}" for number in range(300)]

    results = await asyncio.gather(*(each.documents(texts) for each in embedders))
    _, took = await embedders[0].documents(texts)

    assert all(vector is not None for vectors, _ in results for vector in vectors)
    assert took.cached == 300
