"""SMS as a channel: one number, or messaging service, at Twilio."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from aiohttp import web
from msgspec import Struct

from hub.core.clock import Clock
from hub.core.errors import HubError, Unavailable
from hub.core.phrases import phrase
from hub.core.secret import Secret
from hub.core.surfaces import Route
from hub.messaging.contract import (
    ChannelLimits,
    Delivery,
    DeliveryState,
    InboundMessage,
    MediaKind,
    OutboundMessage,
    Receiver,
    TextUnit,
)
from hub.messaging.outbox.chunking import length
from hub.messaging.outbox.markup import Flavour, render
from integrations.channels.acknowledging import MALFORMED, offer, skip_if_malformed
from integrations.channels.api_channel import ApiChannel
from integrations.channels.http_api import PlatformError
from integrations.channels.persistent_map import PersistentMap
from integrations.channels.public_files import PublicFiles
from integrations.channels.reconnecting import STORE_RETRY_S, AccountRefused
from integrations.channels.sms.events import inbound_of, listed, sent_at
from integrations.channels.twilio_api import TwilioApi, describe
from integrations.channels.twilio_signature import fields_of, is_genuine
from integrations.channels.webhook_delivery import delivery_route

_log = logging.getLogger(__name__)

TEXT_LENGTH, CAPTION_LENGTH = 1_600, 1_200
"""A caption leaves room for a link."""
MEDIA_BYTES, MMS_BYTES = 25_000_000, 5_000_000
MMS_TYPES = frozenset({"image/jpeg", "image/png", "image/gif"})
READ_EVERY_S = 300.0
"""Twilio delivers once: between two looks at what it has."""
LATE_S, PAGE = 600.0, 100
FIND_WAIT_S, FIND_SLACK_S = 2.0, 300.0
SENT_KEPT, SEEN_KEPT = 300, 500
HELP = "See docs/channels/sms.md."


class SmsAccount(Struct, frozen=True):
    """One entry of the configuration."""

    account: str
    sid: str
    token: Secret
    public_url: str
    api_root: str
    number: str | None = None
    service: str | None = None
    signature_secret: Secret | None = None
    mms: bool = False


class SmsChannel(ApiChannel):
    """One number.

    Args:
        files: Gives attachments to Twilio, or to people.
        reached: Called with a person and why a message did not reach them, or None when one did.
    """

    name = "sms"
    _api: TwilioApi
    limits = ChannelLimits(
        text=TEXT_LENGTH,
        unit=TextUnit.UTF16,
        caption=CAPTION_LENGTH,
        media=frozenset(MediaKind),
        media_bytes=MEDIA_BYTES,
        markup=Flavour.PLAIN,
        block_chars=1_500,
        weak_identity=True,
    )

    def __init__(
        self, config: SmsAccount, files: PublicFiles, clock: Clock, reached: Callable[[str, str | None], None]
    ) -> None:
        super().__init__(config.account, clock)
        self._config = config
        self._files = files
        self._reached = reached
        self._open = False
        self._seen: deque[str] = deque(maxlen=SEEN_KEPT)
        self._wake = asyncio.Event()

    async def start(self, receive: Receiver) -> None:
        """Start; deliveries are accepted once the account is confirmed."""
        self._receive = receive
        self._refusal: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._sent = PersistentMap(receive, "sent", SENT_KEPT, str)
        self._api = TwilioApi(self._config.api_root, self._config.sid, self._config.token)
        self._keep_connected(self._connect, receive)

    async def _leave(self) -> None:
        self._open = False

    async def _who(self) -> dict[str, Any]:
        me = await self._asked("GET", "")
        missing = []
        if number := self._config.number:
            found = await self._asked("GET", "IncomingPhoneNumbers.json", params={"PhoneNumber": number})
            numbers = found.get("incoming_phone_numbers") or []
            if not numbers:
                missing.append(phrase("The number {number} is not in this account.", number=number))
            elif str(numbers[0].get("sms_url")).partition("#")[0] != (address := self._address()):
                missing.append(phrase("Its messages are not delivered to {address}.", address=address))
        return {
            "account_id": self._config.number or self._config.service,
            "name": me["friendly_name"],
            "missing": missing,
        }

    async def _connect(self) -> None:
        """Accept deliveries until Twilio refuses the token, and read what it could not deliver."""
        try:
            me = await self._asked("GET", "")
            if me["status"] != "active":
                raise AccountRefused(f"Twilio: the account is {me['status']}. {HELP}")
            self._receive.identified(self._config.number or self._config.service, me["friendly_name"])
            await self._sent.load()
            self._open = True
            self._receive.connected()
            while not self._refusal.done():
                await self._read()
                self._receive.progress()
                await self._until_read_again()
        except PlatformError as error:
            if error.status in (401, 403):
                raise AccountRefused(_with_help(error)) from error
            raise
        raise AccountRefused(self._refusal.result())

    async def _until_read_again(self) -> None:
        """Wait for the next look at what Twilio has: soon after something could not be stored, else some minutes."""
        with suppress(TimeoutError):
            async with asyncio.timeout(READ_EVERY_S):
                await self._wake.wait()
                self._wake.clear()
                await self._clock.sleep(STORE_RETRY_S)

    async def _asked(self, method: str, path: str, **request: Any) -> dict[str, Any]:
        try:
            return await self._api.call(method, path, **request)
        except PlatformError as error:
            if error.status == 401 and not self._refusal.done():
                self._refusal.set_result(_with_help(error))
                self._wake.set()
            raise

    # --- in ---

    def routes(self) -> list[Route]:
        """Return the addresses that Twilio delivers messages and their fates to."""
        return [
            delivery_route(
                f"/sms/{self.account}", self.name, self._judge(""), self._take, read=_form, answer=_no_answer
            ),
            delivery_route(f"/sms/{self.account}/status", self.name, self._judge("/status"), self._told, read=_form),
        ]

    def _address(self, end: str = "") -> str:
        return f"{self._config.public_url}/sms/{self.account}{end}"

    def _judge(self, end: str) -> Callable[[bytes, Mapping[str, str]], bool]:
        token, shared = self._config.token.reveal(), self._config.signature_secret
        secret = None if shared is None else shared.reveal()
        return lambda body, headers: is_genuine(body, headers, self._address(end), token, secret)

    async def _take(self, form: dict[str, str]) -> None:
        """Take a message that Twilio delivered.

        Raises:
            HubError: It is not stored; it is read later.
        """
        if not self._open:
            raise Unavailable("SMS is not connected")
        self._receive.progress()
        inbound: InboundMessage | None = None
        with skip_if_malformed("sms: a delivery"):
            inbound = inbound_of(form, self.account)
        if inbound is None:
            return
        try:
            await offer(self._receive, inbound)
        except HubError:
            self._wake.set()  # for Twilio delivers once
            raise
        self._seen.append(inbound.message_id)

    async def _told(self, form: dict[str, str]) -> None:
        """Note what happened to a message: that it was taken does not mean that it arrived."""
        state, person = form.get("MessageStatus"), form.get("To", "?")
        if state in ("undelivered", "failed"):
            self._reached(person, describe(form.get("ErrorCode")))
        elif state == "delivered":
            self._reached(person, None)

    async def _read(self) -> None:
        """Offer what came since the last look; what was delivered is known."""
        if (kept := await self._receive.cursor()) is None:  # what was said before the set-up is not for the assistant
            await self._receive.keep_cursor(str(int(self._clock.time()) + LATE_S))
            return
        newest = since = float(kept)
        wanted = {"PageSize": str(PAGE)} | ({"To": self._config.number} if self._config.number else {})
        found = (await self._asked("GET", "Messages.json", params=wanted))["messages"]
        for message in reversed(found):
            with skip_if_malformed("sms: a message of the list"):
                if message["direction"] != "inbound" or not self._is_ours(message):
                    continue
                at = sent_at(message)
                if at >= since - LATE_S and message["sid"] not in self._seen:
                    await self._offer_listed(message)
                newest = max(newest, at)
        if newest > since:
            await self._receive.keep_cursor(str(newest))

    async def _offer_listed(self, message: dict[str, Any]) -> None:
        inbound = listed(message, self.account)
        if int(message.get("num_media") or 0) and self._receive.admits(inbound):
            found = await self._asked("GET", f"Messages/{message['sid']}/Media.json")
            root = self._config.api_root
            media = [
                (root + each["uri"].removesuffix(".json"), each.get("content_type")) for each in found["media_list"]
            ]
            inbound = listed(message, self.account, media)
        await offer(self._receive, inbound)
        self._seen.append(inbound.message_id)

    def _is_ours(self, message: Mapping[str, Any]) -> bool:
        return self._config.service is None or message.get("messaging_service_sid") == self._config.service

    # --- out ---

    async def send(self, message: OutboundMessage) -> Delivery:
        """Send a message; see `Channel`."""
        delivery = await super().send(message)
        for id in delivery.platform_ids:
            await self._keep(id, message.id)
        return delivery

    async def _keep(self, id: str, row: str) -> None:
        try:
            await self._sent.put(id, row)
        except HubError as error:
            _log.warning("sms: a message is not kept as sent: %s", error)

    async def _send(self, message: OutboundMessage) -> str:
        form = {"To": message.address.peer, "StatusCallback": self._address("/status"), "Body": _plain(message.text)}
        form |= (
            {"From": self._config.number}
            if self._config.number
            else {"MessagingServiceSid": self._config.service or ""}
        )
        if message.media:
            media = message.media[0]
            address = await self._files.offer(media, self._config.public_url)
            path = Path(media.path)
            size = (await asyncio.to_thread(path.stat)).st_size
            if self._config.mms and media.mime_type.partition(";")[0] in MMS_TYPES and size <= MMS_BYTES:
                form["MediaUrl"] = address
            else:
                form["Body"] = "\n".join(filter(None, (form["Body"], media.name or path.name, address)))
        if not form["Body"]:
            del form["Body"]
        return str((await self._asked("POST", "Messages.json", data=form))["sid"])

    async def find(self, message: OutboundMessage, since: float) -> Delivery | None:
        """Look for a message in Twilio's list; see `CanFind`."""
        await self._clock.sleep(FIND_WAIT_S)
        wanted = {"To": message.address.peer, "PageSize": "20"}
        found = await self._asked("GET", "Messages.json", params=wanted)
        text = _plain(message.text)
        try:
            for each in found["messages"]:
                body = str(each["body"] or "")
                # The address of a file is another at each attempt.
                is_it = body == text or bool(message.media and body.startswith(text) and "/sms/files/" in body)
                is_it = is_it and each["direction"] != "inbound" and sent_at(each) >= since - FIND_SLACK_S
                known = self._sent.get(each["sid"])  # which may be on disk before the outbox has it
                if known == message.id or (is_it and known is None):
                    await self._keep(each["sid"], message.id)
                    return Delivery(DeliveryState.DELIVERED, (each["sid"],))
        except MALFORMED as error:
            raise Unavailable(f"Twilio's list is not as expected: {error!r}") from error
        return None


def _form(body: bytes) -> dict[str, str]:
    return dict(fields_of(body))


def _no_answer() -> web.Response:
    return web.Response(text="<Response/>", content_type="text/xml")


def _plain(text: str) -> str:
    written = render(text, Flavour.PLAIN)
    return written if length(written, TextUnit.UTF16) <= TEXT_LENGTH else text


def _with_help(error: PlatformError) -> str:
    return f"{error.message}. {HELP}"
