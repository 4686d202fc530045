"""A program in a container: its input, output and end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

from hub.core.errors import HubError
from integrations.sandbox.docker.connection import DockerConnection, DockerStream

CHUNK = 65_536
CHUNKS_WAITING = 64
KILL_LIMIT_S = 5.0
INSPECTIONS, INSPECTED_EVERY_S = 100, 0.02


class DockerProcess:
    """A program that was started with `exec` in a container.

    Args:
        connection: The connection to the server.
        exec_id: The server's id of it.
        stream: Its input and output.
        terminal: Whether it has a terminal; without one, output comes in frames.
        kill: Kills it with what it has started; True ends all that runs in the container.
    """

    def __init__(
        self,
        connection: DockerConnection,
        exec_id: str,
        stream: DockerStream,
        *,
        terminal: bool,
        kill: Callable[[bool], Awaitable[None]],
    ) -> None:
        self._connection, self._exec_id, self._stream, self._terminal = connection, exec_id, stream, terminal
        self._kill = kill
        self._chunks: asyncio.Queue[bytes] = asyncio.Queue(CHUNKS_WAITING)
        self._ended = asyncio.Event()
        self._code: int | None = None
        self._wanted = True

    @property
    def stdin(self) -> DockerProcess:
        """Its input."""
        return self

    @property
    def output(self) -> AsyncIterator[bytes]:
        """Its output."""
        return self._read()

    @property
    def ended(self) -> bool:
        """Whether it has ended."""
        return self._ended.is_set()

    async def write(self, data: bytes) -> None:
        """Write to its input."""
        try:
            self._stream.writer.write(data)
            await self._stream.writer.drain()
        except (BrokenPipeError, ConnectionResetError):
            pass  # it has ended

    async def close(self) -> None:
        """End its input; a terminal gets the character for that."""
        if self._terminal:
            await self.write(b"\x04")
        elif self._stream.writer.can_write_eof() and not self._stream.writer.is_closing():
            self._stream.writer.write_eof()

    async def wait(self) -> int:
        """Return its exit code."""
        await self._ended.wait()
        for _ in range(INSPECTIONS):
            if self._code is not None:
                break
            try:
                facts = await self._connection.call(lambda client: client.exec_inspect(self._exec_id))
            except HubError:
                self._code = 137  # its container is gone
                break
            self._code = None if facts["Running"] else facts["ExitCode"]
            if self._code is None:
                await asyncio.sleep(INSPECTED_EVERY_S)
        return 137 if self._code is None else self._code

    async def kill(self) -> None:
        """End it and what it has started; the whole container is restarted where that does not help."""
        self._wanted = False
        for by_all_means in (False, True):
            while not self._chunks.empty():
                self._chunks.get_nowait()
            if self.ended:
                return
            await self._kill(by_all_means)
            try:
                async with asyncio.timeout(KILL_LIMIT_S):
                    await self._ended.wait()
            except TimeoutError:
                continue

    async def pump(self) -> None:
        """Copy its output until it ends."""
        reader = self._stream.reader
        try:
            while data := await (reader.read(CHUNK) if self._terminal else self._frame(reader)):
                if self._wanted:
                    await self._chunks.put(data)
        except (OSError, asyncio.IncompleteReadError):
            pass  # the server is gone, and the program with it
        finally:
            self._ended.set()
            self._stream.writer.close()

    async def _frame(self, reader: asyncio.StreamReader) -> bytes:
        """Return the content of the next frame: a stream byte, three zero bytes, and four bytes of length."""
        while True:
            head = await reader.readexactly(8)
            if length := int.from_bytes(head[4:], "big"):
                return await reader.readexactly(length)

    async def _read(self) -> AsyncIterator[bytes]:
        while True:
            if not self._chunks.empty():
                yield self._chunks.get_nowait()
                continue
            if self.ended:
                return
            chunk, end = asyncio.ensure_future(self._chunks.get()), asyncio.ensure_future(self._ended.wait())
            try:
                await asyncio.wait({chunk, end}, return_when=asyncio.FIRST_COMPLETED)
                if chunk.done():
                    yield chunk.result()
            finally:
                chunk.cancel()
                end.cancel()
