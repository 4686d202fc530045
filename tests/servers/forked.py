"""Processes that are forked from one that has imported the hub: like `subprocess`, without a second of imports each.

What a test says of the start itself (what is imported, the installed command, a pipe of a shell) takes `subprocess`.
"""

from __future__ import annotations

import atexit
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from subprocess import DEVNULL, PIPE
from typing import IO, Any, Self

REPOSITORY = Path(__file__).parents[2]


class ForkedProcess:
    """A process that runs a module as `python -m` does, with the part of `subprocess.Popen` that tests need.

    Args:
        module: What to run.
        arguments: What follows it on the command line.
        environment: All of it; that of the tests when it is not given.
        stdin: A file, DEVNULL, or PIPE for a text stream with this name; so are the other two.
    """

    def __init__(
        self,
        module: str,
        *arguments: str,
        environment: Mapping[str, str] | None = None,
        stdin: IO[Any] | int = DEVNULL,
        stdout: IO[Any] | int = DEVNULL,
        stderr: IO[Any] | int = DEVNULL,
    ) -> None:
        self.args = [module, *arguments]
        self.returncode: int | None = None
        self._report, theirs = socket.socketpair()
        inner_in, self.stdin = _stream(stdin, "w")
        inner_out, self.stdout = _stream(stdout, "r")
        inner_err, self.stderr = _stream(stderr, "r")
        request = {
            "module": module,
            "arguments": arguments,
            "environment": dict(os.environ if environment is None else environment),
        }
        with theirs, inner_in, inner_out, inner_err:
            descriptors = [each.fileno() for each in (inner_in, inner_out, inner_err, theirs)]
            socket.send_fds(_server(), [json.dumps(request).encode()], descriptors)
        self._lines = self._report.makefile()
        self.pid = int(self._lines.readline())

    def poll(self) -> int | None:
        """Return the exit code, or None while it runs."""
        if self.returncode is None and select.select([self._report], [], [], 0)[0]:
            self.returncode = int(self._lines.readline())
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end and return its exit code; a negative one is the signal that ended it.

        Raises:
            subprocess.TimeoutExpired: It still runs.
        """
        if self.returncode is None:
            select.select([self._report], [], [], timeout)
        code = self.poll()
        if code is None:
            raise subprocess.TimeoutExpired(self.args, timeout or 0)
        return code

    def send_signal(self, number: int) -> None:
        """Send a signal, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        """Ask it to end."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """End it at once."""
        self.send_signal(signal.SIGKILL)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for stream in (self.stdin, self.stdout, self.stderr):
            if stream is not None:
                stream.close()
        self.wait()
        self._lines.close()
        self._report.close()


def run(
    module: str,
    *arguments: str,
    environment: Mapping[str, str] | None = None,
    input: str = "",
    timeout_s: float = 60.0,
) -> subprocess.CompletedProcess[str]:
    """Run a module to its end and return what it wrote, like `subprocess.run(capture_output=True, text=True)`."""
    with tempfile.TemporaryFile("w+") as typed, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        typed.write(input)
        typed.seek(0)
        process = ForkedProcess(module, *arguments, environment=environment, stdin=typed, stdout=out, stderr=err)
        try:
            code = process.wait(timeout_s)
        finally:
            process.kill()
        written = []
        for each in (out, err):
            each.seek(0)
            written.append(each.read().decode())
        return subprocess.CompletedProcess(process.args, code, *written)


def _stream(wanted: IO[Any] | int, mode: str) -> tuple[IO[bytes], IO[str] | None]:
    """Return what the process gets, to be closed here once it has it, and what the test holds of it."""
    if wanted != PIPE:
        path = os.dup(wanted.fileno()) if not isinstance(wanted, int) else os.open(os.devnull, os.O_RDWR)
        return os.fdopen(path, "r+b", buffering=0), None
    read, write = os.pipe()
    inner, ours = (read, write) if mode == "w" else (write, read)
    return os.fdopen(inner, "wb" if mode == "r" else "rb", buffering=0), os.fdopen(ours, mode, buffering=1)


@cache
def _server() -> socket.socket:
    """Start the fork server of this test process; it ends when its socket is closed."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.servers.fork_server", str(theirs.fileno())],
            cwd=REPOSITORY,
            pass_fds=[theirs.fileno()],
            stdin=DEVNULL,
        )

    def close() -> None:
        ours.close()
        process.wait()

    atexit.register(close)
    return ours
