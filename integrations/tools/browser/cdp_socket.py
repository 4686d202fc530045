"""The socket on loopback through which Playwright reaches a browser that has none of its own."""

from __future__ import annotations

import asyncio
import hmac
import secrets
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from typing import Protocol

from aiohttp import web

MESSAGE_LIMIT_BYTES = 256 * 1024 * 1024
TOKEN = "X-Homarus-Token"  # noqa: S105  the name of a header


class FarEnd(Protocol):
    """A browser that takes and gives messages of the DevTools protocol."""

    async def send(self, message: str) -> None:
        """Send it a message."""
        ...

    def messages(self) -> AsyncIterator[str]:
        """Yield its messages, until it ends."""
        ...

    async def close(self) -> str:
        """Close the browser; return why it could not be used, if known."""
        ...


class CdpSocket:
    """Serves one client, Playwright, which has the token.

    Args:
        far: The browser.
    """

    def __init__(self, far: FarEnd) -> None:
        self.far = far
        self._token = secrets.token_urlsafe(32)
        self._runner = web.ServerRunner(web.Server(self._serve, access_log=None), shutdown_timeout=1.0)

    async def open(self) -> tuple[str, Mapping[str, str]]:
        """Listen; return the address, and the headers that a client sends."""
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        return f"ws://127.0.0.1:{self._runner.addresses[0][1]}/", {TOKEN: self._token}

    async def close(self) -> str:
        """Close it and release the browser; see `FarEnd.close`."""
        await self._runner.cleanup()
        return await self.far.close()

    async def _serve(self, request: web.BaseRequest) -> web.StreamResponse:
        if not hmac.compare_digest(request.headers.get(TOKEN, "").encode(), self._token.encode()):
            return web.Response(status=401)
        if "Origin" in request.headers:
            return web.Response(status=403)
        socket = web.WebSocketResponse(max_msg_size=MESSAGE_LIMIT_BYTES, compress=False)
        await socket.prepare(request)
        telling = asyncio.create_task(self._tell(socket), name="read a browser")
        try:
            async for message in socket:
                if message.type is web.WSMsgType.TEXT:
                    await self.far.send(message.data)
        finally:
            telling.cancel()
            await asyncio.wait({telling})
        return socket

    async def _tell(self, socket: web.WebSocketResponse) -> None:
        with suppress(ConnectionError):
            async for message in self.far.messages():
                await socket.send_str(message)
        await socket.close()
