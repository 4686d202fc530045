"""Atomic file writes, appended lines, bounded reads; and the small files of a home, which may be kept elsewhere."""

from __future__ import annotations

import os
import secrets
import time
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from hub.core.durable import sync_directory, write_all, write_new
from hub.core.errors import LimitExceeded
from hub.storage.errors import from_os

TEMPORARY_PREFIX = ".homarus-"
TEMPORARY_SUFFIX = ".tmp"
UNFINISHED_S = 60.0
"""After which nobody is writing a temporary file any more."""


def write_atomic(path: Path, data: bytes, mode: int = 0o600) -> None:
    """Replace the contents of a file atomically, even across a crash.

    A symlink at `path` is followed, so that a person may keep the file elsewhere. It blocks until the disk has it.

    Args:
        mode: Permissions of a new file; an existing one keeps its own.

    Raises:
        StorageError: It could not be written; the old contents are untouched.
    """
    try:
        target = path.resolve()
        with suppress(FileNotFoundError):
            mode = target.stat().st_mode & 0o777
        temporary = target.with_name(f"{TEMPORARY_PREFIX}{secrets.token_hex(8)}{TEMPORARY_SUFFIX}")
        try:
            write_new(temporary, data, mode)
            os.replace(temporary, target)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        sync_directory(target.parent)
    except OSError as error:
        raise from_os(error, path, "writing") from error


def remove_unfinished(folder: Path) -> None:
    """Delete the files that a crash left in a folder as they were being written, up to a minute ago."""
    for path in folder.glob(f"{TEMPORARY_PREFIX}{'[0-9a-f]' * 16}{TEMPORARY_SUFFIX}"):
        with suppress(OSError):
            if time.time() - path.lstat().st_mtime > UNFINISHED_S:  # a command may be writing one now
                path.unlink()


def append_line(path: Path, line: bytes, mode: int = 0o600, *, sync: bool = True) -> None:
    """Append one line to a file, making it when there is none.

    A last line that a crash left without its end is closed first, so that the new line is separate.

    Args:
        line: Without the newline.
        sync: Whether to wait until the disk has it.

    Raises:
        ValueError: The line contains a newline.
        StorageError: It could not be written; the existing content is untouched.
    """
    if b"\n" in line:
        raise ValueError("expected one line, got a text with a newline")
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, mode)
        try:
            size = os.fstat(descriptor).st_size
            torn = size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"
            try:
                write_all(descriptor, (b"\n" if torn else b"") + line + b"\n")
            except OSError:
                os.ftruncate(descriptor, size)
                raise
            if sync:
                os.fdatasync(descriptor)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise from_os(error, path, "appending to") from error


def read_bounded(path: Path, limit: int) -> bytes:
    """Return the contents of a file.

    Args:
        limit: Bytes it may have at most.

    Raises:
        FileNotFoundError: There is no such file.
        LimitExceeded: It is larger.
        StorageError: It could not be read.
    """
    try:
        with path.open("rb") as file:
            data = file.read(limit + 1)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise from_os(error, path, "reading") from error
    if len(data) > limit:
        raise LimitExceeded(f"{path} is larger than {limit} bytes and was not read", details={"file": str(path)})
    return data


class Documents(Protocol):
    """The small files of a home's `.storage`, each named by its path there.

    Where `storage:` names a database they are rows of it. All methods block, and are never called in the event loop.
    What writes is called with `DOCUMENTS.run`: it may wait for a server, and the threads that all share must not.
    """

    def read(self, path: Path, limit_bytes: int) -> bytes:
        """Return the contents of a document; see `read_bounded`."""
        ...

    def write(self, path: Path, data: bytes) -> None:
        """Replace a document, whole or not at all; it is kept durably when this returns.

        Raises:
            StorageError: It could not be written; the old contents are untouched.
        """
        ...

    def exists(self, path: Path) -> bool:
        """Return whether there is such a document."""
        ...

    def rename(self, path: Path, target: Path) -> None:
        """Give a document another name.

        Raises:
            StorageError: It could not be done.
        """
        ...

    def prune(self, folder: Path, limit: int) -> None:
        """Delete the documents of a folder that were written longest ago, beyond a number of them."""
        ...


class FileDocuments:
    """The small files of a home as what they are; see `Documents`."""

    def read(self, path: Path, limit_bytes: int) -> bytes:
        """Return the contents of a file."""
        return read_bounded(path, limit_bytes)

    def write(self, path: Path, data: bytes) -> None:
        """Replace a file; its folder is made when it is missing."""
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise from_os(error, path, "writing") from error
        write_atomic(path, data)

    def exists(self, path: Path) -> bool:
        """Return whether there is such a file."""
        return path.exists()

    def rename(self, path: Path, target: Path) -> None:
        """Rename a file."""
        try:
            os.replace(path, target)
        except OSError as error:
            raise from_os(error, path, "setting aside") from error

    def prune(self, folder: Path, limit: int) -> None:
        """Delete the files that were written longest ago."""
        files = sorted(folder.glob("*.json"), key=_changed_at)
        for old in files[: max(0, len(files) - limit)]:
            old.unlink(missing_ok=True)


FILES = FileDocuments()


def _changed_at(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except FileNotFoundError:
        return 0
