"""A TCP proxy for protocols of lines, which cuts, holds back or drops what a test asks for."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import TracebackType
from typing import Self

Judge = Callable[[bytes], bool]


class TcpProxy:
    """Passes lines between clients and a server on this machine.

    Attributes:
        cut_after: Cuts the connection behind a line of the client's that it accepts, once.
        answer: Returns what a line of the client's is answered with instead of being passed on, if anything.
        greeting: What a new connection hears, and is closed.
    """

    def __init__(self, port: int) -> None:
        self._target = port
        self.port = 0
        self.lines: list[bytes] = []
        self.cut_after: Judge | None = None
        self.answer: Callable[[bytes], bytes | None] | None = None
        self.greeting: bytes | None = None
        self._deaf: set[asyncio.StreamWriter] = set()
        self._clients: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        self._server.close()
        self.cut()
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)

    def cut(self) -> None:
        """Cut all connections."""
        for each in list(self._clients):
            each.transport.abort()

    def go_deaf(self) -> None:
        """Let the connections that are open now bring nothing more."""
        self._deaf |= self._clients

    def inject(self, line: bytes) -> None:
        """Let the clients hear a line that the server did not say."""
        for each in self._clients:
            each.write(line)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.greeting is not None:
            writer.write(self.greeting)
            writer.close()
            return
        server_reader, server_writer = await asyncio.open_connection("127.0.0.1", self._target)
        self._clients.add(writer)
        tasks = {
            asyncio.create_task(self._up(reader, server_writer, writer)),
            asyncio.create_task(self._down(server_reader, writer)),
        }
        self._tasks |= tasks
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            self._clients.discard(writer)
            writer.close()
            server_writer.close()

    async def _up(
        self, reader: asyncio.StreamReader, server: asyncio.StreamWriter, client: asyncio.StreamWriter
    ) -> None:
        while line := await reader.readline():
            self.lines.append(line)
            if self.answer is not None and (answer := self.answer(line)) is not None:
                client.write(answer)
                continue
            server.write(line)
            await server.drain()
            if self.cut_after is not None and self.cut_after(line):
                self.cut_after = None
                client.transport.abort()
                return

    async def _down(self, reader: asyncio.StreamReader, client: asyncio.StreamWriter) -> None:
        while piece := await reader.read(4_096):
            if client not in self._deaf:
                client.write(piece)
                await client.drain()
