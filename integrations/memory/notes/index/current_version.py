"""The current version of an index: a small file names it, replaced in one step; other versions are removed."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import logging
import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import orjson

from hub.core.errors import HubError
from hub.security.root import Root

_log = logging.getLogger(__name__)

CURRENT = "current"
LOCK = "lock"
READ_LIMIT_BYTES = 65_536

_NAME = re.compile(r"g\d{6,12}")


@dataclass(frozen=True, slots=True)
class Current:
    """The current version, and its inputs."""

    version: str
    fingerprint: str


def read_current(directory: Path) -> Current | None:
    """Return the current version, None when there is none or the file is not as written; blocks."""
    try:
        stored = orjson.loads(Root(directory).read_bytes(CURRENT, READ_LIMIT_BYTES))
        found = Current(stored["version"], stored["fingerprint"])
        sound = stored["sum"] == _sum(found) and _NAME.fullmatch(found.version)
    except FileNotFoundError:
        return None
    except (OSError, HubError, ValueError, KeyError, TypeError) as error:
        _log.warning("%s cannot be read (%s); the index is rebuilt", directory / CURRENT, error)
        return None
    return found if sound else None


def write_current(directory: Path, current: Current) -> None:
    """Make a version the current one; durable when this returns, even against power loss. Blocks.

    Raises:
        OSError: It cannot be written; the other one still is current.
    """
    stored = {"version": current.version, "fingerprint": current.fingerprint, "sum": _sum(current)}
    Root(directory).write_bytes(CURRENT, orjson.dumps(stored))


def is_there(directory: Path, name: str) -> bool:
    """Whether a version exists on the disk and is named there as current; blocks."""
    current = read_current(directory)
    return current is not None and current.version == name and (directory / name).is_dir()


def next_name(directory: Path) -> str:
    """Return the name for a new version."""
    current = read_current(directory)
    numbers = [int(path.name[1:]) for path in versions(directory)]
    if current is not None:
        numbers.append(int(current.version[1:]))
    return f"g{max(numbers, default=0) + 1:06}"


def versions(directory: Path) -> Iterator[Path]:
    """Yield the directories of all versions."""
    with contextlib.suppress(FileNotFoundError):
        for path in sorted(directory.iterdir()):
            if _NAME.fullmatch(path.name) and path.is_dir() and not path.is_symlink():
                yield path


def remove(path: Path) -> None:
    """Delete a version; what cannot be deleted is tried again at the next opening. Blocks."""
    shutil.rmtree(path, onerror=_tell)


def take_lock(directory: Path) -> int | None:
    """Return the descriptor of the lock, None when another process has it; the system gives it up with the process.

    Raises:
        OSError: It cannot be made.
    """
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor = os.open(directory / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if holds(descriptor, directory):
            return descriptor
    except BlockingIOError:
        os.close(descriptor)
        return None
    except BaseException:
        os.close(descriptor)
        raise
    os.close(descriptor)  # the directory was deleted and created again meanwhile: this lock excludes nobody
    return None


def holds(descriptor: int, directory: Path) -> bool:
    """Whether a lock that was taken is still the one of this directory, which may have been deleted since; blocks."""
    try:
        here, there = os.fstat(descriptor), os.stat(directory / LOCK, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return (here.st_dev, here.st_ino) == (there.st_dev, there.st_ino)


def _sum(current: Current) -> str:
    return hashlib.sha256(f"{current.version}|{current.fingerprint}".encode()).hexdigest()


def _tell(function: object, path: str, error: tuple[type[BaseException], BaseException, object]) -> None:
    if not isinstance(error[1], FileNotFoundError):
        _log.warning("%s could not be deleted: %s", path, error[1])
