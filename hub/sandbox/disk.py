"""The disk limit of a sandbox, for every engine: on each file as it is written, and on the total."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator

from msgspec.structs import replace

from hub.core.executors import Executor
from hub.core.tasks import TaskOwner
from hub.sandbox.contract import Sandbox, SandboxCommand, SandboxProcess, SandboxStdin

WATCHED_EVERY_S = 1.0
WATCHED_SHARE = 20
"""A directory that takes long to look through is looked at less often: for a twentieth of the time."""
ENTRIES_LIMIT = 500_000
"""Files and directories; more than that are too much, whatever they hold."""
TOO_LARGE = 128 + signal.SIGXFSZ
_DISK = Executor("sandbox disk", 2)


class BoundedSandbox:
    """A sandbox whose programs are killed when its directory exceeds the limit.

    Args:
        sandbox: The engine's.
        folder: Its directory on the machine.
        limit: Bytes that it may hold.
        tasks: Owns what watches it.
        every_s: How often it is looked at.
    """

    def __init__(
        self, sandbox: Sandbox, folder: str, limit: int, tasks: TaskOwner, every_s: float = WATCHED_EVERY_S
    ) -> None:
        self.name, self.workdir = sandbox.name, sandbox.workdir
        self.folder, self.limit, self.every_s = folder, limit, every_s
        self._sandbox, self._tasks = sandbox, tasks

    @property
    def reaches_out(self) -> bool:
        """Whether it has a network."""
        return self._sandbox.reaches_out

    @property
    def busy(self) -> bool:
        """Whether a program runs in it."""
        return self._sandbox.busy

    async def start(self, command: SandboxCommand) -> BoundedProcess:
        """Start a program; its files are limited to the remaining space. It may always delete."""
        used = await _DISK.run(disk_use, self.folder)
        started = await self._sandbox.start(replace(command, file_limit=max(0, self.limit - used)))
        process = BoundedProcess(started, self, max(self.limit, used))
        self._tasks.spawn(process.watch(), name=f"watch the files of {self.name}")
        return process


class BoundedProcess:
    """A program of such a sandbox, whose output says if it was killed."""

    def __init__(self, process: SandboxProcess, sandbox: BoundedSandbox, limit: int) -> None:
        self._process, self._sandbox, self._limit = process, sandbox, limit
        self._full = False
        self.wait, self.kill = process.wait, process.kill

    @property
    def stdin(self) -> SandboxStdin:
        """Its input."""
        return self._process.stdin

    @property
    def output(self) -> AsyncIterator[bytes]:
        """What it writes."""
        return self._read()

    async def watch(self) -> None:
        """Watch the files until it ends; kill it when they exceed the limit."""
        end, pause_s = asyncio.ensure_future(self._process.wait()), self._sandbox.every_s
        try:
            while not (await asyncio.wait({end}, timeout=pause_s))[0]:
                begun = time.monotonic()
                self._full = await _DISK.run(disk_use, self._sandbox.folder) > self._limit
                pause_s = max(self._sandbox.every_s, WATCHED_SHARE * (time.monotonic() - begun))
                if self._full:
                    await self._process.kill()
        finally:
            end.cancel()

    async def _read(self) -> AsyncIterator[bytes]:
        async for chunk in self._process.output:
            yield chunk
        if self._full or await self._process.wait() == TOO_LARGE:
            size = f"{self._sandbox.limit // 1024**2} MB"
            yield f"\n[ended: the files of this sandbox may hold {size}, and there is no room for more]\n".encode()


def disk_use(folder: str) -> int:
    """Return the bytes of the files below a directory, ignoring vanished ones. Blocks."""
    total, entries, waiting = 0, 0, [folder]
    while waiting:
        try:
            with os.scandir(waiting.pop()) as found:
                for each in found:
                    entries += 1
                    if entries > ENTRIES_LIMIT:
                        return 1 << 62
                    total += each.stat(follow_symlinks=False).st_blocks * 512
                    if each.is_dir(follow_symlinks=False):
                        waiting.append(each.path)
        except OSError:
            continue
    return total
