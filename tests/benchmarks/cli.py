"""What short commands cost, as whole processes."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

from tests.benchmarks.homes import BenchHub, empty_home
from tests.benchmarks.table import Row, row

RUNS = 15


def measure() -> list[Row]:
    """Run the installed command."""
    command = str(Path(sys.executable).parent / "homarus")
    with empty_home() as home, BenchHub(home):
        version = [_time(command, "--version") for _ in range(RUNS)]
        status = [_time(command, "status", "--json", "--config", str(home)) for _ in range(RUNS)]
        reply = [_time(command, "chat", "hello", "--json", "--config", str(home)) for _ in range(RUNS)]
    return [
        row("homarus --version", "s", version, "< 0.08"),
        row("homarus status --json", "s", status, "< 0.25"),
        row("homarus chat hello (offline model)", "s", reply),
    ]


def _time(*command: str) -> float:
    begun = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    return time.perf_counter() - begun
