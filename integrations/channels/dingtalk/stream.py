"""DingTalk's Stream mode: one connection after another; each message is acknowledged once it was stored.

Source: https://open-dingtalk.github.io/developerpedia/docs/learn/stream/protocol
"""

from __future__ import annotations

import json
import logging
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import urlencode

import aiohttp

from hub.core.errors import HubError
from hub.messaging.contract import DeliveryState
from integrations.channels.dingtalk.api import DingTalkApi
from integrations.channels.http_api import PlatformError
from integrations.channels.reconnecting import AccountRefused, SocketWatch

_log = logging.getLogger(__name__)

PING_S = 30.0
MESSAGES = "/v1.0/im/bot/messages/get"


class DingTalkStream:
    """Connects one app.

    Args:
        greet: Called before the first message, once the connection is open.
        take: Takes a message; one that it raises for is not acknowledged.
        beat: Called whenever DingTalk was heard.
    """

    def __init__(
        self,
        api: DingTalkApi,
        greet: Callable[[], Awaitable[None]],
        take: Callable[[Any], Awaitable[None]],
        beat: Callable[[], None],
        ping_s: float,
    ) -> None:
        self._api = api
        self._greet = greet
        self._take = take
        self._beat = beat
        self._ping_s = ping_s

    async def connect(self) -> str | None:
        """Open a connection; return why it ended, or None when DingTalk asked for another.

        Raises:
            AccountRefused: DingTalk will not accept it until a person changes something.
        """
        try:
            place = await self._api.open_stream((MESSAGES,))
        except PlatformError as error:
            if error.state is DeliveryState.PERMANENT:
                raise AccountRefused(f"{error.message}. See docs/channels/dingtalk.md.") from error
            raise
        url = f"{place['endpoint']}?{urlencode({'ticket': place['ticket']})}"
        limit = aiohttp.ClientWSTimeout(ws_close=1.0)
        async with self._api.session.ws_connect(url, autoping=False, timeout=limit) as socket:
            await self._greet()
            async with SocketWatch(socket, socket.ping, self._ping_s) as watch:
                async for frame in socket:
                    watch.note_answer()
                    self._beat()
                    if frame.type is aiohttp.WSMsgType.PING:
                        await socket.pong(frame.data)
                    elif frame.type is aiohttp.WSMsgType.TEXT and not await self._handle(socket, watch, frame.data):
                        return None
        return f"DingTalk closed the connection ({socket.close_code})"

    async def _handle(self, socket: aiohttp.ClientWebSocketResponse, watch: SocketWatch, text: str) -> bool:
        """Handle one frame; False when DingTalk asks for another connection."""
        try:
            frame = json.loads(text)
            kind, headers, data = frame["type"], frame["headers"], frame.get("data") or "{}"
            topic, id = headers.get("topic"), headers["messageId"]
            given = json.loads(data) if isinstance(data, str) else data
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
            _log.warning("dingtalk: a frame is not as expected and is left out: %.100r", text)
            return True
        if (kind, topic) == ("SYSTEM", "disconnect"):
            return False
        if kind == "CALLBACK" and topic == MESSAGES:
            try:
                with watch.busy():
                    await self._take(given)
            except HubError as error:
                _log.warning("dingtalk: a message is not stored, and has to come again: %s", error)
                return True
        answer = {"messageId": id, "contentType": "application/json"}
        said = json.dumps({"response": None}) if kind == "CALLBACK" else data
        await socket.send_json({"code": 200, "headers": answer, "message": "OK", "data": said})
        return True
