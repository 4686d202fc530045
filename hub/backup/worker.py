"""The process that makes, reads and unpacks archives, so that the hub's own keeps answering.

It reads one job as a line of JSON and writes lines of JSON: how far it is, and at the end the result or the error. It
ends with its parent.
"""

from __future__ import annotations

import fcntl
import json
import os
import resource
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

import msgspec
from msgspec import Struct

from hub.backup.archive import verify_archive
from hub.backup.create import create_backup
from hub.backup.job import BackupJob
from hub.backup.manifest import BackupHead
from hub.backup.restore import preview, stage
from hub.core.errors import Conflict, HubError
from hub.storage.homedir import Home, restrict_umask

LOCK = "backup.lock"
MEMORY_BYTES = 2_000_000_000
"""Addresses it may use; a key of the highest work factor takes half of them."""
PROGRESS_S = 0.1


class Verified(Struct, frozen=True):
    """An archive whose files are all as they were written."""

    head: BackupHead
    encrypted: bool
    files: int
    left_out: dict[str, int]


def do(job: BackupJob, progress: Callable[[int, int], None]) -> Struct:
    """Carry out a job.

    Raises:
        Conflict: Another one that writes is going on.
        HubError: It could not be done.
    """
    home, path = Home(job.home), Path(job.path)
    match job.what:
        case "preview":
            return preview(home, path, job.passphrase)
        case "verify":
            archive = verify_archive(path, job.passphrase, progress)
            left_out: dict[str, int] = {}
            for each in archive.manifest.left_out:
                left_out[each.why] = left_out.get(each.why, 0) + 1
            return Verified(archive.head, archive.encrypted, len(archive.manifest.files), left_out)
    lock = _lock(home)
    try:
        if job.what == "stage":
            return stage(home, path, job.passphrase, job.now_ms, progress)
        assert job.options is not None  # noqa: S101  of this job
        return create_backup(home, job.options, progress)
    finally:
        os.close(lock)


def _lock(home: Home) -> int:
    """Take the lock of what writes; the system releases it, however the process ends."""
    home.create()
    descriptor = os.open(home.storage / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise Conflict("a backup or a restore of this home is going on already; wait until it has ended") from None
    return descriptor


class _Lines:
    """The lines that the process answers with."""

    def __init__(self, sink: BinaryIO) -> None:
        self._sink = sink
        self._due = 0.0

    def progress(self, done: int, total: int) -> None:
        if (now := time.monotonic()) >= self._due or done == total:
            self._due = now + PROGRESS_S
            self.say({"done": done, "total": total})

    def say(self, told: dict[str, Any]) -> None:
        self._sink.write(json.dumps(told).encode() + b"\n")
        self._sink.flush()


def _end_with_parent(source: BinaryIO) -> None:
    """End the process when its input ends: its parent has ended."""
    while source.read(1):
        pass
    os._exit(1)


def main() -> None:
    """Do the job on standard input; anything else that is printed goes to standard error."""
    lines = _Lines(os.fdopen(os.dup(1), "wb"))
    os.dup2(2, 1)
    restrict_umask()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.nice(5)
    job = msgspec.json.decode(sys.stdin.buffer.readline(), type=BackupJob)
    threading.Thread(target=_end_with_parent, args=(sys.stdin.buffer,), daemon=True).start()
    try:
        result = do(job, lines.progress)
    except HubError as error:
        lines.say({"error": {"code": error.code, "message": error.message, "details": error.details}})
    except MemoryError:
        lines.say({"error": {"code": "BACKUP_REFUSED", "message": "reading the archive takes too much memory"}})
    else:
        lines.say({"result": msgspec.to_builtins(result)})


if __name__ == "__main__":
    main()
