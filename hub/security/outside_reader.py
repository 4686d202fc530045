"""Reads pages, feeds and foreign YAML in separate processes, with bounds on processor time, memory and time."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from hub.core.errors import HubError, InvalidRequest, NotFound, TimedOut, Unavailable
from hub.security.outside_worker import LENGTH, ReadAnswer, ReadRequest

ANSWER_LIMIT_BYTES = 32_000_000
PROCESSES = 2
"""Calls at once; others wait for a place."""
MODULE = "hub.security.outside_worker"

_RAISED: dict[str, type[HubError]] = {each.code: each for each in (InvalidRequest, NotFound, TimedOut, Unavailable)}
_ENVIRONMENT = {"LC_ALL": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1"}

T = TypeVar("T")


class ReadLimits(Struct, frozen=True):
    """Bounds of one call, and how long an idle process is kept.

    Attributes:
        cpu_s: Processor time, whole seconds.
        deadline_s: Time on the clock, once the call has a process.
    """

    cpu_s: int = 5
    deadline_s: float = 30.0
    idle_s: float = 120.0


class OutsideReader:
    """Calls functions on content from outside, each in a process that is started by the first call and kept warm.

    A process that passes a bound is ended with its call; the next call gets a new one.
    """

    def __init__(self, limits: ReadLimits | None = None) -> None:
        self._limits = limits or ReadLimits()
        self._places = asyncio.Semaphore(PROCESSES)
        self._idle: list[asyncio.subprocess.Process] = []
        self._busy: set[asyncio.subprocess.Process] = set()
        self._timer: asyncio.TimerHandle | None = None

    async def read(self, what: str, function: Callable[..., Any], *arguments: Any, returns: type[T]) -> T:
        """Call a function in a process and return its result.

        Args:
            what: The content's name in errors: `the page`.
            function: A function of a module; it raises `InvalidRequest` or `NotFound` for what it refuses.
            arguments: Plain data.
            returns: The type of the result: plain data, structs and dataclasses.

        Raises:
            InvalidRequest: The function refuses the content, or reading it takes too much processor time or memory.
            TimedOut: It took longer than the deadline.

        Cancelling it ends the process.
        """
        request = ReadRequest(f"{function.__module__}:{function.__qualname__}", list(arguments), self._limits.cpu_s)
        async with self._places:
            said = await self._ask(what, msgspec.msgpack.encode(request))
        if said.code:
            raise _RAISED.get(said.code, InvalidRequest)(said.message)
        if said.failed:
            raise InvalidRequest(f"{what} cannot be read ({said.failed})")
        return msgspec.msgpack.decode(said.result, type=returns)

    async def close(self) -> None:
        """End all processes."""
        if self._timer is not None:
            self._timer.cancel()
        idle, self._idle = self._idle, []
        for process in (*idle, *self._busy):
            await _end(process)

    async def _ask(self, what: str, request: bytes) -> ReadAnswer:
        process = await self._process()
        self._busy.add(process)
        said: ReadAnswer | None = None
        try:
            async with asyncio.timeout(self._limits.deadline_s):
                said = await _exchange(process, request)
                if said is None:
                    await process.wait()
        except TimeoutError:
            limit = self._limits.deadline_s
            raise TimedOut(f"{what} could not be read within {limit:g} s; reading it was stopped") from None
        finally:
            self._busy.discard(process)
            if said is None or said.retires:
                await _end(process)
            else:
                self._keep(process)
        if said is None:
            raise InvalidRequest(self._why(what, process.returncode))
        return said

    async def _process(self) -> asyncio.subprocess.Process:
        """Return an idle process, or a new one."""
        while self._idle:
            process = self._idle.pop()
            if process.returncode is None:
                return process
            await _end(process)
        return await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", "-m", MODULE),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            env={**_ENVIRONMENT, "PYTHONPATH": str(Path(__file__).parents[2])},
            cwd=os.sep,
            start_new_session=True,
        )

    def _keep(self, process: asyncio.subprocess.Process) -> None:
        self._idle.append(process)
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(self._limits.idle_s, self._end_idle)

    def _end_idle(self) -> None:
        for process in self._idle:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
        self._idle.clear()

    def _why(self, what: str, code: int | None) -> str:
        if code == -signal.SIGXCPU:
            limit = self._limits.cpu_s
            return f"{what} takes more than {limit} s of processor time to read; reading it was stopped"
        return f"{what} cannot be read: reading it ended early (it may need too much memory)"


async def _exchange(process: asyncio.subprocess.Process, request: bytes) -> ReadAnswer | None:
    """Return the answer of a process, or None if it died without one."""
    source, sink = process.stdout, process.stdin
    assert source is not None and sink is not None  # noqa: S101, PT018  both are pipes
    try:
        sink.write(LENGTH.pack(len(request)) + request)
        await sink.drain()
        (length,) = LENGTH.unpack(await source.readexactly(LENGTH.size))
        if length > ANSWER_LIMIT_BYTES:
            process.kill()
            return None
        return msgspec.msgpack.decode(await source.readexactly(length), type=ReadAnswer)
    except (asyncio.IncompleteReadError, ConnectionError):
        return None


async def _end(process: asyncio.subprocess.Process) -> None:
    with contextlib.suppress(ProcessLookupError):
        process.kill()
    await process.wait()
    process.stdin.close()  # type: ignore[union-attr]  # it is a pipe
