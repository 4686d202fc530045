"""Finds the programs that only the owner of the system can change."""

from __future__ import annotations

import os
import stat
from pathlib import PurePosixPath

SYSTEM = ("/usr/bin", "/usr/sbin", "/bin", "/sbin")


def is_system_program(path: str) -> bool:
    """Whether a real path is in a system folder, and only root may change anything along it."""
    if not any(path.startswith(f"{folder}/") for folder in SYSTEM):
        return False
    for each in (PurePosixPath(path), *PurePosixPath(path).parents):
        found = os.lstat(each)
        if found.st_uid != 0 or stat.S_ISLNK(found.st_mode) or found.st_mode & 0o022:
            return False
    return True
