"""The connection to the server of Docker: calls through the package `docker` in threads, streams on the loop."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from typing import Any, TypeVar

import orjson
from msgspec import Struct

from hub.core.errors import Conflict, NotFound, Unavailable
from hub.core.executors import Executor
from hub.core.extras import install_command

T = TypeVar("T")

CALL_LIMIT_S = 60
_CALLS = Executor("docker", 4)


class DockerStream(Struct, frozen=True):
    """The input and output of a program in a container."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter


class DockerConnection:
    """Calls the server that answers on a socket.

    Args:
        socket: The path of the socket.
    """

    def __init__(self, socket: str) -> None:
        self.socket = socket
        self._client: Any = None

    async def call(self, work: Callable[[Any], T]) -> T:
        """Return what `work` returns, called with the package's client in a thread.

        Raises:
            NotFound: The server does not know the named object.
            Conflict: What was named is not in a state for this.
            Unavailable: There is no server, no package, or the server fails.
        """
        return await _CALLS.run(self._call, work)

    async def stream(self, exec_id: str, *, terminal: bool) -> DockerStream:
        """Start a program that was created in a container, and return its streams.

        The package reads streams in a blocking way; so this is `POST /exec/{id}/start`, whose connection is the stream.

        Raises:
            Unavailable: The server does not answer as expected.
        """
        try:
            reader, writer = await asyncio.open_unix_connection(self.socket)
        except OSError as error:
            raise Unavailable(f"the server of Docker does not answer on {self.socket}: {error}") from error
        body = orjson.dumps({"Detach": False, "Tty": terminal})
        head = (
            f"POST /exec/{exec_id}/start HTTP/1.1\r\nHost: docker\r\nContent-Type: application/json\r\n"
            f"Connection: Upgrade\r\nUpgrade: tcp\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        try:
            writer.write(head.encode() + body)
            async with asyncio.timeout(CALL_LIMIT_S):
                answer = await reader.readuntil(b"\r\n\r\n")
        except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError) as error:
            writer.close()
            raise Unavailable("the server of Docker did not start the program") from error
        status = answer.split(b" ", 2)[1:2]
        if status != [b"101"]:
            writer.close()
            raise Unavailable(f"the server of Docker did not start the program: {answer[:200].decode('latin-1')!r}")
        return DockerStream(reader, writer)

    def _call(self, work: Callable[[Any], T]) -> T:
        if not os.path.exists(self.socket):
            raise Unavailable(f"there is no server of Docker on {self.socket}")
        try:
            import docker
            from docker.errors import APIError, DockerException, NotFound as Missing
        except ImportError as error:
            raise Unavailable(f"the package docker is not installed; run: {install_command('docker')}") from error
        try:
            if self._client is None:
                self._client = docker.APIClient(f"unix://{self.socket}", version="auto", timeout=CALL_LIMIT_S)
            return work(self._client)
        except Missing as error:
            raise NotFound(str(error.explanation or error)) from error
        except APIError as error:
            kind = Conflict if error.status_code == 409 else Unavailable
            raise kind(f"Docker: {error.explanation or error}") from error
        except (DockerException, OSError) as error:
            self._client = None
            raise Unavailable(f"the server of Docker does not answer on {self.socket}") from error
