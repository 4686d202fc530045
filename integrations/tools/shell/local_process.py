"""A program that runs on the machine of the hub: its group, its pipes or terminal, its end.

The first process of the group is waited for through its pidfd and reaped last: until then no other process can have its
number, so what is killed is always its own.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import pty
import signal
import subprocess
import sys
import termios
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from pathlib import Path

from hub.core.errors import Unavailable
from hub.core.executors import FILES
from hub.core.ids import new_id
from hub.sandbox.contract import TERMINAL_SIZE

READ_BYTES = 65_536
UNREAD_LIMIT = 64
"""Chunks of output that wait to be read, before the program has to wait."""
REST_LIMIT = 256
"""Chunks of output that are read when the first process has ended."""
MARK = "HOMARUS_RUN"
"""A variable by which a program and all that it starts are found."""
KILL_ROUNDS = 20
EXEC_LOOKS, EXEC_PAUSE_S = 3, 0.005
"""How often a process without variables is looked at again, and when."""

_WITH_TERMINAL = (
    "import fcntl,os,signal,sys,termios;fcntl.ioctl(0,termios.TIOCSCTTY,0);"
    "[signal.signal(each,signal.SIG_DFL)for each in(signal.SIGINT,signal.SIGQUIT,signal.SIGHUP)];"
    "os.execve(sys.argv[1],sys.argv[2:],os.environ)"
)
"""Takes the terminal, which only the first process of a session can do, and becomes the program.

The keys that interrupt work in a hub, too, that was started in the background, where a shell has them ignored.
"""


class LocalStdin:
    """The standard input of a program."""

    def __init__(self, descriptor: int, *, terminal: bool) -> None:
        self._descriptor, self._terminal = descriptor, terminal
        self._turn = asyncio.Lock()

    async def write(self, data: bytes) -> None:
        """Write, and wait until there is room; data for a program that has ended is dropped."""
        loop = asyncio.get_running_loop()
        async with self._turn:
            while data and self._descriptor >= 0:
                try:
                    data = data[os.write(self._descriptor, data) :]
                except BlockingIOError:
                    room = asyncio.Event()
                    loop.add_writer(self._descriptor, room.set)
                    try:
                        await room.wait()
                    finally:
                        loop.remove_writer(self._descriptor)
                except OSError:
                    return

    async def close(self) -> None:
        """End the input."""
        if self._terminal:
            await self.write(b"\x04")
        else:
            self.give_up()

    def give_up(self) -> None:
        """Close the descriptor, if it is this side's own."""
        if self._descriptor >= 0 and not self._terminal:
            os.close(self._descriptor)
        self._descriptor = -1


class LocalProcess:
    """A running program; see `hub.sandbox.contract.SandboxProcess`, whose form this has."""

    def __init__(self, process: subprocess.Popen[bytes], stdin: int, stdout: int, *, terminal: bool, mark: str) -> None:
        self._mark = mark
        self._process, self._stdout, self._terminal = process, stdout, terminal
        self._loop = asyncio.get_running_loop()
        self._chunks: deque[bytes] = deque()
        self._news = asyncio.Event()
        self._paused = self._at_end = False
        self._rest = REST_LIMIT
        self._ended: asyncio.Future[int] = self._loop.create_future()
        self.stdin = LocalStdin(stdin, terminal=terminal)
        for each in {stdin, stdout}:
            os.set_blocking(each, False)
        self._pidfd = os.pidfd_open(process.pid)
        self._loop.add_reader(self._pidfd, self._reap)
        self._loop.add_reader(stdout, self._read)

    @property
    def output(self) -> AsyncIterator[bytes]:
        """Its standard output and error, merged, as they come."""
        return self._output()

    async def wait(self) -> int:
        """Return its exit code once it has ended; 128 + N when the signal N ended it."""
        return await asyncio.shield(self._ended)

    async def kill(self) -> None:
        """End it, its group, and what it started that left the group, at once."""
        if not self._ended.done():
            self._kill_group()
            await FILES.run(kill_marked, self._mark)
        await self.wait()

    async def _output(self) -> AsyncIterator[bytes]:
        while True:
            while self._chunks:
                chunk = self._chunks.popleft()
                if self._paused and len(self._chunks) < UNREAD_LIMIT // 2 and not self._at_end:
                    self._paused = False
                    if self._ended.done():
                        self._read_rest()
                    else:
                        self._loop.add_reader(self._stdout, self._read)
                yield chunk
            if self._at_end:
                return
            self._news.clear()
            await self._news.wait()

    def _read(self) -> None:
        try:
            data = os.read(self._stdout, READ_BYTES)
        except BlockingIOError:
            if self._ended.done():  # something that left the group still holds the other side
                self._end_output()
            return
        except OSError:  # a terminal whose last user is gone
            data = b""
        if not data:
            self._end_output()
            return
        self._chunks.append(data)
        self._news.set()
        if len(self._chunks) >= UNREAD_LIMIT:
            self._paused = True
            self._loop.remove_reader(self._stdout)

    def _end_output(self) -> None:
        if not self._at_end:
            self._at_end = True
            self._loop.remove_reader(self._stdout)
            self.stdin.give_up()
            os.close(self._stdout)
            self._stdout = -1
            self._news.set()

    def _reap(self) -> None:
        self._loop.remove_reader(self._pidfd)
        self._kill_group()
        code = self._process.wait()
        os.close(self._pidfd)
        self._ended.set_result(code if code >= 0 else 128 - code)
        self._read_rest()

    def _read_rest(self) -> None:
        """Read what was written before the end; something that left the group may still write, without bound."""
        while not self._paused and not self._at_end:
            self._read()
            self._rest -= 1
            if self._rest < 0:
                self._end_output()

    def _kill_group(self) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)


async def start_local(
    argv: Sequence[str],
    *,
    executable: str,
    workdir: int,
    keep: tuple[int, ...],
    environment: Mapping[str, str],
    terminal: bool,
    home: str,
) -> LocalProcess:
    """Start a program in a directory by its descriptor, in its own process group.

    Args:
        executable: Its path, which may be that of a descriptor of this process.
        keep: The descriptors that it inherits beside its standard streams.
        home: The mark of the hub's home.

    Raises:
        Unavailable: It cannot be started.
    """
    own: list[int] = []
    mark = f"{MARK}={home}-{new_id()}"
    try:
        if terminal:
            ours, theirs = pty.openpty()
            own += [ours, theirs]
            termios.tcsetwinsize(ours, TERMINAL_SIZE)
            stdin, stdout, inner_in, inner_out = ours, ours, theirs, theirs
            argv = [sys.executable, "-I", "-S", "-c", _WITH_TERMINAL, executable, *argv]
            executable = sys.executable
        else:
            inner_in, stdin = os.pipe()
            own += [inner_in, stdin]
            stdout, inner_out = os.pipe()
            own += [stdout, inner_out]

        def start() -> subprocess.Popen[bytes]:
            return subprocess.Popen(
                list(argv),
                executable=executable,
                stdin=inner_in,
                stdout=inner_out,
                stderr=inner_out,
                cwd=f"/proc/self/fd/{workdir}",
                env={**environment, MARK: mark.partition("=")[2]},
                pass_fds=keep,
                start_new_session=True,
            )

        process = await _uncancelled(start)
    except BaseException as error:
        for each in own:
            os.close(each)
        if isinstance(error, OSError | ValueError):
            raise Unavailable(f"{argv[0]} cannot be started: {error}") from error
        raise
    for each in {inner_in, inner_out}:
        os.close(each)
    return LocalProcess(process, stdin, stdout, terminal=terminal, mark=mark)


def kill_leftovers(home: str) -> None:
    """Kill what a hub of this home left running, which could not end it at its own end. Blocks."""
    kill_marked(f"{MARK}={home}-")


def kill_marked(mark: str) -> None:
    """Kill every process with such a variable in its environment, until there is none; each may start more meanwhile.

    A program can hide by removing the variable: whoever lets it run on this machine trusts it. Blocks.
    """
    for turn in range(KILL_ROUNDS):
        found = between = False
        for process in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                variables = b"\0" + (process / "environ").read_bytes()
                if f"\0{mark}".encode() in variables and int(process.name) != os.getpid():
                    os.kill(int(process.name), signal.SIGKILL)
                    found = True
                elif len(variables) == 1:  # it has none, or is between two programs, in execve(2)
                    (process / "exe").readlink()  # which threads of the kernel and the dead have not
                    between = True
        if between and not found and turn < EXEC_LOOKS:
            time.sleep(EXEC_PAUSE_S)
        elif not found:
            return


async def _uncancelled(start: Callable[[], subprocess.Popen[bytes]]) -> subprocess.Popen[bytes]:
    """Return the process that is started; when this is cancelled, it waits for the start and ends it first.

    The descriptors that the start uses belong to the caller, who closes them on cancellation.
    """
    starting = asyncio.ensure_future(FILES.run(start))
    try:
        return await asyncio.shield(starting)
    except asyncio.CancelledError:
        while not starting.done():
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.wait({starting})
        if starting.exception() is None:
            process = starting.result()
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        raise
