"""The webhook that Telegram delivers to, where an account has one."""

from __future__ import annotations

import hmac

import orjson
from aiohttp import web

from hub.core.errors import InvalidRequest, Unauthorized
from hub.core.secret import Secret
from hub.core.surfaces import HttpCall, Open, Route
from integrations.channels.telegram.channel import Telegram

BODY_LIMIT_BYTES = 1_048_576
HEADER = "X-Telegram-Bot-Api-Secret-Token"


def delivery_route(channel: Telegram, secret: Secret) -> Route:
    """Return the route that takes what Telegram delivers; it is confirmed once it is on disk, and else delivered again.

    Args:
        secret: What Telegram repeats in each delivery.
    """

    async def deliver(call: HttpCall) -> web.StreamResponse:
        given = call.request.headers.get(HEADER, "")
        if not hmac.compare_digest(given.encode(), secret.reveal().encode()):
            raise Unauthorized("the secret token is not the one given to Telegram")
        try:
            await channel.deliver(orjson.loads(call.body))
        except ValueError as error:
            raise InvalidRequest("expected an update of the Bot API") from error
        return web.Response()

    path = f"/telegram/{channel.account}"
    return Route("POST", path, deliver, "telegram", scope=Open.SELF, body_limit=BODY_LIMIT_BYTES)
