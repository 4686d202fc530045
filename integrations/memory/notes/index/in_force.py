"""Which generation of an index is in force: a small file names it, changed in one step; the others are removed."""

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
    """The generation in force, and what it was made from."""

    generation: str
    fingerprint: str


def read_current(directory: Path) -> Current | None:
    """Return the generation in force, None when there is none or the file is not what was written; blocks."""
    try:
        stored = orjson.loads(Root(directory).read_bytes(CURRENT, READ_LIMIT_BYTES))
        found = Current(stored["generation"], stored["fingerprint"])
        sound = stored["sum"] == _sum(found) and _NAME.fullmatch(found.generation)
    except FileNotFoundError:
        return None
    except (OSError, HubError, ValueError, KeyError, TypeError) as error:
        _log.warning("%s cannot be read (%s); the index is built anew", directory / CURRENT, error)
        return None
    return found if sound else None


def write_current(directory: Path, current: Current) -> None:
    """Put a generation into force; when this returns it is, also after the power fails. Blocks.

    Raises:
        OSError: It could not be; the other one still is.
    """
    stored = {"generation": current.generation, "fingerprint": current.fingerprint, "sum": _sum(current)}
    Root(directory).write_bytes(CURRENT, orjson.dumps(stored))


def is_there(directory: Path, name: str) -> bool:
    """Whether a generation is on the disk, and named there as the one in force; blocks."""
    current = read_current(directory)
    return current is not None and current.generation == name and (directory / name).is_dir()


def next_name(directory: Path) -> str:
    """Return the name of a generation that was not there before."""
    current = read_current(directory)
    numbers = [int(path.name[1:]) for path in generations(directory)]
    if current is not None:
        numbers.append(int(current.generation[1:]))
    return f"g{max(numbers, default=0) + 1:06}"


def generations(directory: Path) -> Iterator[Path]:
    """Yield the directories of all generations."""
    with contextlib.suppress(FileNotFoundError):
        for path in sorted(directory.iterdir()):
            if _NAME.fullmatch(path.name) and path.is_dir() and not path.is_symlink():
                yield path


def remove(path: Path) -> None:
    """Delete a generation; what cannot be deleted is tried again at the next opening. Blocks."""
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
    os.close(descriptor)  # the directory was deleted and made anew meanwhile: this lock excludes nobody
    return None


def holds(descriptor: int, directory: Path) -> bool:
    """Whether a lock that was taken is still the one of this directory, which may have been deleted since; blocks."""
    try:
        here, there = os.fstat(descriptor), os.stat(directory / LOCK, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return (here.st_dev, here.st_ino) == (there.st_dev, there.st_ino)


def _sum(current: Current) -> str:
    return hashlib.sha256(f"{current.generation}|{current.fingerprint}".encode()).hexdigest()


def _tell(function: object, path: str, error: tuple[type[BaseException], BaseException, object]) -> None:
    if not isinstance(error[1], FileNotFoundError):
        _log.warning("%s could not be deleted: %s", path, error[1])
