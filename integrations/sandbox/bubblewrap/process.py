"""A program in a sandbox of bubblewrap: its input, output and end."""

from __future__ import annotations

import asyncio
import errno
import os
import select
import signal
import time
from collections.abc import AsyncIterator
from contextlib import suppress

from integrations.sandbox.bubblewrap.processes import proc_children, proc_state

CHUNK = 65_536
WRITE_LIMIT_S = 10.0
STOP_TRIES, STOP_WAIT_S = 500, 0.002


class BubblewrapProcess:
    """A running bubblewrap with a program inside; killing it kills all that is in its namespaces.

    Args:
        process: bubblewrap.
        terminal: The hub's side of the program's terminal, if it has one.
        reader: The end of the terminal that is read.
    """

    def __init__(
        self,
        process: asyncio.subprocess.Process,
        terminal: int | None = None,
        reader: asyncio.StreamReader | None = None,
    ) -> None:
        self._process, self._terminal = process, terminal
        self._reader = process.stdout if reader is None else reader

    @property
    def id(self) -> int:
        """The process of bubblewrap itself."""
        return self._process.pid

    @property
    def stdin(self) -> BubblewrapProcess:
        """Its input."""
        return self

    @property
    def output(self) -> AsyncIterator[bytes]:
        """Its output."""
        return self._read()

    @property
    def ended(self) -> bool:
        """Whether it has ended."""
        return self._process.returncode is not None

    async def write(self, data: bytes) -> None:
        """Write to its input."""
        if self._terminal is not None:
            if not self.ended:
                await asyncio.to_thread(_write_all, self._terminal, data)
            return
        writer = self._process.stdin
        if writer is not None and not writer.is_closing():
            try:
                writer.write(data)
                await writer.drain()
            except (BrokenPipeError, ConnectionResetError):
                writer.close()

    async def close(self) -> None:
        """End its input; a terminal gets the character for that."""
        if self._terminal is not None:
            await self.write(b"\x04")
        elif self._process.stdin is not None:
            self._process.stdin.close()

    async def wait(self) -> int:
        """Return its exit code."""
        code = await self._process.wait()
        return code if code >= 0 else 128 - code

    async def kill(self) -> None:
        """End it at once."""
        if not self.ended:
            await asyncio.to_thread(_kill_all, self._process.pid)
        with suppress(RuntimeError):  # somebody else reads it to its end
            async for _ in self._read():
                pass
        await self._process.wait()

    async def _read(self) -> AsyncIterator[bytes]:
        reader = self._reader
        try:
            while reader is not None and (data := await reader.read(CHUNK)):
                yield data
        except OSError as error:
            if error.errno != errno.EIO:  # how a terminal says that nobody is at its other side
                raise


def _kill_all(bubblewrap: int) -> None:
    """Kill the first process inside, and with it all of them; bubblewrap is stopped before, so that it makes none."""
    with suppress(ProcessLookupError):
        os.kill(bubblewrap, signal.SIGSTOP)
        for _ in range(STOP_TRIES):
            if proc_state(bubblewrap) in "TtZX":
                break
            time.sleep(STOP_WAIT_S)
        for child in proc_children(bubblewrap):
            with suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
        os.kill(bubblewrap, signal.SIGKILL)


def _write_all(terminal: int, data: bytes) -> None:
    while data:
        select.select([], [terminal], [], WRITE_LIMIT_S)
        data = data[os.write(terminal, data) :]


async def terminal_reader(terminal: int) -> asyncio.StreamReader:
    """Return a reader of a terminal that works on after the terminal is closed, until all was read."""
    reader = asyncio.StreamReader()
    file = os.fdopen(os.dup(terminal), "rb", buffering=0)
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), file)
    return reader
