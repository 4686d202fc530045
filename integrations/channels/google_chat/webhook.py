"""The HTTP endpoint of a Chat app: who may deliver to it.

Source: https://developers.google.com/workspace/chat/verify-requests-from-chat
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import orjson
from aiohttp import web

from hub.core.clock import Clock
from hub.core.errors import InvalidRequest, Unauthorized
from hub.core.surfaces import HttpCall, Open, Route
from integrations.channels.bearer_tokens import SigningKeys, verify

CHAT_CERTS_URL = "https://www.googleapis.com/service_accounts/v1/metadata/x509/chat@system.gserviceaccount.com"
GOOGLE_CERTS_URL = "https://www.googleapis.com/oauth2/v1/certs"
GOOGLE = ("https://accounts.google.com", "accounts.google.com")
BODY_BYTES = 524_288


class GoogleChatWebhook:
    """Hands events to the channel of the app that they are for, if Google signed for them.

    Args:
        audience: The number of the app's project, or the address of its endpoint, as its configuration says there.
        caller: Who Google calls an address as; a number has one caller alone, who signs by itself.
        take: Stores an event, and returns the answer to it.
    """

    def __init__(
        self,
        account: str,
        audience: str,
        caller: str,
        keys: SigningKeys,
        clock: Clock,
        take: Callable[[Any], Awaitable[dict[str, Any]]],
    ) -> None:
        self._account = account
        self._audience = audience
        self._caller = caller
        self._keys = keys
        self._clock = clock
        self._take = take

    def route(self) -> Route:
        """Return the route."""
        path = f"/google_chat/{self._account}"
        return Route("POST", path, self.deliver, "google_chat", Open.SELF, body_limit=BODY_BYTES, open_limit=BODY_BYTES)

    async def deliver(self, call: HttpCall) -> web.StreamResponse:
        """`POST /google_chat/<account>`: accept an event; it is on disk when this answers 200."""
        by_number = self._audience.isdigit()
        issuers = (self._caller,) if by_number else GOOGLE
        given, now = call.request.headers.get("Authorization", ""), self._clock.time()
        claims, _ = await verify(given, self._keys, issuers=issuers, audience=self._audience, now=now)
        if not by_number and (claims.get("email") != self._caller or claims.get("email_verified") is not True):
            raise Unauthorized("the bearer token is not of Google Chat")
        try:
            event = orjson.loads(bytes(call.body or b""))
        except ValueError as error:
            raise InvalidRequest("this is no event") from error
        return web.json_response(await self._take(event))
