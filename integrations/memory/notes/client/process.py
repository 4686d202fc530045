"""One process of the index worker, as the hub sees it: frames in and out, pending calls, its end."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import sys
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from hub.core.errors import Forbidden, HubError, InvalidRequest, NotFound, Unavailable
from integrations.memory.notes.worker import frames

_log = logging.getLogger(__name__)

MODULE = "integrations.memory.notes.worker"
INHERITED = (
    *("PATH", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR"),
    *("SSL_CERT_FILE", "SSL_CERT_DIR", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"),
)
"""All that the worker sees of the hub's environment; keys reach it through the pipe."""
ALONE = {"OPENBLAS_NUM_THREADS": "1"}
"""Vectors are compared by one thread: more of NumPy's would spin after each search, and take the hub's time."""
STOP_S = 2.0
"""How long it may take to end by itself: less than is left to an integration that is unloaded, which waits for it."""
LINE_CHARS = 2_000
LAST_LINES = 20
READ_BYTES = 1 << 20
_ERRORS: Mapping[str, type[HubError]] = {
    error.code: error for error in (Unavailable, InvalidRequest, NotFound, Forbidden)
}


class WorkerProcess:
    """A running worker. Made by `start`.

    Args:
        process: The child.
        on_end: Called once it has ended, with the reason.
    """

    def __init__(self, process: asyncio.subprocess.Process, on_end: Callable[[str], None]) -> None:
        self._process = process
        self._on_end = on_end
        self._calls: dict[int, asyncio.Future[Any]] = {}
        self._last_id = 0
        self._ended = False
        self._has_answered = False
        self._last_lines: deque[str] = deque(maxlen=LAST_LINES)

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether it runs and accepts calls."""
        return not self._ended and self._process.returncode is None

    @property
    def has_answered(self) -> bool:
        """Whether it has answered anything yet; until then it is starting."""
        return self._has_answered

    @property
    def in_flight(self) -> int:
        """Pending calls."""
        return len(self._calls)

    async def call(self, message: Mapping[str, Any], timeout_s: float) -> Any:
        """Send a request and return its answer.

        Cancelling, or running out of time, tells the worker to give up.

        Raises:
            Unavailable: It ended, did not answer in time, or cannot do it now.
            InvalidRequest: It does not understand.
        """
        if not self.alive:
            raise Unavailable(_ENDED)
        self._last_id += 1
        id_ = self._last_id
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._calls[id_] = future
        try:
            async with asyncio.timeout(timeout_s):
                await self._send({"id": id_, **message})
                return await future
        except TimeoutError as error:
            raise Unavailable(f"the memory index did not answer within {timeout_s:g} s") from error
        finally:
            del self._calls[id_]
            if not future.done() or future.cancelled():
                self._send_soon({"cancel": id_})

    async def attend(self) -> None:
        """Read its answers until it ends; then every pending call fails. Cancellation ends the worker."""
        stdout, stderr = self._process.stdout, self._process.stderr
        if stdout is None or stderr is None:
            raise RuntimeError("the worker was started without pipes")
        listening = asyncio.ensure_future(self._listen(stderr))
        why = _ENDED
        try:
            while (message := await frames.read(stdout)) is not None:
                self._settle(message)
            await listening
        except frames.FrameError as error:
            why = f"the memory index worker cannot be understood any longer: {error}"
            _log.error("%s", why)
        finally:
            self._ended = True
            listening.cancel()
            code = await asyncio.shield(self._end())
            if code != 0:
                told = [line for line in self._last_lines if not line.startswith("INFO")]
                last = f": {told[-1]}" if told else ""
                why = f"{_ENDED} (exit code {code}){last}"
            self._fail_all(why)
            self._on_end(why)

    def hang_up(self) -> None:
        """Close its input, at which it finishes and exits."""
        if self._process.stdin is not None:
            self._process.stdin.close()

    def kill(self) -> None:
        """Kill it; its files are repaired when they are next opened."""
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()

    async def _send(self, message: Mapping[str, Any]) -> None:
        stdin = self._process.stdin
        try:
            frame = frames.encode(message)
        except frames.FrameError as error:
            raise InvalidRequest(str(error)) from error
        if stdin is None or stdin.is_closing():
            raise Unavailable(_ENDED)
        try:
            stdin.write(frame)
            await stdin.drain()
        except (ConnectionError, BrokenPipeError) as error:
            raise Unavailable(_ENDED) from error

    def _send_soon(self, message: Mapping[str, Any]) -> None:
        stdin = self._process.stdin
        if self.alive and stdin is not None and not stdin.is_closing():
            stdin.write(frames.encode(message))

    def _settle(self, message: Mapping[str, Any]) -> None:
        self._has_answered = True
        id_, error = message.get("id"), message.get("error")
        future = self._calls.get(id_) if isinstance(id_, int) else None
        if future is None or future.done():
            return
        if error is None:
            future.set_result(message.get("result"))
            return
        if not isinstance(error, dict):
            error = {"message": "the memory index worker failed, and did not say how"}
        kind = _ERRORS.get(str(error.get("code")), Unavailable)
        future.set_exception(kind(str(error.get("message"))[:LINE_CHARS]))

    def _fail_all(self, why: str) -> None:
        for future in self._calls.values():
            if not future.done():
                future.set_exception(Unavailable(why))

    async def _listen(self, stream: asyncio.StreamReader) -> None:
        """Log its output; only the beginning of an overlong line."""
        rest = b""
        while chunk := await stream.read(65_536):
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                self._say(line)
            rest = rest[: LINE_CHARS * 4]
        if rest:
            self._say(rest)

    def _say(self, line: bytes) -> None:
        text = line.decode("utf-8", "replace").strip()[:LINE_CHARS]
        if text:
            self._last_lines.append(text)
            _log.log(logging.INFO if text.startswith("INFO") else logging.WARNING, "memory index: %s", text)

    async def _end(self) -> int:
        """Wait for its end, and kill it when that takes too long."""
        self.hang_up()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(STOP_S):
                return await self._process.wait()
        self.kill()
        return await self._process.wait()


_ENDED = "the memory index worker ended"


async def start(arguments: Sequence[str], on_end: Callable[[str], None]) -> WorkerProcess:
    """Start a worker, which holds its own files and ends with this process.

    Raises:
        OSError: It cannot be started.
    """
    # Where this program's own packages are, in a checkout and in an installation; the current directory is not.
    home = str(Path(__file__).parents[4])
    environment = {name: os.environ[name] for name in INHERITED if name in os.environ}
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", "-m", MODULE, *arguments),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={**ALONE, **environment, "PYTHONPATH": home, "PYTHONUNBUFFERED": "1"},
        umask=0o077,
        start_new_session=True,
        limit=READ_BYTES,
    )
    return WorkerProcess(process, on_end)
