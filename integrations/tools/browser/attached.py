"""A Chrome on another machine, attached by a person with `homarus browser attach`, which connects to the hub."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from aiohttp import web

from hub.core.errors import Conflict, InvalidRequest
from hub.core.surfaces import ADMIN, HttpCall, Route
from integrations.tools.browser.cdp_socket import MESSAGE_LIMIT_BYTES
from integrations.tools.browser.service import BrowserService

PATH = "/browser/attach/{name}"
HEARTBEAT_S = 20.0
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
                    await self._said.put(message.data)
        finally:
            if self._said.full():
                self._said.get_nowait()
            self._said.put_nowait(None)

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


def attach_route(service: BrowserService, owner: str) -> Route:
    """Return the route by which a Chrome is attached."""

    async def attach(call: HttpCall) -> web.StreamResponse:
        profile = service.profile(call.params["name"])
        if not profile.waits:
            raise InvalidRequest(f"the profile {profile.name} is not one with mode: attach and without cdp_url")
        if profile.attached is not None:
            raise Conflict(f"a Chrome is attached to the profile {profile.name} already")
        socket = web.WebSocketResponse(compress=False, max_msg_size=MESSAGE_LIMIT_BYTES, heartbeat=HEARTBEAT_S)
        profile.attached = chrome = AttachedChrome(socket)
        try:
            await socket.prepare(call.request)
            await chrome.read()
        finally:
            if profile.attached is chrome:
                profile.attached = None
        return socket

    return Route("GET", PATH, attach, owner, scope=ADMIN, websocket=True)
