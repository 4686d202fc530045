"""WhatsApp as a channel: one number of the Cloud API."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import aiohttp
from msgspec import Struct
from msgspec.structs import replace

from hub.core.clock import Clock
from hub.core.errors import HubError, Unavailable
from hub.core.phrases import phrase
from hub.core.secret import Secret
from hub.messaging.contract import (
    Address,
    ButtonPressed,
    ChannelLimits,
    Delivery,
    DeliveryState,
    InboundMessage,
    MediaKind,
    OutboundMedia,
    OutboundMessage,
    Receiver,
)
from hub.messaging.outbox.markup import Flavour
from integrations.channels.acknowledging import offer, skip_if_malformed
from integrations.channels.api_channel import ApiChannel
from integrations.channels.button_values import ButtonValues
from integrations.channels.http_api import PlatformError, delivery_of, surely_not_sent
from integrations.channels.persistent_map import PersistentMap
from integrations.channels.reconnecting import AccountRefused
from integrations.channels.whatsapp.events import Json, inbound_of
from integrations.channels.whatsapp.graph import TOKEN_REFUSED, GraphApi, describe
from integrations.channels.whatsapp.outgoing import (
    BUTTON_LENGTH,
    ROWS,
    TEXT_LENGTH,
    choice_part,
    media_part,
    recipient,
    text_body,
    type_of,
)

_log = logging.getLogger(__name__)

MEDIA_BYTES = 100_000_000
SENT_KEPT, QUOTE_LENGTH = 300, 300
"""Messages whose texts are kept, so far: replies name them by their ids alone."""
CHATS_LIMIT = 1_000
"""People whose last message is remembered, to show them typing."""
TYPING_S = 20.0
"""WhatsApp shows it for 25 seconds."""
SCOPES = frozenset({"whatsapp_business_messaging", "whatsapp_business_management"})
"""Permissions of a token, as the channel's page asks for them."""
STATUS_WAIT_S = 20
"""How long to listen for the status of a message when the answer to its request was lost."""


class WhatsAppAccount(Struct, frozen=True):
    """One entry of the configuration."""

    account: str
    phone_number_id: str
    token: Secret
    api_root: str


class WhatsAppChannel(ApiChannel):
    """One number.

    Args:
        reached: Called with a person and why a message did not reach them, or None when one did.
    """

    name = "whatsapp"
    _api: GraphApi
    limits = ChannelLimits(
        people_begin=True,
        text=TEXT_LENGTH,
        media=frozenset(MediaKind),
        media_bytes=MEDIA_BYTES,
        buttons=ROWS,
        markup=Flavour.WHATSAPP,
    )

    def __init__(self, config: WhatsAppAccount, clock: Clock, reached: Callable[[str, str | None], None]) -> None:
        super().__init__(config.account, clock)
        self.phone_number_id = config.phone_number_id
        self._config = config
        self._reached = reached
        self._open = False
        self._last: dict[str, tuple[str, float]] = {}
        self._unsure: dict[str, Delivery | None] = {}

    async def start(self, receive: Receiver) -> None:
        """Start; deliveries are accepted once the number is confirmed."""
        self._receive = receive
        self._refusal: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._buttons = ButtonValues(receive, BUTTON_LENGTH)
        self._sent = PersistentMap(receive, "sent", SENT_KEPT, str)
        self._api = GraphApi(self._config.api_root, self._config.token)
        self._keep_connected(self._connect, receive)

    async def _leave(self) -> None:
        self._open = False

    async def _who(self) -> dict[str, Any]:
        about = {"account_id": self.phone_number_id, "name": (await self._me()).get("display_phone_number")}
        scopes = await self._api.scopes()
        lacked = ", ".join(sorted(SCOPES - scopes)) if scopes else ""
        missing = [phrase("The token lacks the permissions {scopes}: make another with them.", scopes=lacked)]
        rights = [phrase("The token has the permissions {scopes}.", scopes=", ".join(sorted(scopes)))] if scopes else []
        return {**about, "rights": rights, "missing": missing if lacked else []}

    async def _connect(self) -> None:
        """Look the number up, and accept deliveries until Meta refuses the token."""
        try:
            me = await self._me()
        except PlatformError as error:
            if error.state is DeliveryState.PERMANENT:
                raise AccountRefused(_with_help(error)) from error
            raise
        self._receive.identified(self.phone_number_id, me.get("display_phone_number"))
        await self._buttons.load()
        await self._sent.load()
        self._open = True
        self._receive.connected()
        raise AccountRefused(await self._refusal)

    async def _me(self) -> dict[str, Any]:
        return await self._asked("GET", self.phone_number_id, params={"fields": "display_phone_number"})

    async def _asked(self, method: str, path: str, **request: Any) -> dict[str, Any]:
        try:
            return await self._api.call(method, path, **request)
        except PlatformError as error:
            if error.reason == TOKEN_REFUSED and not self._refusal.done():
                self._refusal.set_result(_with_help(error))
            raise

    # --- in ---

    async def take(self, value: Json) -> None:
        """Take what Meta delivered for the number.

        Raises:
            HubError: It is not stored; Meta must deliver it again.
        """
        if not self._open:
            raise Unavailable("WhatsApp is not connected; deliver it again")
        self._receive.progress()
        for status in value.get("statuses") or ():
            with skip_if_malformed("whatsapp: a status"):
                self._take_status(status)
        for message in value.get("messages") or ():
            inbound = None
            with skip_if_malformed("whatsapp: a message"):
                inbound = inbound_of(message, value.get("contacts") or (), self.account, self._sent.get)
            if isinstance(inbound, ButtonPressed):
                inbound = replace(inbound, value=self._buttons.value_of(inbound.value))
            receipt = await offer(self._receive, inbound) if inbound is not None else None
            if receipt is not None and isinstance(inbound, InboundMessage | ButtonPressed):
                self._remember(inbound.address.peer, message["id"], float("-inf"))
                if receipt.notice:
                    self._tasks.spawn(self._tell(inbound.address, receipt.notice), name="answer a button")

    async def _tell(self, address: Address, text: str) -> None:
        """Send something whose loss does not matter."""
        with suppress(HubError):
            await self._post(**recipient(address), type="text", text={"body": text})

    def _take_status(self, status: Json) -> None:
        """Note what happened to a message: that it was taken does not mean that it arrived."""
        person = status.get("recipient_id") or status.get("recipient_user_id") or "?"
        delivery = Delivery(DeliveryState.DELIVERED, (status["id"],))
        if status["status"] == "failed":
            error = "; ".join(describe(each) for each in status.get("errors") or ()) or "no reason given"
            _log.warning("whatsapp: %s did not arrive: %s", status["id"], error)
            self._reached(person, error)
            delivery = Delivery(DeliveryState.PERMANENT, error=error)
        elif status["status"] in ("delivered", "read"):
            self._reached(person, None)
        if (id := status.get("biz_opaque_callback_data")) in self._unsure:
            self._unsure[id] = delivery

    # --- out ---

    async def send(self, message: OutboundMessage) -> Delivery:
        """Send a message; when the answer is lost, its status may still tell."""
        self._unsure[message.id] = None
        try:
            delivery = await super().send(message)
            waited = 0
            while delivery.state is DeliveryState.UNKNOWN and waited < STATUS_WAIT_S:
                delivery = self._unsure[message.id] or delivery
                waited += 1
                await self._clock.sleep(1.0)
        finally:
            del self._unsure[message.id]
        for id in delivery.platform_ids:
            try:
                await self._sent.put(id, message.text[:QUOTE_LENGTH])
            except HubError as error:
                _log.warning("whatsapp: the text of a message is not kept: %s", error)
        return delivery

    async def _send(self, message: OutboundMessage) -> str:
        choices = [
            (await self._buttons.payload_of(button.value), button.label) for row in message.buttons for button in row
        ]
        if message.media:  # the outbox makes a message of each, without a text
            content = await self._uploaded(message.media[0])
        elif choices:
            content = choice_part(text_body(message.text), choices)
        else:
            content = {"type": "text", "text": {"body": text_body(message.text)}}
        if message.reply_to and message.reply_to.startswith("wamid."):
            content["context"] = {"message_id": message.reply_to}
        return await self._post(**recipient(message.address), biz_opaque_callback_data=message.id, **content)

    async def _uploaded(self, media: OutboundMedia) -> dict[str, Any]:
        content = await asyncio.to_thread(Path(media.path).read_bytes)
        kind, mime = type_of(media, len(content))
        form = aiohttp.FormData({"messaging_product": "whatsapp", "type": mime})
        form.add_field("file", content, filename=media.name or Path(media.path).name, content_type=mime)
        with surely_not_sent():  # a file that is uploaded twice is shown to nobody
            answer = await self._asked("POST", f"{self.phone_number_id}/media", data=form)
        return media_part(media, kind, mime, answer["id"])

    async def react(self, address: Address, platform_id: str, emoji: str | None) -> Delivery:
        """React to a message; None removes the reaction."""
        reaction = {"message_id": platform_id, "emoji": emoji or ""}
        return await delivery_of(self._post(**recipient(address), type="reaction", reaction=reaction))

    async def typing(self, address: Address) -> None:
        """Show that an answer is being written, below the last message, which becomes read."""
        id, shown_at = self._last.get(address.peer, ("", 0.0))
        now = self._clock.monotonic()
        if not id or now - shown_at < TYPING_S:
            return
        self._remember(address.peer, id, now)
        seen = {"messaging_product": "whatsapp", "status": "read", "message_id": id}
        await self._asked(
            "POST", f"{self.phone_number_id}/messages", json={**seen, "typing_indicator": {"type": "text"}}
        )

    def _remember(self, peer: str, id: str, shown_at: float) -> None:
        self._last.pop(peer, None)
        self._last[peer] = (id, shown_at)
        if len(self._last) > CHATS_LIMIT:
            del self._last[next(iter(self._last))]

    async def _post(self, **content: Any) -> str:
        """Return the id of what was sent."""
        body = {"messaging_product": "whatsapp", "recipient_type": "individual", **content}
        answer = await self._asked("POST", f"{self.phone_number_id}/messages", json=body)
        return str(answer["messages"][0]["id"])


def _with_help(error: PlatformError) -> str:
    return f"{error.message}. See docs/channels/whatsapp.md."
