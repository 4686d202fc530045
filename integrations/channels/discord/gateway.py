"""Discord's gateway, version 10: connect, identify or resume, beat, and hand over events in order.

The position is that of the last event that was handled, so that a resumed session brings the others again.
Source: https://discord.com/developers/docs/events/gateway
"""

from __future__ import annotations

import asyncio
import json
import logging
import random
import sys
from collections.abc import Awaitable, Callable
from typing import Any

import aiohttp

from hub.core.clock import Clock
from hub.core.errors import HubError
from hub.core.secret import Secret

_log = logging.getLogger(__name__)

HELLO_LIMIT_S = 20.0
FRAME_LIMIT_BYTES = 64 * 1024 * 1024
"""Of one frame: a big server announces all of its channels in one."""
BACKOFF_FIRST_S = 1.0
BACKOFF_LIMIT_S = 120.0
"""At most 1 000 sessions may be opened in a day."""
CLOSE_TO_RESUME = 4000
"""1000 and 1001 would end the session."""
SESSION_OVER = frozenset({1000, 1001, 4007, 4009})
# Servers, messages, reactions and polls in servers and direct messages, and the content of messages.
INTENTS = 1 << 0 | 1 << 9 | 1 << 10 | 1 << 12 | 1 << 13 | 1 << 15 | 1 << 24 | 1 << 25
REFUSALS = {
    4004: "Discord refused the token. Make a new one: Developer Portal, your application, Bot, Reset Token.",
    4010: "Discord refused the shard of the connection.",
    4011: "The bot is in too many servers for one connection (Discord asks for sharding at 2 500).",
    4012: "Discord no longer speaks version 10 of its gateway; update the hub.",
    4013: "Discord refused the intents of the connection; update the hub.",
    4014: "Switch on Message Content Intent: Developer Portal, your application, Bot, Privileged Gateway Intents.",
}

Handle = Callable[[str, Any, str], Awaitable[None]]


class GatewayRefused(Exception):
    """Discord will not take the connection until a person changes something; the message says what."""


class DiscordGateway:
    """Keeps one connection.

    Args:
        url: Returns where to connect for a new session.
        fixed: Whether sessions are resumed there too, and not where Discord says.
        handle: Takes the type, data and id of an event; what it raises ends the connection, and the event comes again.
        beat: Called when Discord answers a heartbeat.
        lost: Called with the reason when a connection is lost.
    """

    def __init__(
        self,
        session: aiohttp.ClientSession,
        token: Secret,
        clock: Clock,
        *,
        url: Callable[[], Awaitable[str]],
        fixed: bool,
        handle: Handle,
        beat: Callable[[], Awaitable[None]],
        lost: Callable[[str], None],
    ) -> None:
        self._http = session
        self._token = token
        self._clock = clock
        self._url = url
        self._fixed = fixed
        self._handle = handle
        self._beat = beat
        self._lost = lost
        self._session: tuple[str, str] | None = None  # its id, and where to resume it
        self._seq: int | None = None
        self._answered = True
        self._handling = False
        self._greeted = False

    async def run(self) -> None:
        """Connect again and again.

        Raises:
            GatewayRefused: It is no use.
        """
        wait = 0.0
        while True:
            self._greeted = False
            try:
                reason = await self._connect_once()
            except (aiohttp.ClientError, OSError, TimeoutError, HubError, ValueError, LookupError, TypeError) as error:
                reason = str(error) or type(error).__name__
            wait = BACKOFF_FIRST_S if self._greeted else min(max(wait * 2, BACKOFF_FIRST_S), BACKOFF_LIMIT_S)
            self._lost(reason)
            # Jitter spreads reconnects; it guards nothing.
            await self._clock.sleep(wait * (1 + 0.25 * random.random()))  # noqa: S311

    async def _connect_once(self) -> str:
        """Return why the connection ended."""
        url = self._session[1] if self._session and not self._fixed else await self._url()
        limit = aiohttp.ClientWSTimeout(ws_close=1.0)
        async with self._http.ws_connect(
            f"{url}?v=10&encoding=json", max_msg_size=FRAME_LIMIT_BYTES, timeout=limit
        ) as socket:
            hello = await socket.receive_json(timeout=HELLO_LIMIT_S)
            self._answered = True
            beating = asyncio.create_task(self._keep_beating(socket, hello["d"]["heartbeat_interval"] / 1000))
            try:
                await socket.send_json(self._introduction())
                async for frame in socket:
                    if frame.type is aiohttp.WSMsgType.TEXT and not await self._take(socket, frame.data):
                        return "Discord asked to connect anew"
                code = socket.close_code
            finally:
                beating.cancel()
                await asyncio.gather(beating, return_exceptions=True)
                await socket.close(code=CLOSE_TO_RESUME)
        if code in REFUSALS:
            raise GatewayRefused(REFUSALS[code])
        if code in SESSION_OVER:
            self._session = None
        return f"the gateway closed the connection ({code})"

    def _introduction(self) -> dict[str, Any]:
        token = self._token.reveal()
        if self._session is not None:
            return {"op": 6, "d": {"token": token, "session_id": self._session[0], "seq": self._seq}}
        properties = {"os": sys.platform, "browser": "homarus", "device": "homarus"}
        return {"op": 2, "d": {"token": token, "intents": INTENTS, "properties": properties}}

    async def _take(self, socket: aiohttp.ClientWebSocketResponse, text: str) -> bool:
        """Handle one frame; False when the connection is to be made anew."""
        try:
            frame = json.loads(text)
            op, data = frame["op"], frame.get("d")
        except (ValueError, LookupError, TypeError):
            _log.warning("discord: a frame of the gateway was no JSON and is left out: %.100r", text)
            return True
        match op:
            case 0:
                await self._dispatch(frame["t"], data, frame["s"])
            case 1:
                await socket.send_json({"op": 1, "d": self._seq})
            case 7:
                return False
            case 9:
                if data is not True:
                    self._session = self._seq = None
                return False
            case 11:
                self._answered = True
                await self._beat()
        return True

    async def _dispatch(self, event: str, data: Any, seq: int) -> None:
        session = self._session
        if event == "READY":
            session = (data["session_id"], data["resume_gateway_url"])
        self._handling = True
        try:
            await self._handle(event, data, f"{session[0] if session else ''}:{seq}")
        finally:
            self._handling = False
            self._answered = True  # answers were not read meanwhile
        self._session, self._seq = session, seq
        self._greeted = True

    async def _keep_beating(self, socket: aiohttp.ClientWebSocketResponse, interval_s: float) -> None:
        await asyncio.sleep(interval_s * random.random())  # noqa: S311  as Discord asks
        while True:
            if not self._answered and not self._handling:
                await socket.close(code=CLOSE_TO_RESUME)
                return
            self._answered = False
            await socket.send_json({"op": 1, "d": self._seq})
            await asyncio.sleep(interval_s)
