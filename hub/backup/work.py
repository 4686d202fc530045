"""Runs a job of `hub.backup.worker` in a process, and reports its progress."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from typing import Any

import msgspec

from hub.backup.errors import BackupDamaged, BackupFailed, BackupRefused, NewerBackup, WrongPassphrase
from hub.backup.job import BackupJob
from hub.core.errors import Conflict, HubError
from hub.core.module_process import start_module
from hub.storage.errors import DiskFull, ReadOnlyStorage, StorageError

LINE_LIMIT_BYTES = 64 * 1024 * 1024
"""The result of a backup names each file that was left out."""
MODULE = "hub.backup.worker"
SILENCE_LIMIT_S = 900.0
"""A process that says nothing for so long, in which one file of any size can be copied, is ended."""

_RAISED: dict[str, type[HubError]] = {
    each.code: each
    for each in (
        *(BackupDamaged, BackupFailed, BackupRefused, NewerBackup, WrongPassphrase),
        *(Conflict, DiskFull, ReadOnlyStorage, StorageError),
    )
}

Progress = Callable[[int, int], None]


async def run_job(job: BackupJob, progress: Progress) -> dict[str, Any]:
    """Do a job in a process and return its result as plain data.

    Args:
        job: The job.
        progress: Called with the bytes read so far, and in all.

    Raises:
        HubError: It could not be done.

    Cancelling it ends the process; nothing of its work is used then.
    """
    process = await start_module(MODULE, line_limit_bytes=LINE_LIMIT_BYTES)
    assert process.stdin is not None and process.stdout is not None and process.stderr is not None  # noqa: S101, PT018
    complaints = asyncio.ensure_future(process.stderr.read(100_000))
    try:
        process.stdin.write(msgspec.json.encode(job) + b"\n")
        await process.stdin.drain()
        while True:
            async with asyncio.timeout(SILENCE_LIMIT_S):
                line = await process.stdout.readline()
            if not line:
                told = (await complaints).decode("utf-8", "replace").strip().splitlines()
                raise BackupFailed(f"the process that works on backups ended early: {told[-1] if told else 'killed'}")
            said = msgspec.json.decode(line)
            if "result" in said:
                result: dict[str, Any] = said["result"]
                return result
            if "error" in said:
                error = said["error"]
                raise _RAISED.get(error["code"], HubError)(error["message"], details=error.get("details"))
            progress(said["done"], said["total"])
    except (TimeoutError, ConnectionError) as error:
        raise BackupFailed(f"the process that works on backups stopped answering: {error!r}") from error
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        process.stdin.close()
        # Its pipes are read to their ends, so that nothing of it outlives the event loop.
        await asyncio.gather(process.wait(), process.stdout.read(), complaints, return_exceptions=True)
