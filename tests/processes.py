"""Processes that a test has to see end."""

from __future__ import annotations

from pathlib import Path


def runs(pid: int) -> bool:
    """Whether a process runs: one that has ended and waits for its parent does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):  # the second: it went between the opening and the reading
        return False
