"""Bytes and names that the disk has when a call returns."""

from __future__ import annotations

import os
from pathlib import Path

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def write_new(path: Path | str, data: bytes, mode: int = 0o600, *, parent: int | None = None) -> None:
    """Make a file that was not there, and wait until the disk has its contents.

    Args:
        path: The file.
        data: What it holds.
        mode: Permissions.
        parent: Descriptor of the directory that `path` is relative to.

    Raises:
        FileExistsError: There is one.
        OSError: It could not be written; what was written of it stays.
    """
    descriptor = os.open(path, _NEW, 0o600, dir_fd=parent)
    try:
        write_all(descriptor, data)
        os.fchmod(descriptor, mode)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_all(descriptor: int, data: bytes) -> None:
    """Write all of it, however little the system takes at a time; it does not wait for the disk."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def sync_directory(path: Path) -> None:
    """Wait until the disk has the names in a directory."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
