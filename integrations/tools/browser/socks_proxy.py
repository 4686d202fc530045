"""The proxy that is a managed Chromium's only way out: SOCKS5 on loopback, each connection judged as the hub's own.

Chromium passes every name and address to it, for pages, frames, workers, sockets, downloads and redirects alike, and
looks up nothing by itself. https://www.rfc-editor.org/rfc/rfc1928
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
from collections import OrderedDict
from pathlib import Path

from hub.core.errors import HubError
from hub.security.egress import Egress
from hub.security.tunnel import tunnel

CONNECTIONS_LIMIT = 256
HANDSHAKE_LIMIT_S = 10.0
REFUSALS_KEPT = 50

_VERSION, _CONNECT, _NO_METHOD = 5, 1, 0xFF
_IPV4, _NAME, _IPV6 = 1, 3, 4
_OK, _FAILED, _NOT_ALLOWED, _UNKNOWN_COMMAND = 0, 1, 2, 7


class PolicyProxy:
    """Serves one profile.

    Args:
        egress: Judges and dials.
        private: Whether it leads to the named private targets, instead of to public ones.
    """

    def __init__(self, egress: Egress, *, private: bool) -> None:
        self._egress, self._private = egress, private
        self._server: asyncio.Server | None = None
        self._serving: set[asyncio.Task[None]] = set()
        self.port = 0
        """Where it listens, on 127.0.0.1."""
        self.refused: OrderedDict[str, str] = OrderedDict()
        """Why the last places were not reached, by `host:port`."""

    async def start(self) -> None:
        """Listen."""
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port = int(self._server.sockets[0].getsockname()[1])

    async def stop(self) -> None:
        """Close everything."""
        if self._server is not None:
            self._server.close()
        for task in self._serving:
            task.cancel()
        await asyncio.gather(*self._serving, return_exceptions=True)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(self._serving) >= CONNECTIONS_LIMIT or not _is_ours(writer.get_extra_info("peername")[1], self.port):
            writer.transport.abort()
            return
        task = asyncio.create_task(self._serve(reader, writer), name="browser connection")
        self._serving.add(task)
        task.add_done_callback(self._serving.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with contextlib.suppress(OSError, EOFError, TimeoutError):
                await self._tunnel(reader, writer)
        finally:
            writer.transport.abort()

    async def _tunnel(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async with asyncio.timeout(HANDSHAKE_LIMIT_S):
            version, methods = await reader.readexactly(2)
            offered = await reader.readexactly(methods)
            if version != _VERSION or 0 not in offered:
                writer.write(bytes([_VERSION, _NO_METHOD]))
                return await writer.drain()
            writer.write(bytes([_VERSION, 0]))
            _, command, _, kind = await reader.readexactly(4)
            place = await _place(reader, kind)
        if command != _CONNECT:
            return await _answer(writer, _UNKNOWN_COMMAND)
        try:
            dialled = await self._egress.connect(place, private=self._private)
        except HubError as error:
            self._note(place, error.message)
            return await _answer(writer, _NOT_ALLOWED)
        except (OSError, TimeoutError) as error:
            self._note(place, f"{place} does not answer: {error}")
            return await _answer(writer, _FAILED)
        self.refused.pop(place, None)
        writer.write(_head(_OK))
        return await tunnel(reader, writer, dialled)

    def _note(self, place: str, why: str) -> None:
        self.refused[place] = why
        self.refused.move_to_end(place)
        if len(self.refused) > REFUSALS_KEPT:
            self.refused.popitem(last=False)


async def _place(reader: asyncio.StreamReader, kind: int) -> str:
    if kind == _NAME:
        length = (await reader.readexactly(1))[0]
        host = (await reader.readexactly(length)).decode("ascii", "replace")
    elif kind in (_IPV4, _IPV6):
        family = socket.AF_INET if kind == _IPV4 else socket.AF_INET6
        host = socket.inet_ntop(family, await reader.readexactly(4 if kind == _IPV4 else 16))
    else:
        raise ConnectionError("an unknown kind of address")
    port = int.from_bytes(await reader.readexactly(2), "big")
    return f"[{host}]:{port}" if ":" in host and not host.startswith("[") else f"{host}:{port}"


async def _answer(writer: asyncio.StreamWriter, code: int) -> None:
    writer.write(_head(code))
    await writer.drain()


def _head(code: int) -> bytes:
    return bytes([_VERSION, code, 0, _IPV4, 0, 0, 0, 0, 0, 0])


def _is_ours(peer_port: int, own_port: int) -> bool:
    """Whether a program of the hub's own user made a connection; where the system does not say, it is believed."""
    try:
        lines = Path("/proc/net/tcp").read_text().splitlines()[1:]
    except OSError:
        return True
    local, remote = f"0100007F:{peer_port:04X}", f"0100007F:{own_port:04X}"
    return any(
        (fields := line.split())[1] == local and fields[2] == remote and int(fields[7]) == os.getuid() for line in lines
    )
