"""A program in a warm sandbox, held against `docker exec` itself."""

from __future__ import annotations

import asyncio
import subprocess
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.benchmarks.table import Row, row
from tests.integrations.sandbox.conftest import Kennel, run
from tests.servers.docker_server import docker_server

RUNS = 40


def measure() -> list[Row]:
    """Run `true` many times: in a container by the program `docker`, and in a sandbox of each engine."""
    with TemporaryDirectory() as folder, docker_server() as socket:
        return asyncio.run(_measure(Kennel(Path(folder), socket), socket))


async def _measure(kennel: Kennel, socket: str) -> list[Row]:
    (engine, container), (_, namespaces) = await kennel.open("docker"), await kennel.open("bubblewrap")
    command = ["docker", "-H", f"unix://{socket}", "exec", container.name, "true"]
    rows = [
        row(
            "docker exec, the program",
            "ms",
            await _timed(lambda: asyncio.to_thread(subprocess.run, command, check=True)),
        ),
        row(
            "exec in a warm sandbox, Docker", "ms", await _timed(lambda: run(container, "true")), "< 1.3 x docker exec"
        ),
        row("exec in a warm sandbox, bubblewrap", "ms", await _timed(lambda: run(namespaces, "true"))),
    ]
    await engine.close()
    return rows


async def _timed(work: Callable[[], Awaitable[object]]) -> list[float]:
    taken = []
    for _ in range(RUNS):
        begun = time.perf_counter()
        await work()
        taken.append((time.perf_counter() - begun) * 1_000)
    return taken
