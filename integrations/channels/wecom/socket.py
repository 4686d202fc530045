"""WeCom's long connection: one WebSocket for each bot, requests and their answers, callbacks in order.

Source: https://developer.work.weixin.qq.com/document/path/101463
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import aiohttp

from hub.core.ids import new_id
from hub.core.secret import Secret
from hub.messaging.contract import DeliveryState
from integrations.channels.http_api import HttpApi
from integrations.channels.reconnecting import AccountRefused, SocketWatch

_log = logging.getLogger(__name__)

PING_S = 30.0
ANSWER_LIMIT_S = 15.0
RATE_PAUSE_S = 20.0
"""Thirty messages a minute are allowed in a conversation, and a thousand an hour."""
BUSY, RATE_LIMITED, BAD_LOGIN, NOT_SUBSCRIBED = -1, frozenset({45009, 45033}), 853000, 846609
UNUSABLE_REQUEST = frozenset({846605, 846608})
"""The message that is answered is too long ago, or its stream has ended."""
REPLACED = (
    "Another program has connected with this Bot ID, and WeCom keeps one connection for each bot. Stop the other one, "
    "or make a bot of its own for this hub; then reload the integration wecom."
)

Json = dict[str, Any]


class WeComSocket(HttpApi):
    """One bot's connection.

    Args:
        url: The address of the WebSocket.
        take: Takes a callback: its command, body and request id.
        connected: Called when WeCom took the connection.
        progress: Called when WeCom said anything.
    """

    def __init__(
        self,
        url: str,
        login: tuple[str, Secret],
        ping_s: float,
        take: Callable[[str, Json, str], Awaitable[None]],
        connected: Callable[[], Awaitable[None]],
        progress: Callable[[], None],
    ) -> None:
        super().__init__("WeCom", "http" + url.removeprefix("ws"))
        self._url = url
        self._bot_id, self._secret = login
        self._ping_s = ping_s
        self._take = take
        self._connected = connected
        self._progress = progress
        self._socket: aiohttp.ClientWebSocketResponse | None = None
        self._waiting: dict[str, deque[asyncio.Future[Json]]] = {}
        """For their answers; those to several uses of one request id come in order."""

    async def connect(self) -> str:
        """Connect and read until the connection ends; return why it did.

        Raises:
            AccountRefused: Trying again is useless.
        """
        limit = aiohttp.ClientWSTimeout(ws_close=1.0)
        async with self.session.ws_connect(self._url, timeout=limit) as socket:
            try:
                await self._subscribe(socket)
                self._socket = socket
                await self._connected()
                async with SocketWatch(socket, lambda: self._ping(socket), self._ping_s) as watch:
                    async for frame in socket:
                        if frame.type is aiohttp.WSMsgType.TEXT:
                            watch.note_answer()
                            await self._handle(frame.data, watch)
                return f"WeCom closed the connection ({socket.close_code})"
            finally:
                self._socket = None
                waiting, self._waiting = self._waiting, {}
                for each in (future for futures in waiting.values() for future in futures if not future.done()):
                    each.set_exception(self.error(DeliveryState.UNKNOWN, "the connection broke before it answered"))

    async def call(self, command: str, body: Json, request_id: str | None = None) -> Json:
        """Return the answer to a request.

        Args:
            request_id: That of a callback, to answer it.

        Raises:
            PlatformError: It was refused, could not be sent, or the answer was lost.
        """
        socket = self._socket
        if socket is None or not self.is_open:
            raise self.error(DeliveryState.TRANSIENT, "the bot is not connected", retry_after_s=2.0)
        id = request_id or f"{command}_{new_id()}"
        answer: asyncio.Future[Json] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(id, deque()).append(answer)
        try:
            await socket.send_json(_frame(command, id, body))
            async with asyncio.timeout(ANSWER_LIMIT_S):
                frame = await answer
        except (TimeoutError, OSError, aiohttp.ClientError) as error:
            raise self.error(DeliveryState.UNKNOWN, f"did not answer: {type(error).__name__}") from error
        finally:
            if (queue := self._waiting.get(id)) and answer in queue:
                queue.remove(answer)
            if not queue:
                self._waiting.pop(id, None)
        self._check(command, frame)
        return frame.get("body") or {}

    def _check(self, command: str, frame: Mapping[str, Any]) -> None:
        if not (code := frame["errcode"]):
            return
        text = f"{command}: {frame.get('errmsg') or 'refused'} ({code})"
        limited = code in RATE_LIMITED
        state = DeliveryState.TRANSIENT if limited or code in (BUSY, NOT_SUBSCRIBED) else DeliveryState.PERMANENT
        raise self.error(state, text, reason=code, retry_after_s=RATE_PAUSE_S if limited else None)

    async def _subscribe(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        """Log the connection in.

        Raises:
            AccountRefused: WeCom does not know the bot or its secret.
        """
        login = {"bot_id": self._bot_id, "secret": self._secret.reveal()}
        await socket.send_json(_frame("aibot_subscribe", f"aibot_subscribe_{new_id()}", login))
        answer = await socket.receive_json(timeout=ANSWER_LIMIT_S)
        if (code := answer["errcode"]) == BAD_LOGIN:
            raise AccountRefused(
                "WeCom refused the Bot ID or its Secret. Copy both again from the page of the bot's long connection."
            )
        if code:
            text = f"it did not take the connection: {answer.get('errmsg')} ({code})"
            raise self.error(
                DeliveryState.TRANSIENT, text, retry_after_s=RATE_PAUSE_S if code in RATE_LIMITED else None
            )

    async def _ping(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        await socket.send_json(_frame("ping", f"ping_{new_id()}"))

    async def _handle(self, text: str, watch: SocketWatch) -> None:
        try:
            frame = json.loads(text)
            command, id, body = frame.get("cmd"), frame["headers"]["req_id"], frame.get("body") or {}
            ended = command == "aibot_event_callback" and body["event"]["eventtype"] == "disconnected_event"
        except (ValueError, LookupError, TypeError, AttributeError):
            _log.warning("wecom: a frame is not as expected and is left out: %.100r", text)
            return
        self._progress()
        if ended:
            raise AccountRefused(REPLACED)
        if "errcode" in frame:
            if (queue := self._waiting.get(id)) and not queue[0].done():
                queue.popleft().set_result(frame)
            if frame["errcode"] == NOT_SUBSCRIBED and self._socket is not None:
                await self._socket.close()
            return
        with watch.busy():
            await self._take(command, body, id)


def _frame(command: str, id: str, body: Json | None = None) -> Json:
    frame: Json = {"cmd": command, "headers": {"req_id": id}}
    return frame if body is None else {**frame, "body": body}
