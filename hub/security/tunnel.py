"""Passes bytes both ways between a client of a proxy and a connection that the egress client has dialled for it."""

from __future__ import annotations

import asyncio
import socket
from typing import Protocol

CONNECTION_LIMIT_BYTES = 512_000_000
"""What one connection may bring, in each direction, so that no page fills the disk."""
CHUNK_BYTES = 65_536


class ReadsBytes(Protocol):
    """A source of bytes."""

    async def read(self, n: int = -1) -> bytes:
        """Return at most `n` bytes; none at the end."""


async def tunnel(reader: ReadsBytes, writer: asyncio.StreamWriter, dialled: socket.socket, first: bytes = b"") -> None:
    """Relay data in both directions until both sides end, one fails, or one sends too much.

    Args:
        reader, writer: The client's connection.
        dialled: The other one; it is closed.
        first: Sent there before the client's data.
    """
    far_reader, far_writer = await asyncio.open_connection(sock=dialled)
    try:
        far_writer.write(first)
        async with asyncio.TaskGroup() as both:
            both.create_task(_pass(reader, far_writer))
            both.create_task(_pass(far_reader, writer))
    except* OSError:
        pass
    finally:
        far_writer.transport.abort()


async def _pass(reader: ReadsBytes, writer: asyncio.StreamWriter) -> None:
    passed = 0
    while chunk := await reader.read(CHUNK_BYTES):
        passed += len(chunk)
        if passed > CONNECTION_LIMIT_BYTES:
            raise ConnectionError(f"the connection sent more than {CONNECTION_LIMIT_BYTES} bytes")
        writer.write(chunk)
        await writer.drain()
    if writer.can_write_eof():
        writer.write_eof()
