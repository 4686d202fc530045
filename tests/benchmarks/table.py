"""The rows a benchmark gives and the table they are printed in."""

from __future__ import annotations

import math
import os
import platform
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Row:
    """One figure: what was measured, how, and the goal of PERFORMANCE beside it."""

    what: str
    unit: str
    median: float
    p95: float
    runs: int
    goal: str = ""

    def as_dict(self) -> dict[str, Any]:
        """The row as plain data."""
        return {
            "what": self.what,
            "unit": self.unit,
            "median": round(self.median, 3),
            "p95": round(self.p95, 3),
            "runs": self.runs,
            "goal": self.goal,
        }


def row(what: str, unit: str, values: Sequence[float], goal: str = "") -> Row:
    """Return the row of several measurements of one thing."""
    ordered = sorted(values)
    p95 = ordered[max(0, math.ceil(0.95 * len(ordered)) - 1)]
    return Row(what, unit, statistics.median(ordered), p95, len(ordered), goal)


def fsync_ms() -> float:
    """Return the median time in milliseconds that this disk takes to promise a line."""
    taken = []
    with tempfile.NamedTemporaryFile(dir=Path.home()) as file:
        for _ in range(100):
            file.write(b"x" * 200)
            file.flush()
            begun = time.perf_counter()
            os.fsync(file.fileno())
            taken.append(time.perf_counter() - begun)
    return statistics.median(taken) * 1000


def machine() -> dict[str, Any]:
    """Return what was measured on."""
    return {
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "cores": os.cpu_count(),
        "fsync_ms": round(fsync_ms(), 3),
    }


def print_table(rows: Sequence[Row], facts: dict[str, Any]) -> None:
    """Print the rows for people."""
    sys.stdout.write("machine: " + ", ".join(f"{name} {value}" for name, value in facts.items()) + "\n\n")
    cells = [("what", "median", "p95", "unit", "runs", "goal")]
    cells += [(r.what, f"{r.median:,.2f}", f"{r.p95:,.2f}", r.unit, str(r.runs), r.goal) for r in rows]
    widths = [max(len(cell[column]) for cell in cells) for column in range(6)]
    for cell in cells:
        left, *rest = (text.ljust(width) for text, width in zip(cell, widths, strict=True))
        sys.stdout.write(
            "  ".join([left, rest[0].strip().rjust(widths[1]), rest[1].strip().rjust(widths[2]), *rest[2:]]).rstrip()
            + "\n"
        )
