"""Checking a large configuration, 1 000 automations of 37 lines, as a whole process: `homarus check`."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

from tests.benchmarks.automations import LARGE, write_home
from tests.benchmarks.homes import empty_home
from tests.benchmarks.table import Row, row

ITEMS = 1_000
LINES = 37
RUNS = 5


def measure() -> list[Row]:
    """Check the home, each time in a process of its own; then break something in each item and see that it is found."""
    with empty_home() as home:
        rules = write_home(home, LARGE, ITEMS)
        text = rules.read_text()
        assert len(text.splitlines()) == ITEMS * LINES, len(text.splitlines())
        taken = [_check(home, 0) for _ in range(RUNS)]
        rules.write_text(text.replace("entity_id: person.me", "entity_id: person me"))
        broken = [_check(home, 3) for _ in range(2)]
    return [
        row(f"homarus check, {ITEMS:,} automations of {LINES} lines", "s", taken, "< 1.5"),
        row("homarus check, an error in each of them", "s", broken),
    ]


def _check(home: Path, expected: int) -> float:
    command = [str(Path(sys.executable).parent / "homarus"), "check", "--json", "--config", str(home)]
    begun = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    taken = time.perf_counter() - begun
    assert done.returncode == expected, done.stdout[:2000] + done.stderr[:2000]
    return taken
