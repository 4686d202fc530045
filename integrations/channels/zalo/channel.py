"""Zalo as a channel: one bot."""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from msgspec import Struct

from hub.core.clock import Clock
from hub.core.errors import Unavailable
from hub.core.secret import Secret
from hub.core.surfaces import Route
from hub.messaging.contract import (
    Address,
    ChannelLimits,
    DeliveryState,
    InboundMessage,
    MediaKind,
    OutboundMedia,
    OutboundMessage,
    Receiver,
)
from hub.messaging.outbox.markup import Flavour, render
from integrations.channels.acknowledging import offer, skip_if_malformed
from integrations.channels.api_channel import ApiChannel
from integrations.channels.http_api import PlatformError
from integrations.channels.public_files import PublicFiles
from integrations.channels.reconnecting import AccountRefused, retry_until_stored
from integrations.channels.webhook_delivery import delivery_route
from integrations.channels.zalo.api import IDLE, REFUSED, ZaloApi
from integrations.channels.zalo.events import Json, inbound_of

HEADER = "x-bot-api-secret-token"
TEXT_LENGTH = 2_000
MEDIA_BYTES = 25_000_000
PHOTO_BYTES = 5_000_000
TYPING_S = 4.0
"""Zalo shows it for five seconds."""
WATCH_S = 60.0
"""Between two looks whether the token is still good, where Zalo delivers."""
HELP = "See docs/channels/zalo.md."


class ZaloAccount(Struct, frozen=True):
    """One entry of the configuration."""

    account: str
    token: Secret
    api_root: str
    public_url: str | None = None
    webhook_secret: Secret | None = None


class PollTiming(Struct, frozen=True):
    """How long Zalo may wait for news, and further for the answer: a connection that died silently ends with it."""

    poll_s: int = 30
    answer_s: float = 15.0


class ZaloChannel(ApiChannel):
    """One bot.

    Args:
        files: Gives pictures to Zalo.
    """

    name = "zalo"
    _api: ZaloApi

    def __init__(self, config: ZaloAccount, files: PublicFiles, clock: Clock, timing: PollTiming | None = None) -> None:
        super().__init__(config.account, clock)
        self._config = config
        self._files = files
        self._timing = timing or PollTiming()
        self.limits = ChannelLimits(
            people_begin=True,
            text=TEXT_LENGTH,
            media=frozenset(MediaKind) if config.public_url else frozenset(),
            media_bytes=MEDIA_BYTES,
            markup=Flavour.PLAIN,
            block_chars=1_500,
        )
        self._open = False
        self._bot_name: str | None = None
        self._shown: dict[str, float] = {}

    async def start(self, receive: Receiver) -> None:
        """Start listening."""
        self._receive = receive
        self._api = ZaloApi(self._config.api_root, self._config.token)
        self._keep_connected(self._connect, receive)

    async def _leave(self) -> None:
        self._open = False

    async def _who(self) -> dict[str, Any]:
        me = await self._api.call("getMe")
        return {"account_id": str(me["id"]), "name": _name_of(me)}

    async def _connect(self) -> None:
        self._open = False
        try:
            me = await self._api.call("getMe")
            self._bot_name = _name_of(me)
            self._receive.identified(str(me["id"]), self._bot_name)
            self._receive.connected()
            if self._config.webhook_secret is None:
                await self._poll()
            await self._be_delivered_to(self._config.webhook_secret)
        except PlatformError as error:
            if error.reason in REFUSED:
                raise AccountRefused(f"{error.message}. {HELP}") from error
            raise

    async def _poll(self) -> None:
        await self._api.call("deleteWebhook")  # else there is no polling
        limit_s = self._timing.poll_s + self._timing.answer_s
        while True:
            try:
                update = await self._api.call("getUpdates", limit_s=limit_s, timeout=str(self._timing.poll_s))
            except PlatformError as error:
                if error.reason != IDLE:
                    raise
                update = {}
            self._receive.progress()
            if update:  # Zalo gives it once
                await retry_until_stored(partial(self._take_one, update), self._receive, self._clock)

    async def _be_delivered_to(self, secret: Secret | None) -> None:
        if secret is None or self._config.public_url is None:
            raise AccountRefused(f"Zalo: webhook_secret needs a public_url. {HELP}")
        self._open = True
        address = f"{self._config.public_url}/zalo/{self.account}"
        await self._api.call("setWebhook", url=address, secret_token=secret.reveal())
        while True:
            await self._clock.sleep(WATCH_S)
            await self._api.call("getMe")
            self._receive.progress()

    # --- in ---

    def route(self) -> Route | None:
        """Return the address that Zalo delivers to, if it shall."""
        if self._config.webhook_secret is None:
            return None
        return delivery_route(f"/zalo/{self.account}", self.name, self._is_genuine, self._take)

    def _is_genuine(self, body: bytes, headers: Mapping[str, str]) -> bool:
        known = "" if self._config.webhook_secret is None else self._config.webhook_secret.reveal()
        given = headers.get(HEADER, "").encode("utf-8", "replace")
        return bool(known) and hmac.compare_digest(given, known.encode())

    async def _take(self, delivery: Json) -> None:
        """Take what Zalo delivered.

        Raises:
            HubError: It is not stored.
        """
        if not self._open:
            raise Unavailable("Zalo is not connected; deliver it again")
        self._receive.progress()
        with skip_if_malformed("zalo: a delivery"):
            delivery = delivery.get("result") or delivery
        await self._take_one(delivery)

    async def _take_one(self, update: Json) -> None:
        inbound: InboundMessage | None = None
        with skip_if_malformed("zalo: an update"):
            inbound = inbound_of(update, self.account, self._bot_name)
        if inbound is not None:
            await offer(self._receive, inbound)

    # --- out ---

    async def _send(self, message: OutboundMessage) -> str:
        peer = message.address.peer
        if message.media:  # the outbox makes a message of each, without a text
            return _id_of(await self._send_file(peer, message.media[0]))
        text = render(message.text, Flavour.PLAIN)
        text = text if 0 < len(text) <= TEXT_LENGTH else message.text
        return _id_of(await self._api.call("sendMessage", chat_id=peer, text=text))

    async def _send_file(self, peer: str, media: OutboundMedia) -> dict[str, Any]:
        if self._config.public_url is None:
            raise self._api.error(DeliveryState.PERMANENT, "files need a public_url, where Zalo can fetch them")
        address = await self._files.offer(media, self._config.public_url)
        path = Path(media.path)
        size = (await asyncio.to_thread(path.stat)).st_size
        mime = media.mime_type.partition(";")[0].strip().lower()
        if media.kind is MediaKind.IMAGE and mime in ("image/jpeg", "image/png") and size <= PHOTO_BYTES:
            return await self._api.call("sendPhoto", chat_id=peer, photo=address)
        return await self._api.call("sendMessage", chat_id=peer, text=f"{media.name or path.name}\n{address}")

    async def typing(self, address: Address) -> None:
        """Show that an answer is being written."""
        now = self._clock.monotonic()
        if now - self._shown.get(address.peer, -TYPING_S) < TYPING_S:
            return
        self._shown = {peer: at for peer, at in self._shown.items() if now - at < TYPING_S} | {address.peer: now}
        await self._api.call("sendChatAction", chat_id=address.peer, action="typing")


def _id_of(sent: dict[str, Any]) -> str:
    return str(sent["message_id"])


def _name_of(me: Mapping[str, Any]) -> str | None:
    return me.get("display_name") or me.get("account_name") or me.get("name")
