"""Durable writes: bytes and names that are on disk when a call returns."""

from __future__ import annotations

import os
from pathlib import Path

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def write_new(path: Path | str, data: bytes, mode: int = 0o600, *, parent: int | None = None) -> None:
    """Create a new file, and wait until its contents are on disk.

    Args:
        path: The file.
        data: Its content.
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


def write_once(path: Path, data: bytes) -> None:
    """Create a file that appears whole, for this user alone; when there is one, or another comes first, theirs stays.

    Raises:
        OSError: It could not be written.
    """
    temporary = path.with_name(f".{path.name.lstrip('.')}.{os.urandom(8).hex()}.tmp")
    try:
        write_new(temporary, data)
        try:
            os.link(temporary, path)
        except FileExistsError:
            return
        except OSError:
            if path.exists():
                return
            os.rename(temporary, path)  # a file system without hard links
        sync_directory(path.parent)
    finally:
        temporary.unlink(missing_ok=True)


def write_all(descriptor: int, data: bytes) -> None:
    """Write all bytes, in as many writes as it takes; does not sync."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def sync_directory(path: Path) -> None:
    """Wait until the names in a directory are on disk."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
