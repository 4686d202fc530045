"""Check for free disk space: without it the hub stores nothing, loses nothing, and answers no messages."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator

from hub.doctor.check_context import CheckContext
from hub.doctor.finding import Check, Finding, critical, error, warning

MEGABYTE = 1024 * 1024
CRITICAL_FREE_BYTES = 64 * MEGABYTE
LOW_FREE_BYTES = 500 * MEGABYTE
LOW_FREE_INODES = 1_000


def _look(context: CheckContext) -> Iterator[Finding]:
    path = context.home.path
    yield from room_findings(shutil.disk_usage(path).free, str(path))
    system = os.statvfs(path)
    if system.f_files and system.f_favail < LOW_FREE_INODES:
        yield warning(f"Only {system.f_favail} more files fit on this file system.", str(path), f"df -i {path}")
    if not os.access(path, os.W_OK | os.X_OK):
        yield critical("The home directory cannot be written.", str(path), f"ls -ld {path}")


def room_findings(free_bytes: int, where: str) -> Iterator[Finding]:
    """Return findings about the free space."""
    told = f"Only {free_bytes // MEGABYTE} MB are free."
    if free_bytes < CRITICAL_FREE_BYTES:
        yield critical(f"{told} The hub cannot keep messages for long.", where, f"df -h {where}")
    elif free_bytes < LOW_FREE_BYTES:
        yield error(told, where, f"df -h {where}")


DISK = Check("disk", "Room on the disk", _look)
