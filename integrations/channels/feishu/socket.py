"""Feishu's long connection: each event is acknowledged once it was stored.

Protocol: that of the vendor's libraries, github.com/larksuite/oapi-sdk-go, folder ws.
"""

from __future__ import annotations

import base64
import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any
from urllib.parse import parse_qs, urlsplit

import aiohttp
from msgspec.structs import replace

from hub.core.errors import HubError
from integrations.channels.feishu.api import FeishuApi
from integrations.channels.feishu.frames import CONTROL, DATA, Frame, Parts, decode, encode
from integrations.channels.feishu.intake import FeishuIntake
from integrations.channels.reconnecting import AccountRefused, SocketWatch

_log = logging.getLogger(__name__)

PING_S = 30.0
FRAME_LIMIT_BYTES = 8 * 1024 * 1024
FORBIDDEN = "403"
ACKNOWLEDGED, FAILED = 200, 500


class FeishuSocket:
    """Connects one app.

    Args:
        greet: Called before the first event, once the connection is open.
        ping_s: Between two pings; Feishu may want them more often.
    """

    def __init__(
        self, api: FeishuApi, intake: FeishuIntake, greet: Callable[[], Awaitable[None]], ping_s: float
    ) -> None:
        self._api = api
        self._intake = intake
        self._greet = greet
        self._ping_s = ping_s
        self._parts = Parts()

    async def connect(self) -> str:
        """Open a connection; return why it ended.

        Raises:
            AccountRefused: Feishu will not accept it until a person changes something.
        """
        place = await self._api.endpoint()
        url, config = str(place["URL"]), place.get("ClientConfig") or {}
        service = int(parse_qs(urlsplit(url).query)["service_id"][0])
        ping = encode(Frame(service=service, method=CONTROL, headers=(("type", "ping"),)))
        ping_s = min(self._ping_s, config.get("PingInterval") or self._ping_s)
        limit = aiohttp.ClientWSTimeout(ws_close=1.0)
        try:
            async with self._api.session.ws_connect(url, max_msg_size=FRAME_LIMIT_BYTES, timeout=limit) as socket:
                await self._greet()
                async with SocketWatch(socket, lambda: socket.send_bytes(ping), ping_s) as watch:
                    async for message in socket:
                        if message.type is aiohttp.WSMsgType.BINARY:
                            await self._take(socket, watch, message.data)
                return f"Feishu closed the connection ({socket.close_code})"
        except aiohttp.WSServerHandshakeError as error:
            headers: Mapping[str, str] = error.headers or {}
            if headers.get("Handshake-Status") == FORBIDDEN:
                raise AccountRefused(f"Feishu refused the connection: {headers.get('Handshake-Msg')}") from error
            raise

    async def _take(self, socket: aiohttp.ClientWebSocketResponse, watch: SocketWatch, data: bytes) -> None:
        try:
            frame = decode(data)
            event = self._parts.join(frame) if frame.method == DATA else None
        except ValueError as error:
            _log.warning("feishu: a frame is left out: %s", error)
            return
        watch.note_answer()
        self._intake.beat()
        if event is None:
            return
        answer: dict[str, Any] = {"code": ACKNOWLEDGED}
        try:
            with watch.busy():
                said = await self._intake.take(event)
            if said:
                answer["data"] = base64.b64encode(json.dumps(said).encode()).decode()
        except HubError as error:
            _log.warning("feishu: an event is not stored, and has to come again: %s", error)
            answer["code"] = FAILED
        await socket.send_bytes(encode(replace(frame, payload=json.dumps(answer).encode())))
