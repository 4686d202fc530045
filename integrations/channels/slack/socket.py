"""Slack's Socket Mode: one connection after another; each envelope is acknowledged once it was handled.

Source: https://docs.slack.dev/apis/events-api/using-socket-mode
"""

from __future__ import annotations

import asyncio
import json
import logging
import random
from collections.abc import Awaitable, Callable
from typing import Any

import aiohttp

from hub.core.clock import Clock
from hub.core.errors import HubError
from hub.core.secret import Secret
from integrations.channels.slack.web import SlackError, SlackWeb

_log = logging.getLogger(__name__)

HELLO_LIMIT_S = 20.0
PING_S = 10.0
BACKOFF_FIRST_S = 1.0
BACKOFF_LIMIT_S = 60.0
REFUSALS = {
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


class SlackRefused(Exception):
    """Slack will not take the connection until a person changes something; the message says what."""


class SlackSocket:
    """Keeps one connection.

    Args:
        greeted: Called when a connection is up; `missed` is whether events may have been lost before.
        handle: Takes the type and payload of an envelope; one that it raises for is not acknowledged.
        beat: Called when Slack answers a ping.
        lost: Called with the reason when a connection is lost.
    """

    def __init__(
        self,
        web: SlackWeb,
        app_token: Secret,
        clock: Clock,
        *,
        ping_s: float,
        greeted: Callable[[bool], Awaitable[None]],
        handle: Callable[[str, Any], Awaitable[None]],
        beat: Callable[[], Awaitable[None]],
        lost: Callable[[str], None],
    ) -> None:
        self._web = web
        self._token = app_token
        self._clock = clock
        self._ping_s = ping_s
        self._greeted = greeted
        self._handle = handle
        self._beat = beat
        self._lost = lost
        self._up = False
        self._missed = True
        self._answered = True
        self._handling = False

    async def run(self) -> None:
        """Connect again and again.

        Raises:
            SlackRefused: It is no use.
        """
        wait = 0.0
        while True:
            self._up = False
            try:
                reason = await self._connect_once()
            except SlackError as error:
                if error.error in REFUSALS:
                    raise SlackRefused(REFUSALS[error.error]) from error
                reason = error.message
            except (aiohttp.ClientError, OSError, TimeoutError, HubError, ValueError, LookupError, TypeError) as error:
                reason = str(error) or type(error).__name__
            if reason is None:
                continue
            self._missed = True
            wait = BACKOFF_FIRST_S if self._up else min(max(wait * 2, BACKOFF_FIRST_S), BACKOFF_LIMIT_S)
            self._lost(reason)
            # Jitter spreads reconnects; it guards nothing.
            await self._clock.sleep(wait * (1 + 0.25 * random.random()))  # noqa: S311

    async def _connect_once(self) -> str | None:
        """Return why the connection ended; None when Slack asked for another, as it does every few hours."""
        url = (await self._web.call("apps.connections.open", token=self._token))["url"]
        limit = aiohttp.ClientWSTimeout(ws_close=1.0)
        async with self._web.session.ws_connect(url, autoping=False, timeout=limit) as socket:
            hello = await socket.receive_json(timeout=HELLO_LIMIT_S)
            if hello["type"] != "hello":
                return f"Slack said {hello['type']} in place of hello"
            await self._greeted(self._missed)
            self._up, self._missed, self._answered = True, False, True
            pinging = asyncio.create_task(self._keep_pinging(socket))
            try:
                async for frame in socket:
                    if frame.type is aiohttp.WSMsgType.PING:
                        await socket.pong(frame.data)
                    elif frame.type is aiohttp.WSMsgType.PONG:
                        self._answered = True
                        await self._beat()
                    elif frame.type is aiohttp.WSMsgType.TEXT and not await self._take(socket, frame.data):
                        return None
            finally:
                pinging.cancel()
                await asyncio.gather(pinging, return_exceptions=True)
        return f"Slack closed the connection ({socket.close_code})"

    async def _take(self, socket: aiohttp.ClientWebSocketResponse, text: str) -> bool:
        """Handle one frame; False when the connection is to be made anew."""
        try:
            frame = json.loads(text)
            kind, envelope = frame["type"], frame.get("envelope_id")
        except (ValueError, LookupError, TypeError):
            _log.warning("slack: a frame was no JSON and is left out: %.100r", text)
            return True
        if kind == "disconnect":
            if frame.get("reason") in REFUSALS:
                raise SlackRefused(REFUSALS[frame["reason"]])
            return False
        if envelope is None:
            return True
        self._handling = True
        try:
            await self._handle(kind, frame.get("payload"))
        finally:
            self._handling = False
            self._answered = True  # answers were not read meanwhile
        await socket.send_json({"envelope_id": envelope})
        return True

    async def _keep_pinging(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        while True:
            await asyncio.sleep(self._ping_s)
            if not self._answered and not self._handling:
                await socket.close()
                return
            self._answered = False
            await socket.ping()
