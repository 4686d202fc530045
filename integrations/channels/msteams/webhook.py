"""The webhook of a bot: who may deliver to it.

Source: https://learn.microsoft.com/azure/bot-service/rest-api/bot-framework-rest-connector-authentication
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

ISSUER = "https://api.botframework.com"
CHANNEL = "msteams"
BODY_BYTES = 524_288


class TeamsWebhook:
    """Hands activities to the channel of the bot that they are for, if the Bot Connector signed for them.

    Args:
        account: The bot's name in the configuration.
        app_id: Its id.
        take: Stores an activity, and returns the answer to one that asks for one.
    """

    def __init__(
        self,
        account: str,
        app_id: str,
        keys: SigningKeys,
        clock: Clock,
        take: Callable[[dict[str, Any]], Awaitable[dict[str, Any] | None]],
    ) -> None:
        self._account = account
        self._app_id = app_id
        self._keys = keys
        self._clock = clock
        self._take = take

    def route(self) -> Route:
        """Return the route."""
        path = f"/msteams/{self._account}"
        return Route("POST", path, self.deliver, "msteams", Open.SELF, body_limit=BODY_BYTES, open_limit=BODY_BYTES)

    async def deliver(self, call: HttpCall) -> web.StreamResponse:
        """`POST /msteams/<account>`: accept an activity; it is on disk when this answers 200."""
        given = call.request.headers.get("Authorization", "")
        now = self._clock.time()
        claims, key = await verify(given, self._keys, issuers=(ISSUER,), audience=self._app_id, now=now)
        if CHANNEL not in key.endorsements:
            raise Unauthorized("the bearer token's key may not speak for Teams")
        try:
            activity = orjson.loads(bytes(call.body or b""))
            service, channel = activity["serviceUrl"], activity["channelId"]
        except (ValueError, LookupError, TypeError) as error:
            raise InvalidRequest("this is no activity") from error
        if channel != CHANNEL or claims.get("serviceurl") != service:
            raise Unauthorized("the bearer token is for another server")
        answer = await self._take(activity)
        return web.Response() if answer is None else web.json_response(answer)
