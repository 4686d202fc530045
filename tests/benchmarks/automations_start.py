"""Process start to HTTP ready with automations armed: 1 000 of 37 lines, 5 000 of eight; and the memory of those.

A start without automations stands beside them, taken in turns with them, since a machine's figures move.
"""

from __future__ import annotations

import time
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import psutil

from tests.benchmarks.automations import LARGE, SMALL, write_home
from tests.benchmarks.homes import BenchHub
from tests.benchmarks.start import libraries
from tests.benchmarks.table import Row, row

RUNS = 5
SETTLE_S = 3.0
"""What is written behind a start is written by then."""


def measure() -> list[Row]:
    """Start each home in turns."""
    with TemporaryDirectory(prefix="homarus-bench-") as folder:
        homes = [Path(folder) / name for name in ("none", "large", "small")]
        write_home(homes[0], SMALL, 0)
        write_home(homes[1], LARGE, 1_000)
        write_home(homes[2], SMALL, 5_000)
        taken: dict[Path, list[float]] = {home: [] for home in homes}
        bare: list[float] = []
        for home in homes:
            _start(home)
        for _ in range(RUNS):
            bare.append(libraries())
            for home in homes:
                taken[home].append(_start(home))
        none, small = _memory_mb(homes[0]), _memory_mb(homes[2])
    base, of_large, of_small = taken.values()
    added = [each - median(base) for each in of_small]
    return [
        row("import of the libraries alone (reference machine 0.19)", "s", bare),
        row("start without automations (reference machine 0.45)", "s", base),
        row("start, 1,000 automations armed", "s", of_large, "< 1.0"),
        row("load of 5,000 automations: what they add to a start", "s", added, "< 1.5"),
        row("memory of 5,000 automations armed: what they add", "MB", [small - none], "< 80"),
    ]


def _start(home: Path) -> float:
    hub = BenchHub(home)
    taken = hub.start()
    hub.stop()
    return taken


def _memory_mb(home: Path) -> float:
    with BenchHub(home) as hub:
        time.sleep(SETTLE_S)
        return psutil.Process(hub.pid).memory_info().rss / 1e6
