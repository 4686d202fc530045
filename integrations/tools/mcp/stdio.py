"""A server that is a program: one JSON-RPC message a line on its standard streams.

Format: https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#stdio. Imported when a server is
connected, since it brings the SDK.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path

import anyio
from mcp.client import Transport
from mcp.client._transport import TransportStreams
from mcp.shared.message import SessionMessage
from mcp.types.jsonrpc import jsonrpc_message_adapter

from hub.core.errors import Unavailable
from hub.core.tasks import TaskOwner

INHERITED = ("PATH", "HOME", "LANG", "LC_ALL", "TZ", "TMPDIR", "USER", "LOGNAME")
"""All that a server sees of the hub's environment."""
LINE_LIMIT_BYTES = 4 * 1024 * 1024
FOREIGN_LINES_LIMIT = 1_000
"""Lines that are not messages; a server that prints more is ended."""
ERRORS_KEPT_BYTES = 2_000
STOP_S = 1.0
"""Between closing a server's input, asking it to end, and ending it."""


class McpProgram:
    """A server's program.

    Args:
        argv: The program and its arguments.
        variables: Its variables beside `INHERITED`.
        folder: Its working directory; nothing else is kept there.

    Attributes:
        errors: The end of what it wrote to its standard error.
    """

    def __init__(self, argv: Sequence[str], variables: Mapping[str, str], folder: Path) -> None:
        self._argv = argv
        self._variables = {**{name: os.environ[name] for name in INHERITED if name in os.environ}, **variables}
        self._folder = folder
        self.errors = b""

    def transport(self) -> Transport:
        """Return the streams to a process of its own, which is ended with all it started when they are left."""
        return self._streams()

    @contextlib.asynccontextmanager
    async def _streams(self) -> AsyncIterator[TransportStreams]:
        process = await self._start()
        tasks = TaskOwner(f"MCP server {self._argv[0]}")
        heard, read = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        write, said = anyio.create_memory_object_stream[SessionMessage](0)

        async def listen(stdout: asyncio.StreamReader) -> None:
            foreign = 0
            with contextlib.suppress(anyio.ClosedResourceError, anyio.BrokenResourceError, ValueError):
                async with heard:
                    while foreign < FOREIGN_LINES_LIMIT and (line := await stdout.readline()):
                        try:
                            message = jsonrpc_message_adapter.validate_json(line, by_name=False)
                        except ValueError:  # many programs print a greeting or their log
                            foreign += 1
                            continue
                        await heard.send(SessionMessage(message))

        async def speak(stdin: asyncio.StreamWriter) -> None:
            with contextlib.suppress(OSError):
                async for message in said:
                    text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                    stdin.write(text.encode() + b"\n")
                    await stdin.drain()

        async def drain(stderr: asyncio.StreamReader) -> None:
            while chunk := await stderr.read(65_536):
                self.errors = (self.errors + chunk)[-ERRORS_KEPT_BYTES:]

        if process.stdin is None or process.stdout is None or process.stderr is None:
            raise AssertionError("started with all of them")
        try:
            tasks.spawn(listen(process.stdout), name="listen")
            tasks.spawn(speak(process.stdin), name="speak")
            tasks.spawn(drain(process.stderr), name="drain")
            yield read, write
        finally:
            try:
                await _end(process, process.stdin)
            finally:
                _signal(process, signal.SIGKILL)
                await tasks.cancel_all()
                with contextlib.suppress(TimeoutError):  # whatever left its group may hold the streams open
                    async with asyncio.timeout(STOP_S):
                        await process.communicate()
                for stream in (heard, read, write, said):
                    stream.close()

    async def _start(self) -> asyncio.subprocess.Process:
        found = shutil.which(self._argv[0], path=self._variables.get("PATH"))
        if found is None:
            raise Unavailable(f"there is no program {self._argv[0]}; install it, or name it with its folder")
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            return await asyncio.create_subprocess_exec(
                *(found, *self._argv[1:]),
                cwd=self._folder,
                env=self._variables,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                start_new_session=True,
                limit=LINE_LIMIT_BYTES,
            )
        except (OSError, ValueError) as error:
            raise Unavailable(f"{found} cannot be started: {error}") from error


async def _end(process: asyncio.subprocess.Process, stdin: asyncio.StreamWriter) -> None:
    """Close a server's input and wait; ask it to end and wait again."""
    stdin.close()
    for last in (False, True):
        if last:
            _signal(process, signal.SIGTERM)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(STOP_S):
                await process.wait()
                return


def _signal(process: asyncio.subprocess.Process, what: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, what)
