"""A listening command that is kept running: its lines, its end, its restarts. Never through a shell."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from msgspec import Struct, field

from hub.core.clock import Clock

LINE_CHARS = 4_096
"""Longer lines are cut."""
LINES_PER_SECOND = 100
"""Further lines of the same second are let go; the next one says how many."""
STOP_S = 5.0
BACKOFF_FIRST_S = 1.0
BACKOFF_MOST_S = 300.0
STEADY_S = 60.0
"""A command that ran so long begins its backoff again."""
INHERITED = ("PATH", "HOME", "LANG", "LC_ALL", "TZ", "TMPDIR", "USER", "LOGNAME")
"""All that a command sees of the hub's environment."""
_READ_BYTES = 65_536


class CommandLine(Struct, frozen=True):
    """The command to run.

    Attributes:
        argv: Program and arguments.
        folder: Its working directory.
        environment: Its variables besides `INHERITED`.
        restart: Whether it is started again when it has ended.
        errors_too: Whether the lines of its standard error count.
    """

    argv: Sequence[str]
    folder: Path
    environment: Mapping[str, str] = field(default_factory=dict)
    restart: bool = True
    errors_too: bool = False


OnLine = Callable[[str, int], None]
"""Told a line, and how many lines before it were let go."""
OnExit = Callable[[int | None, float], None]
"""Told the exit code (negative: the signal; None: it could not be started) and how long it ran, in seconds."""


class CommandProcess:
    """Runs one command, again and again if configured.

    Args:
        on_line: None when nobody reads its output.
        fail: Called with the reason when it cannot be started; not again before it could.
    """

    def __init__(
        self, command: CommandLine, clock: Clock, on_line: OnLine | None, on_exit: OnExit, fail: Callable[[str], None]
    ) -> None:
        self._command = command
        self._clock = clock
        self._on_line = on_line
        self._on_exit = on_exit
        self._fail = fail
        self._failed = False
        self._bound = _Bound(clock)

    async def run(self) -> None:
        """Run the command until it has ended for good. Cancellation kills it and everything it started."""
        wait_s = BACKOFF_FIRST_S
        while True:
            began = self._clock.monotonic()
            code = await self._once()
            lasted_s = self._clock.monotonic() - began
            self._on_exit(code, lasted_s)
            if not self._command.restart:
                return
            if lasted_s >= STEADY_S:
                wait_s = BACKOFF_FIRST_S
            await self._clock.sleep(wait_s)
            wait_s = min(wait_s * 2, BACKOFF_MOST_S)

    async def _once(self) -> int | None:
        command = self._command
        is_read = self._on_line is not None
        try:
            process = await asyncio.create_subprocess_exec(
                *command.argv,
                cwd=command.folder,
                env={**{name: os.environ[name] for name in INHERITED if name in os.environ}, **command.environment},
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE if is_read else asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.STDOUT if is_read and command.errors_too else asyncio.subprocess.DEVNULL,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            if not self._failed:
                self._failed = True
                self._fail(f"the command {command.argv[0]} cannot be started: {error}")
            return None
        self._failed = False
        try:
            if process.stdout is not None:
                await self._read(process.stdout)
            return await process.wait()
        finally:
            await _end(process)

    async def _read(self, stream: asyncio.StreamReader) -> None:
        """Pass each line on; only the beginning of an overlong line is kept."""
        rest = b""
        while chunk := await stream.read(_READ_BYTES):
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                self._line(line)
            if len(rest) > LINE_CHARS * 4:
                rest = rest[: LINE_CHARS * 4]
        if rest:
            self._line(rest)

    def _line(self, raw: bytes) -> None:
        release = self._bound.admit()
        if release is not None and self._on_line is not None:
            self._on_line(raw.decode("utf-8", "replace").rstrip("\r")[:LINE_CHARS], release)


class _Bound:
    """A limit on lines per second."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._second = -1
        self._count = 0
        self._let_go = 0

    def admit(self) -> int | None:
        """Return how many lines were dropped before this one, or None to drop it."""
        second = int(self._clock.monotonic())
        if second != self._second:
            self._second, self._count = second, 0
        self._count += 1
        if self._count > LINES_PER_SECOND:
            self._let_go += 1
            return None
        release, self._let_go = self._let_go, 0
        return release


async def _end(process: asyncio.subprocess.Process) -> None:
    """End the process group of a command: terminate, wait, then kill; including processes that it left behind."""
    try:
        if process.returncode is None:
            _signal_group(process.pid, signal.SIGTERM)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(STOP_S):
                    await process.wait()
    finally:
        _signal_group(process.pid, signal.SIGKILL)
    await process.wait()


def _signal_group(group: int, what: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, what)
