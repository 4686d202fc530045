"""Discord's gateway, version 10: connect, identify or resume, heartbeat, and ordered events.

The position is that of the last event that was handled, so that a resumed session brings the others again.
Source: https://discord.com/developers/docs/events/gateway
"""

from __future__ import annotations

import json
import logging
import sys
from typing import Any

import aiohttp

from hub.core.secret import Secret
from integrations.channels.discord.intake import DiscordIntake
from integrations.channels.discord.rest import DiscordRest
from integrations.channels.http_api import PlatformError
from integrations.channels.reconnecting import AccountRefused, SocketWatch

_log = logging.getLogger(__name__)

HELLO_LIMIT_S = 20.0
FRAME_LIMIT_BYTES = 64 * 1024 * 1024
"""Of one frame: a big server announces all of its channels in one."""
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


class DiscordGateway:
    """Connects one bot.

    Args:
        intake: Takes the events; its exceptions end the connection, and the event is delivered again.
        url: The address to connect to; None asks the API, and resumes sessions where Discord says.
    """

    def __init__(self, rest: DiscordRest, token: Secret, url: str | None, intake: DiscordIntake) -> None:
        self._rest = rest
        self._token = token
        self._url = url
        self._intake = intake
        self._session: tuple[str, str] | None = None  # its id, and where to resume it
        self._seq: int | None = None

    async def connect(self) -> str:
        """Open a session or resume the last one; return why the connection ended.

        Raises:
            AccountRefused: Discord will not accept it until a person changes something.
        """
        url = f"{await self._address()}?v=10&encoding=json"
        limit = aiohttp.ClientWSTimeout(ws_close=1.0)
        async with self._rest.session.ws_connect(url, max_msg_size=FRAME_LIMIT_BYTES, timeout=limit) as socket:
            hello = await socket.receive_json(timeout=HELLO_LIMIT_S)
            interval_s = hello["d"]["heartbeat_interval"] / 1000
            try:
                async with SocketWatch(socket, lambda: self._beat(socket), interval_s, CLOSE_TO_RESUME) as watch:
                    await socket.send_json(self._introduction())
                    async for frame in socket:
                        if frame.type is aiohttp.WSMsgType.TEXT and not await self._take(socket, watch, frame.data):
                            return "Discord asked for another connection"
                    code = socket.close_code
            finally:
                await socket.close(code=CLOSE_TO_RESUME)
        if code in REFUSALS:
            raise AccountRefused(REFUSALS[code])
        if code in SESSION_OVER:
            self._session = None
        return f"the gateway closed the connection ({code})"

    async def _address(self) -> str:
        if self._url is not None:
            return self._url
        if self._session is not None:
            return self._session[1]
        try:
            return str((await self._rest.call("GET", "/gateway/bot"))["url"])
        except PlatformError as error:
            if error.status == 401:
                raise AccountRefused(REFUSALS[4004]) from error
            raise

    def _introduction(self) -> dict[str, Any]:
        token = self._token.reveal()
        if self._session is not None:
            return {"op": 6, "d": {"token": token, "session_id": self._session[0], "seq": self._seq}}
        properties = {"os": sys.platform, "browser": "homarus", "device": "homarus"}
        return {"op": 2, "d": {"token": token, "intents": INTENTS, "properties": properties}}

    async def _beat(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        await socket.send_json({"op": 1, "d": self._seq})

    async def _take(self, socket: aiohttp.ClientWebSocketResponse, watch: SocketWatch, text: str) -> bool:
        """Handle one frame; False when Discord asks for another connection."""
        try:
            frame = json.loads(text)
            op, data = frame["op"], frame.get("d")
        except (ValueError, LookupError, TypeError):
            _log.warning("discord: a frame of the gateway was no JSON and is left out: %.100r", text)
            return True
        match op:
            case 0:
                with watch.busy():
                    await self._dispatch(frame["t"], data, frame["s"])
            case 1:
                await self._beat(socket)
            case 7:
                return False
            case 9:
                if data is not True:
                    self._session = self._seq = None
                return False
            case 11:
                watch.note_answer()
                await self._intake.beat()
        return True

    async def _dispatch(self, event: str, data: Any, seq: int) -> None:
        session = self._session
        if event == "READY":
            session = (data["session_id"], data["resume_gateway_url"])
        await self._intake.handle(event, data, f"{session[0] if session else ''}:{seq}")
        self._session, self._seq = session, seq
