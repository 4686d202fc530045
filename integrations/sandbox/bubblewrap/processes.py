"""Process facts from /proc (proc(5)): state, children, and the memory of a whole process tree."""

from __future__ import annotations

import os
import re

PROCESSES_LIMIT = 40_000
_USED = re.compile(rb"^(?:RssAnon|RssShmem):\s+(\d+) kB", re.MULTILINE)


def proc_state(process: int) -> str:
    """Return the letter of a process's state; X when there is none."""
    try:
        return _read(f"/proc/{process}/stat").rpartition(b") ")[2][:1].decode()
    except OSError:
        return "X"


def proc_children(process: int) -> list[int]:
    """Return the children of a process."""
    found: list[int] = []
    try:
        for task in os.listdir(f"/proc/{process}/task"):
            found += map(int, _read(f"/proc/{process}/task/{task}/children").split())
    except OSError:
        pass  # it has ended meanwhile
    return found


def memory_use(process: int) -> int:
    """Return the bytes of memory of a process and all below it, without files that are mapped. Blocks."""
    total, waiting, seen = 0, [process], 0
    while waiting and seen < PROCESSES_LIMIT:
        each = waiting.pop()
        seen += 1
        try:
            total += sum(int(found) for found in _USED.findall(_read(f"/proc/{each}/status"))) * 1024
        except OSError:
            continue
        waiting += proc_children(each)
    return total


def _read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()
