"""One account of the webhook channel.

Both ways carry JSON, `X-Homarus-Timestamp` (seconds) and `X-Homarus-Signature`: `sha256=` and the hex HMAC-SHA256 of
`<timestamp>.<body>`. A message may be repeated: `id` identifies it, in both directions.
"""

from __future__ import annotations

from typing import Any

import orjson
from aiohttp import web
from msgspec.structs import replace

from hub.core.clock import Clock
from hub.core.errors import HubError
from hub.core.schema import All, In, Invalid, Length, Optional, Required, Schema, boolean, describe_error, string
from hub.core.secret import Secret
from hub.core.surfaces import HttpCall, Open, Route
from hub.messaging.contract import (
    Address,
    ButtonPressed,
    ChannelLimits,
    ChatType,
    Delivery,
    DeliveryState,
    Inbound,
    InboundMessage,
    OutboundMessage,
    Receiver,
)
from hub.security.webhook_signature import SignatureForm, is_signed, sign
from integrations.channels.http_api import HttpAnswer, HttpApi, PlatformError, refusal_state

BODY_LIMIT_BYTES = 48_000
TIMEOUT_S = 20.0
FORM = SignatureForm(header="x-homarus-signature", timestamp_header="x-homarus-timestamp")

_ID = All(string, Length(min=1, max=256))
_NAMES = ("sender_name", "group_name", "topic_name", "space_name")
_MESSAGE = Schema(
    {
        Optional("type"): "message",
        Required("id"): _ID,
        Required("sender"): _ID,
        Required("text"): All(string, Length(max=40_000)),
        Optional("peer"): _ID,
        Optional("chat_type", default="direct"): In([each.value for each in ChatType]),
        Optional("thread"): _ID,
        **{Optional(each): All(string, Length(max=256)) for each in _NAMES},
        Optional("mentioned", default=False): boolean,
        Optional("reply_to"): _ID,
    }
)
_BUTTON = Schema(
    {
        Required("type"): "button",
        Required("id"): _ID,
        Required("sender"): _ID,
        Required("message_id"): _ID,
        Required("value"): All(string, Length(max=1_024)),
        Optional("peer"): _ID,
        Optional("chat_type", default="direct"): In([each.value for each in ChatType]),
        Optional("thread"): _ID,
    }
)


class WebhookChannel:
    """A program that posts messages, and takes answers.

    Args:
        account: Its name in the configuration.
        secret: The shared secret for signatures.
        url: The address for answers.
        clock: For the timestamps.
    """

    name = "webhook_chat"
    limits = ChannelLimits(text=4_000, markup="markdown", buttons=20, idempotent=True)

    def __init__(self, account: str, secret: Secret, url: str, clock: Clock) -> None:
        self.account = account
        self._secret = secret
        self._url = url
        self._clock = clock
        self._receive: Receiver | None = None

    async def start(self, receive: Receiver) -> None:
        """Be ready: the gateway receives the requests."""
        self._receive = receive
        self._http = HttpApi(self._url, self._url, limit_s=TIMEOUT_S)
        receive.identified(self.account)
        receive.connected()

    async def stop(self) -> None:
        """Take no more requests."""
        self._receive = None
        await self._http.close()

    def route(self) -> Route:
        """Return the address that takes its messages."""
        path = f"/api/channels/webhook_chat/{self.account}"
        return Route("POST", path, self.receive_post, self.name, scope=Open.SELF, body_limit=BODY_LIMIT_BYTES)

    async def receive_post(self, call: HttpCall) -> web.StreamResponse:
        """`POST /api/channels/webhook_chat/<account>`: take a message; it is on disk when this answers 200."""
        body = bytes(call.body or b"")
        headers = {name.lower(): value for name, value in call.request.headers.items()}
        if not is_signed(self._secret.reveal(), body, headers, FORM, self._clock.time()):
            return _refused(401, "UNAUTHORIZED", "the signature is missing, wrong, or older than five minutes")
        try:
            inbound = self._inbound(orjson.loads(body))
        except ValueError as error:
            return _refused(400, "INVALID_REQUEST", f"the body is not JSON: {error}")
        except Invalid as error:
            return _refused(400, "INVALID_REQUEST", describe_error(error))
        if self._receive is None:
            return _refused(503, "UNAVAILABLE", "the channel is being stopped; send it again")
        try:
            receipt = await self._receive(inbound)
        except HubError as error:
            return _refused(error.http_status, error.code, error.message)
        told = {"notice": receipt.notice} if receipt.notice else {}
        return web.json_response({"accepted": receipt.accepted, "duplicate": receipt.duplicate, **told})

    def _inbound(self, data: Any) -> Inbound:
        """Return the message or the pressed button that was posted.

        Raises:
            Invalid: It is neither.
        """
        pressed = isinstance(data, dict) and data.get("type") == "button"
        fields = (_BUTTON if pressed else _MESSAGE)(data)
        sender = f"webhook_chat:user:{fields['sender']}"
        peer, chat_type = fields.get("peer", fields["sender"]), ChatType(fields["chat_type"])
        address = Address(self.name, peer, self.account, chat_type, fields.get("thread"))
        if pressed:
            return ButtonPressed(address, fields["id"], sender, message_id=fields["message_id"], value=fields["value"])
        return InboundMessage(
            address,
            fields["id"],
            sender,
            fields["text"],
            **{each: fields.get(each) for each in _NAMES},
            mentioned=fields["mentioned"],
            reply_to=fields.get("reply_to"),
        )

    async def send(self, message: OutboundMessage) -> Delivery:
        """Post a message; the other side knows a repeated one by its id."""
        address = message.address
        delivery = await self._post(
            {
                "type": "message",
                "id": message.id,
                "peer": address.peer,
                "chat_type": address.chat_type.value,
                "thread": address.thread,
                "text": message.text,
                "reply_to": message.reply_to,
                "buttons": [[{"label": each.label, "value": each.value} for each in row] for row in message.buttons],
            }
        )
        return replace(delivery, platform_ids=(message.id,)) if delivery.state is DeliveryState.DELIVERED else delivery

    async def typing(self, address: Address) -> None:
        """Tell that an answer is being written."""
        await self._post({"type": "typing", "peer": address.peer, "thread": address.thread})

    async def probe(self) -> dict[str, Any]:
        """Post a ping; anything but an error counts as an answer."""
        delivery = await self._post({"type": "ping"})
        works = delivery.state is DeliveryState.DELIVERED
        return {"ok": works, "url": self._url, **({} if works else {"error": delivery.error})}

    async def _post(self, data: dict[str, Any]) -> Delivery:
        body = orjson.dumps({"account": self.account, **data})
        stamp = str(int(self._clock.time()))
        headers = {
            "Content-Type": "application/json",
            "X-Homarus-Timestamp": stamp,
            "X-Homarus-Signature": sign(self._secret.reveal(), body, FORM, stamp),
        }
        try:
            return self._delivery(await self._http.request("POST", self._url, data=body, headers=headers))
        except PlatformError as error:
            return Delivery(error.state, error=error.message)

    def _delivery(self, answer: HttpAnswer) -> Delivery:
        status = answer.status
        if 200 <= status < 300:
            if self._receive is not None:
                self._receive.progress()
            return Delivery(DeliveryState.DELIVERED)
        error = f"{self._url} answered {status}"
        if status == 401 and self._receive is not None:
            self._receive.disconnected(f"{error}: the other side does not accept the secret", permanent=True)
        return Delivery(refusal_state(status, own=False), error=error, retry_after_s=answer.retry_after_s)


def _refused(status: int, code: str, message: str) -> web.Response:
    return web.json_response({"error": {"code": code, "message": message}}, status=status)
