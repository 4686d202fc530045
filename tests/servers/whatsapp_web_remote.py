"""The double of WhatsApp for a hub in another process: its client over a socket, with a line of JSON for each call."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Callable
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any, Self

from integrations.channels.http_api import PlatformError
from integrations.channels.whatsapp_web.client import failure

if TYPE_CHECKING:
    from tests.servers.whatsapp_web_double import WhatsAppWebDouble

LINE_BYTES = 1 << 24


class WhatsAppWebServer:
    """Serves the clients of a double."""

    def __init__(self, double: WhatsAppWebDouble) -> None:
        self._double = double
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, limit=LINE_BYTES)
        self.port: int = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        client = await self._double.open()
        try:
            while line := await reader.readline():
                id, method, given = _decoded(line)
                task = asyncio.create_task(self._answer(writer, id, partial(getattr(client, method), *given), method))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)
        except ConnectionError:
            pass  # its hub was killed
        finally:
            await client.close()
            writer.close()

    async def _answer(self, writer: asyncio.StreamWriter, id: int, call: Callable[..., Any], method: str) -> None:
        try:
            done = await (call(lambda event: writer.write(_encoded([0, event]))) if method == "run" else call())
            answer = [id, done, ""]
        except PlatformError as error:
            answer = [id, None, error.message]
        writer.write(_encoded(answer))


class RemoteClient:
    """A `WebClient` of that server."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writer = writer
        self._ids = count(1)
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._hear: Callable[[Any], None] = print
        self._reading = asyncio.create_task(self._read(reader))

    @classmethod
    async def open(cls, port: int) -> Self:
        """Connect."""
        import tests.servers.whatsapp_web_double  # noqa: F401  the messages have to be known

        return cls(*await asyncio.open_connection("127.0.0.1", port, limit=LINE_BYTES))

    def __getattr__(self, name: str) -> Callable[..., Any]:
        return partial(self._call, name)

    async def run(self, hear: Callable[[Any], None]) -> None:
        """Hear events until `close`."""
        self._hear = hear
        await self._call("run")

    async def close(self) -> None:
        """Disconnect."""
        self._writer.close()
        self._reading.cancel()

    async def _call(self, method: str, *given: Any) -> Any:
        id = next(self._ids)
        answer = self._waiting[id] = asyncio.get_running_loop().create_future()
        self._writer.write(_encoded([id, method, given]))
        return await answer

    async def _read(self, reader: asyncio.StreamReader) -> None:
        while line := await reader.readline():
            id, found, *error = _decoded(line)
            if not id:
                self._hear(found)
            elif error[0]:
                self._waiting.pop(id).set_exception(failure(error[0].removeprefix("WhatsApp: ")))
            else:
                self._waiting.pop(id).set_result(found)


def _encoded(value: Any) -> bytes:
    return json.dumps(value, default=_plain).encode() + b"\n"


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return {"bytes": base64.b64encode(value).decode()}
    return {"message": value.DESCRIPTOR.full_name, **_plain(value.SerializePartialToString())}


def _decoded(line: bytes) -> Any:
    return json.loads(line, object_hook=_whole)


def _whole(value: dict[str, str]) -> Any:
    from google.protobuf import symbol_database

    data = base64.b64decode(value["bytes"])
    if (name := value.get("message")) is None:
        return data
    message = symbol_database.Default().GetSymbol(name)()
    message.MergeFromString(data)
    return message
