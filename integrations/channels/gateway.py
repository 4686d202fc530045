"""A gateway of Discord's kind: connect, identify or resume, heartbeat, and ordered events. QQ has the same.

The position is that of the last event that was handled, so that a resumed session brings the others again.
Source: https://discord.com/developers/docs/events/gateway and https://bot.q.qq.com/wiki/develop/api-v2/dev-prepare
"""

from __future__ import annotations

import json
import logging
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, Protocol

import aiohttp
from msgspec import Struct
from msgspec.structs import replace

from integrations.channels.reconnecting import AccountRefused, SocketWatch

_log = logging.getLogger(__name__)

HELLO_LIMIT_S = 20.0
FRAME_LIMIT_BYTES = 64 * 1024 * 1024
"""Of one frame: a big server announces all of its channels in one."""
CLOSE_TO_RESUME = 4000
"""1000 and 1001 would end the session."""


class GatewayIntake(Protocol):
    """Takes what a gateway brings; its exceptions end the connection, and the event is delivered again."""

    async def beat(self) -> None:
        """Note that the gateway is alive."""
        ...

    async def handle(self, event: str, data: Any, event_id: str) -> None:
        """Handle an event; it is stored, or irrelevant, when this returns."""
        ...


class GatewayTerms(Struct, frozen=True):
    """What differs between platforms.

    Attributes:
        platform: Its name, for errors.
        identity: What a new session is begun with beside the token, such as the intents.
        refusals: The codes with which it refuses an account until a person changes something, and what to do.
        session_over: The codes after which a session cannot be resumed.
    """

    platform: str
    identity: Mapping[str, Any]
    refusals: Mapping[int, str]
    session_over: frozenset[int]


class GatewaySession(Struct, frozen=True):
    """A session that can be resumed: where, and after which event."""

    id: str
    seq: int | None = None
    url: str | None = None


class Gateway(ABC):
    """Connects one bot.

    Attributes:
        session: The session to resume; None begins another.
    """

    def __init__(self, client: aiohttp.ClientSession, terms: GatewayTerms, intake: GatewayIntake) -> None:
        self._client = client
        self._terms = terms
        self._intake = intake
        self.session: GatewaySession | None = None

    @abstractmethod
    async def _address(self) -> str:
        """Return the address to connect to."""

    @abstractmethod
    async def _token(self) -> str:
        """Return the token to log in with."""

    async def connect(self) -> str:
        """Open a session or resume the last one; return why the connection ended.

        Raises:
            AccountRefused: The platform will not accept it until a person changes something.
        """
        url, token = await self._address(), await self._token()
        limit = aiohttp.ClientWSTimeout(ws_close=1.0)
        async with self._client.ws_connect(url, max_msg_size=FRAME_LIMIT_BYTES, timeout=limit) as socket:
            hello = await socket.receive_json(timeout=HELLO_LIMIT_S)
            interval_s = hello["d"]["heartbeat_interval"] / 1000
            try:
                async with SocketWatch(socket, lambda: self._beat(socket), interval_s, CLOSE_TO_RESUME) as watch:
                    await socket.send_json(self._introduction(token))
                    async for frame in socket:
                        if frame.type is aiohttp.WSMsgType.TEXT and not await self._take(socket, watch, frame.data):
                            return f"{self._terms.platform} asked for another connection"
                    code = socket.close_code
            finally:
                await socket.close(code=CLOSE_TO_RESUME)
        self._closed(code or 0)
        return f"the gateway closed the connection ({code})"

    def _closed(self, code: int) -> None:
        """Note with which code the platform closed the connection.

        Raises:
            AccountRefused: Trying again is useless.
        """
        if refusal := self._terms.refusals.get(code):
            raise AccountRefused(refusal)
        if code in self._terms.session_over:
            self.session = None

    def _introduction(self, token: str) -> dict[str, Any]:
        if self.session is not None:
            return {"op": 6, "d": {"token": token, "session_id": self.session.id, "seq": self.session.seq}}
        return {"op": 2, "d": {"token": token, **self._terms.identity}}

    async def _beat(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        await socket.send_json({"op": 1, "d": self.session and self.session.seq})

    async def _take(self, socket: aiohttp.ClientWebSocketResponse, watch: SocketWatch, text: str) -> bool:
        """Handle one frame; False when the platform asks for another connection."""
        try:
            frame = json.loads(text)
            op, data = frame["op"], frame.get("d")
        except (ValueError, LookupError, TypeError):
            platform = self._terms.platform
            _log.warning("%s: a frame of the gateway was no JSON and is left out: %.100r", platform.lower(), text)
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
                    self.session = None
                return False
            case 11:
                watch.note_answer()
                await self._intake.beat()
        return True

    async def _dispatch(self, event: str, data: Any, seq: int) -> None:
        session = self.session
        if event == "READY":
            session = GatewaySession(data["session_id"], url=data.get("resume_gateway_url"))
        await self._intake.handle(event, data, f"{session.id if session else ''}:{seq}")
        self.session = session and replace(session, seq=seq)
