"""Mattermost's WebSocket: one connection after another; what fell between two is read from the history.

Source: https://developers.mattermost.com/api-documentation, "Websocket Events"
"""

from __future__ import annotations

import json
import logging
from typing import Any

import aiohttp

from hub.core.secret import Secret
from hub.messaging.contract import DeliveryState
from integrations.channels.http_api import PlatformError
from integrations.channels.mattermost.api import MattermostApi
from integrations.channels.mattermost.intake import MattermostIntake
from integrations.channels.reconnecting import AccountRefused, SocketWatch

_log = logging.getLogger(__name__)

HELLO_LIMIT_S = 20.0
PING_S = 15.0
REFUSED = "Mattermost refused the token. Make another one of the bot, and see docs/channels/mattermost.md."


class MattermostSocket:
    """Connects one bot.

    Args:
        ping_s: Between two pings.
    """

    def __init__(self, api: MattermostApi, token: Secret, ping_s: float, intake: MattermostIntake) -> None:
        self._api = api
        self._token = token
        self._ping_s = ping_s
        self._intake = intake
        self._socket: aiohttp.ClientWebSocketResponse | None = None
        self._seq = 0

    async def connect(self) -> str | None:
        """Open a socket; return why it ended.

        Raises:
            AccountRefused: The server will not accept it until a person changes something.
        """
        try:
            await self._intake.log_in()
        except PlatformError as error:
            if error.status == 401:
                raise AccountRefused(REFUSED) from error
            raise
        url = f"{self._api.root}websocket".replace("http", "ws", 1)
        async with self._api.session.ws_connect(
            url, autoping=False, timeout=aiohttp.ClientWSTimeout(ws_close=1.0)
        ) as socket:
            await self._greet(socket)
            self._socket = socket
            try:
                await self._intake.catch_up()  # what comes meanwhile waits in the socket, and comes after
                return await self._read(socket)
            finally:
                self._socket = None

    async def show_typing(self, room: str, thread: str | None) -> None:
        """Show for some seconds that the bot is writing, where it is connected."""
        if self._socket is not None and not self._socket.closed:
            await self._say(self._socket, "user_typing", channel_id=room, parent_id=thread or "")

    async def _greet(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        await self._say(socket, "authentication_challenge", token=self._token.reveal())
        while True:
            frame = await socket.receive_json(timeout=HELLO_LIMIT_S)
            if frame.get("event") == "hello":
                return
            if frame.get("status") == "FAIL":
                raise self._api.error(DeliveryState.TRANSIENT, "the WebSocket refused the token")

    async def _say(self, socket: aiohttp.ClientWebSocketResponse, action: str, **data: Any) -> None:
        self._seq += 1
        await socket.send_json({"seq": self._seq, "action": action, "data": data})

    async def _read(self, socket: aiohttp.ClientWebSocketResponse) -> str:
        async with SocketWatch(socket, socket.ping, self._ping_s) as watch:
            async for frame in socket:
                if frame.type is aiohttp.WSMsgType.PING:
                    await socket.pong(frame.data)
                elif frame.type is aiohttp.WSMsgType.PONG:
                    watch.note_answer()
                    await self._intake.beat()
                elif frame.type is aiohttp.WSMsgType.TEXT:
                    with watch.busy():
                        await self._take(frame.data)
        return f"Mattermost closed the connection ({socket.close_code})"

    async def _take(self, text: str) -> None:
        try:
            frame = json.loads(text)
        except ValueError:
            frame = None
        if not isinstance(frame, dict):
            _log.warning("mattermost: a frame was no JSON object and is left out: %.100r", text)
        elif "event" in frame:
            await self._intake.handle(frame)
