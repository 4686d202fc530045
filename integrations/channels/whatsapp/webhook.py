"""The webhook that Meta delivers to: one address for all numbers."""

from __future__ import annotations

import hmac
import logging

import orjson
from aiohttp import web

from hub.core.clock import Clock
from hub.core.errors import InvalidRequest, Unauthorized
from hub.core.secret import Secret
from hub.core.surfaces import HttpCall, Open, Route
from hub.security.webhook_signature import FORMS, is_signed
from integrations.channels.whatsapp.channel import WhatsAppChannel

_log = logging.getLogger(__name__)

PATH = "/whatsapp"
BODY_BYTES = 3_145_728
"""What Meta says that a delivery may have: a backlog comes in batches."""


class WhatsAppWebhook:
    """Hands what is delivered to the channel of its number, if the app of that number signed it."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._numbers: list[tuple[WhatsAppChannel, Secret, Secret]] = []

    def add(self, channel: WhatsAppChannel, app_secret: Secret, verify_token: Secret) -> None:
        """Deliver to a channel."""
        self._numbers.append((channel, app_secret, verify_token))

    def routes(self) -> list[Route]:
        """Return the routes, for Meta's question and for its deliveries."""
        return [
            Route("GET", PATH, self.verify, "whatsapp", scope=Open.SELF),
            Route("POST", PATH, self.deliver, "whatsapp", Open.SELF, body_limit=BODY_BYTES, open_limit=BODY_BYTES),
        ]

    async def verify(self, call: HttpCall) -> web.StreamResponse:
        """`GET /whatsapp`: repeat Meta's challenge if it knows the verify token."""
        query = call.request.query
        given = query.get("hub.verify_token", "").encode()
        known = [hmac.compare_digest(given, token.reveal().encode()) for _, _, token in self._numbers]
        if not any(known) or query.get("hub.mode") != "subscribe":
            raise Unauthorized("the verify token is wrong; expected verify_token of the configuration")
        return web.Response(text=query.get("hub.challenge", ""))

    async def deliver(self, call: HttpCall) -> web.StreamResponse:
        """`POST /whatsapp`: accept a delivery; it is on disk when this answers 200, and otherwise delivered again."""
        body = bytes(call.body or b"")
        headers = {name.lower(): value for name, value in call.request.headers.items()}
        now = self._clock.time()
        signed = {
            channel.phone_number_id: channel
            for channel, secret, _ in self._numbers
            if is_signed(secret.reveal(), body, headers, FORMS["github"], now)
        }
        if not signed:
            raise Unauthorized("the signature matches no app_secret of the configuration")
        try:
            changes = [change for entry in orjson.loads(body)["entry"] for change in entry["changes"]]
            values = [each["value"] for each in changes if each["field"] == "messages"]
            deliveries = [(str(value["metadata"]["phone_number_id"]), value) for value in values]
        except (ValueError, LookupError, TypeError) as error:
            raise InvalidRequest(f"this is not a WhatsApp delivery: {error!r}") from error
        for number, value in deliveries:
            if number in signed:
                await signed[number].take(value)
            else:
                _log.warning("whatsapp: something for the number %s, which is not configured, is left out", number)
        return web.Response()
