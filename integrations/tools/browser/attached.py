"""A Chrome on another machine, attached by a person with `homarus browser attach`, which connects to the hub."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence

from aiohttp import web

WAITING_LIMIT = 1_000


class AttachedChrome:
    """The connection of the program that passes messages between a Chrome and the hub.

    Args:
        socket: Its WebSocket.
    """

    def __init__(self, socket: web.WebSocketResponse) -> None:
        self._socket = socket
        self._said: asyncio.Queue[str | None] = asyncio.Queue(WAITING_LIMIT)

    async def read(self) -> None:
        """Read its messages until it disconnects."""
        try:
            async for message in self._socket:
                if message.type is web.WSMsgType.TEXT:
                    for each in await self._heard(message.data):
                        await self._said.put(each)
        finally:
            if self._said.full():
                self._said.get_nowait()
            self._said.put_nowait(None)

    async def _heard(self, message: str) -> Sequence[str]:
        """Return what a message of the far end is to Playwright."""
        return (message,)

    async def send(self, message: str) -> None:
        """Send it a message."""
        await self._socket.send_str(message)

    async def messages(self) -> AsyncIterator[str]:
        """Yield its messages."""
        while (message := await self._said.get()) is not None:
            yield message

    async def close(self) -> str:
        """Disconnect; it reconnects for the next use."""
        await self._socket.close()
        return ""
