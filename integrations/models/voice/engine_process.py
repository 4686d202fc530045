"""One engine as the hub sees it: a process that starts with the first request and ends when nobody asks any more."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson

from hub.core.clock import Clock
from hub.core.errors import HubError, LimitExceeded, TimedOut, Unavailable
from hub.core.tasks import TaskOwner
from hub.models.speech import AUDIO_LIMIT_BYTES

WORKER = Path(__file__).with_name("worker.py")
WAITING_LIMIT = 16
"""Requests that one engine has at once, with the one that it works on."""
HEAD_LIMIT_BYTES = 1_000_000
ERRORS_KEPT_BYTES = 4_000
LENGTH_BYTES = 4
LEFT_S = 3.0
"""A request that nobody wants any more has so long to end by itself: a new process would take as long."""
EXIT_S = 1.0
"""Between the end of what a process says and its exit."""
INHERITED = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "LD_LIBRARY_PATH", "OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")
"""All that an engine sees of the hub's environment."""
OFFLINE = {"HF_HUB_OFFLINE": "1", "PYTHONDONTWRITEBYTECODE": "1"}


class EngineProcess:
    """An engine with one model.

    Args:
        name: How people know it.
        command: Program and arguments.
        timeout_s: The longest that a request may take, with the start and with the requests before it.
        idle_s: How long it is kept without a request.
        tasks: Owns the waiting for its end.
    """

    def __init__(
        self, name: str, command: Sequence[str], clock: Clock, tasks: TaskOwner, *, timeout_s: float, idle_s: float
    ) -> None:
        self.name = name
        self._command = tuple(command)
        self._clock = clock
        self._tasks = tasks
        self._timeout_s = timeout_s
        self._idle_s = idle_s
        self._process: asyncio.subprocess.Process | None = None
        self._errors: asyncio.Task[str] | None = None
        self._ending: asyncio.Task[None] | None = None
        self._has_answered = False
        self._turn = asyncio.Lock()
        self._working: asyncio.Task[tuple[dict[str, Any], bytes]] | None = None
        self.waiting = 0
        """Requests that are not answered yet."""

    @property
    def is_running(self) -> bool:
        """Whether its process runs."""
        return self._process is not None and self._process.returncode is None

    @property
    def process_id(self) -> int | None:
        """The id of its process, if it runs."""
        return self._process.pid if self._process is not None and self.is_running else None

    async def ask(self, head: Mapping[str, Any], data: bytes) -> tuple[dict[str, Any], bytes]:
        """Send a request and return its answer.

        What is cancelled is still worked on for a while, so that the next request finds the process as it was.

        Raises:
            Unavailable: It cannot be started, ended, refuses, or has too much to do; the message says which.
            TimedOut: It took too long; its process is ended.
            LimitExceeded: Its recording is too large; its process is ended.
        """
        if self.waiting >= WAITING_LIMIT:
            raise Unavailable(f"{self.name} has too much to do; try again soon")
        self.waiting += 1
        try:
            async with asyncio.timeout(self._timeout_s) as limit:
                async with self._turn:
                    await self._let_go()
                    self._working = asyncio.ensure_future(self._answer(head, data))
                    self._working.add_done_callback(_take_error)
                    try:
                        return await asyncio.shield(self._working)
                    except asyncio.CancelledError:
                        if limit.expired():
                            self._working.cancel()
                        raise
        except TimeoutError as error:
            raise TimedOut(f"{self.name} did not answer within {self._timeout_s:g} s (voice.timeout_s)") from error
        finally:
            self.waiting -= 1

    async def prepare(self) -> None:
        """Start the process, and return when its model is loaded; what goes wrong is told by the next request."""
        if not (self.is_running and self._has_answered):
            with contextlib.suppress(HubError):
                await self.ask({"prepare": True}, b"")

    async def close(self) -> None:
        """End the process."""
        if self._working is not None:
            self._working.cancel()
        ending, self._ending = self._ending, None
        if ending is not None:
            ending.cancel()
        await self._end()

    async def _let_go(self) -> None:
        """Wait for the end of a request that was cancelled; after a while its process is ended."""
        if (left := self._working) is None or left.done():
            return
        limit = asyncio.ensure_future(self._clock.sleep(LEFT_S))
        try:
            await asyncio.wait({left, limit}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            limit.cancel()
        left.cancel()
        await asyncio.wait({left})

    async def _answer(self, head: Mapping[str, Any], data: bytes) -> tuple[dict[str, Any], bytes]:
        if self._ending is not None:
            self._ending.cancel()
            self._ending = None
        done = False
        try:
            found, sound = await self._exchange(head, data)
            done = True
        except (OSError, ValueError, KeyError, EOFError) as error:
            raise Unavailable(await self._why_ended(error)) from error
        finally:
            if not done:  # what it still says would be taken for the answer to the next request
                await self._end()
        self._ending = self._tasks.spawn(self._end_idle(), name=f"end {self.name} when nobody asks")
        if "error" in found:
            raise Unavailable(f"{self.name} could not do it: {str(found['error'])[:300]}")
        return found, sound

    async def _exchange(self, head: Mapping[str, Any], data: bytes) -> tuple[dict[str, Any], bytes]:
        process = self._process
        if process is None or process.returncode is not None:
            process = await self._start()
        assert process.stdin is not None and process.stdout is not None  # noqa: S101, PT018  it was started with pipes
        told = orjson.dumps({**head, "size": len(data)})
        process.stdin.write(len(told).to_bytes(LENGTH_BYTES, "big") + told + data)
        await process.stdin.drain()
        length = int.from_bytes(await process.stdout.readexactly(LENGTH_BYTES), "big")
        if length > HEAD_LIMIT_BYTES:
            raise ValueError("it writes what is no answer")
        found = orjson.loads(await process.stdout.readexactly(length))
        if found["size"] > AUDIO_LIMIT_BYTES:
            raise LimitExceeded(f"the recording of {self.name} is larger than {AUDIO_LIMIT_BYTES:,} bytes")
        sound = await process.stdout.readexactly(found["size"])
        self._has_answered = True
        return found, sound

    async def _start(self) -> asyncio.subprocess.Process:
        await self._end()
        self._has_answered = False
        environment = {name: os.environ[name] for name in INHERITED if name in os.environ}
        self._process = await asyncio.create_subprocess_exec(
            *self._command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env={**environment, **OFFLINE},
            cwd=os.sep,
            start_new_session=True,
        )
        self._errors = self._tasks.spawn(_last(self._process.stderr), name=f"read what {self.name} complains of")
        return self._process

    async def _why_ended(self, error: Exception) -> str:
        process, errors = self._process, self._errors
        if process is None or errors is None:
            return f"{self.name} cannot be started: {error}"
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(EXIT_S):
                await process.wait()
        await self._end()
        said = errors.result() if errors.done() and not errors.cancelled() else ""
        code = process.returncode or 0
        how = f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
        return f"{self.name} {how}: {said or error}; the next request starts it again"

    async def _end(self) -> None:
        process = self._process
        if process is None:
            return
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
        await process.wait()
        if self._errors is not None:
            await asyncio.wait({self._errors}, timeout=1.0)
            self._errors.cancel()
        if self._process is process:  # until here, so that whoever is cancelled leaves the rest to the next
            self._process = None

    async def _end_idle(self) -> None:
        await self._clock.sleep(self._idle_s)
        await self._end()


def _take_error(task: asyncio.Task[Any]) -> None:
    """Note that an error is known: whoever asked was told, or asks no more."""
    if not task.cancelled():
        task.exception()


async def _last(stream: asyncio.StreamReader | None) -> str:
    """Return the last line of a stream, once it has ended."""
    data = b""
    while stream is not None and (chunk := await stream.read(65_536)):
        data = (data + chunk)[-ERRORS_KEPT_BYTES:]
    lines = data.decode("utf-8", "replace").strip().splitlines()
    return lines[-1][:300] if lines else ""
