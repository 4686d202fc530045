"""Slack's Socket Mode: one connection after another; each envelope is acknowledged once it was handled.

Source: https://docs.slack.dev/apis/events-api/using-socket-mode
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections import deque

import aiohttp

from hub.core.secret import Secret
from integrations.channels.http_api import PlatformError
from integrations.channels.reconnecting import AccountRefused, SocketWatch
from integrations.channels.slack.intake import SlackIntake
from integrations.channels.slack.web import SlackWeb

_log = logging.getLogger(__name__)

HELLO_LIMIT_S = 20.0
PING_S = 10.0
HELD_LIMIT = 1_000
"""Frames that wait until what was missed is read; more are left in the socket."""
REFUSALS: dict[int | str | None, str] = {
    "invalid_auth": (
        "Slack refused a token. Copy both again: bot_token from OAuth & Permissions, app_token from Basic Information."
    ),
    "not_authed": "A token is empty.",
    "account_inactive": "The app was removed from the workspace, or the workspace is closed. Install the app again.",
    "token_revoked": "The token was revoked. Install the app again and copy the new bot_token.",
    "token_expired": "The token has expired. Switch token rotation off and install the app again.",
    "not_allowed_token_type": "The tokens are mixed up: bot_token begins with xoxb-, app_token with xapp-.",
    "missing_scope": "The app_token needs the scope connections:write.",
    "link_disabled": "Socket Mode is switched off. Switch it on: your app at api.slack.com, Socket Mode.",
}


class SlackSocket:
    """Connects one app.

    Args:
        intake: Takes the envelopes; one that it raises for is not acknowledged.
        ping_s: Between two pings.
    """

    def __init__(self, web: SlackWeb, app_token: Secret, ping_s: float, intake: SlackIntake) -> None:
        self._web = web
        self._token = app_token
        self._ping_s = ping_s
        self._intake = intake
        self._missed = True
        """Whether events may have been lost before."""

    async def connect(self) -> str | None:
        """Open a socket; return why it ended, or None when Slack asked for another, as it does every few hours.

        Raises:
            AccountRefused: Slack will not accept it until a person changes something.
        """
        try:
            missed, self._missed = self._missed, True
            url = (await self._web.call("apps.connections.open", token=self._token))["url"]
            limit = aiohttp.ClientWSTimeout(ws_close=1.0)
            async with self._web.session.ws_connect(url, autoping=False, timeout=limit) as socket:
                hello = await socket.receive_json(timeout=HELLO_LIMIT_S)
                if hello["type"] != "hello":
                    return f"Slack said {hello['type']} in place of hello"
                greeting = asyncio.create_task(self._intake.handle_hello(missed))
                waking = asyncio.create_task(self._wake(socket, greeting))
                try:
                    return await self._read(socket, greeting)
                finally:
                    for task in (greeting, waking):
                        task.cancel()
                    await asyncio.gather(greeting, waking, return_exceptions=True)
        except PlatformError as error:
            if error.reason in REFUSALS:
                raise AccountRefused(REFUSALS[error.reason]) from error
            raise

    async def _wake(self, socket: aiohttp.ClientWebSocketResponse, greeting: asyncio.Task[None]) -> None:
        """Have Slack answer when the greeting is over: what was held meanwhile must not wait for another event."""
        await asyncio.wait([greeting])
        await socket.ping()

    async def _read(self, socket: aiohttp.ClientWebSocketResponse, greeting: asyncio.Task[None]) -> str | None:
        """Read frames, and take them in order once what was missed before is read, which can take minutes."""
        held: deque[str] = deque()
        async with SocketWatch(socket, socket.ping, self._ping_s) as watch:
            async for frame in socket:
                if frame.type is aiohttp.WSMsgType.PING:
                    await socket.pong(frame.data)
                elif frame.type is aiohttp.WSMsgType.PONG:
                    watch.note_answer()
                    await self._intake.beat()
                elif frame.type is aiohttp.WSMsgType.TEXT:
                    held.append(frame.data)
                if not greeting.done() and len(held) < HELD_LIMIT:
                    continue
                await greeting
                while held:
                    if not await self._take(socket, watch, held.popleft()):
                        self._missed = False
                        return None
        return f"Slack closed the connection ({socket.close_code})"

    async def _take(self, socket: aiohttp.ClientWebSocketResponse, watch: SocketWatch, text: str) -> bool:
        """Handle one frame; False when Slack asks for another connection."""
        try:
            frame = json.loads(text)
            kind, envelope = frame["type"], frame.get("envelope_id")
        except (ValueError, LookupError, TypeError):
            _log.warning("slack: a frame was no JSON and is left out: %.100r", text)
            return True
        if kind == "disconnect":
            if frame.get("reason") in REFUSALS:
                raise AccountRefused(REFUSALS[frame["reason"]])
            return False
        if envelope is not None:
            with watch.busy():
                await self._intake.handle(kind, frame.get("payload"))
            await socket.send_json({"envelope_id": envelope})
        return True
