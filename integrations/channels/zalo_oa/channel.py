"""Zalo's official accounts as a channel: one account."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import aiohttp
from msgspec import Struct
from msgspec.structs import replace

from hub.core.clock import Clock
from hub.core.errors import HubError, Unavailable
from hub.core.secret import Secret
from hub.core.surfaces import Route
from hub.integration.json_storage import JsonStorage
from hub.messaging.contract import (
    ChannelLimits,
    Delivery,
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
from integrations.channels.http_api import PlatformError, surely_not_sent
from integrations.channels.persistent_map import PersistentMap
from integrations.channels.public_files import PublicFiles
from integrations.channels.reconnecting import AccountRefused
from integrations.channels.webhook_delivery import delivery_route
from integrations.channels.zalo_oa.api import TOKEN_REFUSED, ZaloOaApi
from integrations.channels.zalo_oa.events import Json, inbound_of, is_genuine
from integrations.channels.zalo_oa.login import HELP, ZaloLogin

_log = logging.getLogger(__name__)

TEXT_LENGTH = 2_000
MEDIA_BYTES = 25_000_000
SENT_KEPT, QUOTE_LENGTH = 300, 300
NAMES_LIMIT = 1_000
NAME_LIMIT_S = 1.0
"""Zalo waits two seconds for the answer to a delivery."""
WATCH_S = 3_600.0
"""Between two looks whether there is still an access token."""
FIND_WAIT_S, FIND_SLACK_S, HISTORY = 2.0, 300.0, 10
"""How long a message may take into the history, how far its clock may be off, and how much of it one answer has."""
_UPLOADS: Mapping[str, tuple[str, int]] = {
    "image/jpeg": ("image", 1_000_000),
    "image/png": ("image", 1_000_000),
    "image/gif": ("gif", 5_000_000),
    "application/pdf": ("file", 5_000_000),
    "application/msword": ("file", 5_000_000),
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": ("file", 5_000_000),
}


class ZaloOaAccount(Struct, frozen=True):
    """One entry of the configuration."""

    account: str
    app_id: str
    app_secret: Secret
    refresh_token: Secret
    oa_secret: Secret
    api_root: str
    oauth_root: str
    public_url: str | None = None


class _Sent(Struct, frozen=True):
    """A message that was sent: its row of the outbox, and its text."""

    row: str
    text: str


class ZaloOaChannel(ApiChannel):
    """One official account.

    Args:
        tokens: Keeps its tokens.
        files: Gives files to people that Zalo does not take.
    """

    name = "zalo_oa"
    _api: ZaloOaApi

    def __init__(self, config: ZaloOaAccount, tokens: JsonStorage, files: PublicFiles, clock: Clock) -> None:
        super().__init__(config.account, clock)
        self._config = config
        self._tokens = tokens
        self._files = files
        self.limits = ChannelLimits(
            people_begin=True,
            text=TEXT_LENGTH,
            media=frozenset(MediaKind) if config.public_url else frozenset({MediaKind.IMAGE, MediaKind.FILE}),
            media_bytes=MEDIA_BYTES,
            markup=Flavour.PLAIN,
            block_chars=1_500,
        )
        self._open = False
        self._names: dict[str, str | None] = {}

    async def start(self, receive: Receiver) -> None:
        """Start; deliveries are accepted once the account is confirmed."""
        self._receive = receive
        self._sent = PersistentMap(receive, "sent", SENT_KEPT, _Sent)
        config = self._config
        login = ZaloLogin(
            config.oauth_root, config.app_id, config.app_secret, config.refresh_token, self._tokens, self._clock
        )
        self._api = ZaloOaApi(config.api_root, login)
        self._refused: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._keep_connected(self._connect, receive)

    async def _leave(self) -> None:
        self._open = False

    async def _who(self) -> dict[str, Any]:
        try:
            me = await self._asked("GET", "v2.0/oa/getoa")
        except AccountRefused as error:
            return {"ok": False, "error": str(error)}
        return {"account_id": str(me["oa_id"]), "name": me.get("name")}

    async def _connect(self) -> None:
        """Look the account up, and accept deliveries for as long as there is an access token."""
        try:
            me = await self._asked("GET", "v2.0/oa/getoa")
            self._receive.identified(str(me["oa_id"]), me.get("name"))
            await self._sent.load()
            self._open = True
            self._receive.connected()
            while not self._refused.done():
                await asyncio.wait({self._refused}, timeout=WATCH_S)
                await self._asked("GET", "v2.0/oa/getoa")
        except PlatformError as error:
            if error.reason in TOKEN_REFUSED:
                raise AccountRefused(f"{error.message}. {HELP}") from error
            raise
        raise AccountRefused(self._refused.result())

    async def _asked(self, method: str, path: str, **request: Any) -> dict[str, Any]:
        try:
            return await self._api.call(method, path, **request)
        except AccountRefused as error:
            self._refuse(str(error))
            raise
        except PlatformError as error:
            if error.reason in TOKEN_REFUSED:
                self._refuse(f"{error.message}. {HELP}")
            raise

    def _refuse(self, why: str) -> None:
        if not self._refused.done():
            self._refused.set_result(why)

    # --- in ---

    def route(self) -> Route:
        """Return the address that Zalo delivers to."""
        return delivery_route(f"/zalo_oa/{self.account}", self.name, self._is_genuine, self._take)

    def _is_genuine(self, body: bytes, headers: Mapping[str, str]) -> bool:
        secret = self._config.oa_secret.reveal()
        return is_genuine(body, headers, self._config.app_id, secret, self._clock.time())

    async def _take(self, event: Json) -> None:
        """Take what Zalo delivered.

        Raises:
            HubError: It is not stored; Zalo must deliver it again.
        """
        if not self._open:
            raise Unavailable("Zalo is not connected; deliver it again")
        self._receive.progress()
        inbound: InboundMessage | None = None
        with skip_if_malformed("zalo_oa: an event"):
            inbound = inbound_of(event, self.account, self._text_of)
        if inbound is None:
            return
        if self._receive.admits(inbound):
            inbound = replace(inbound, sender_name=await self._name(inbound.address.peer))
        await offer(self._receive, inbound)

    def _text_of(self, id: str) -> str | None:
        sent = self._sent.get(id)
        return None if sent is None else sent.text

    async def _name(self, person: str) -> str | None:
        if person not in self._names:
            with suppress(HubError, AccountRefused):
                wanted = {"data": json.dumps({"user_id": person})}
                found = await self._asked("GET", "v3.0/oa/user/detail", params=wanted, limit_s=NAME_LIMIT_S)
                self._names[person] = found.get("display_name")
        if len(self._names) > NAMES_LIMIT:
            del self._names[next(iter(self._names))]
        return self._names.get(person)

    # --- out ---

    async def send(self, message: OutboundMessage) -> Delivery:
        """Send a message; see `Channel`."""
        try:
            delivery = await super().send(message)
        except AccountRefused as error:
            return Delivery(DeliveryState.PERMANENT, error=str(error))
        for id in delivery.platform_ids:
            await self._keep(id, message)
        return delivery

    async def _keep(self, id: str, message: OutboundMessage) -> None:
        try:
            await self._sent.put(id, _Sent(message.id, message.text[:QUOTE_LENGTH]))
        except HubError as error:
            _log.warning("zalo_oa: the text of a message is not kept: %s", error)

    async def _send(self, message: OutboundMessage) -> str:
        if message.media:  # the outbox makes a message of each, without a text
            content = await self._attachment(message.media[0])
        else:
            content = {"text": _plain(message.text)}
            if message.reply_to:
                content["quote_message_id"] = message.reply_to
        body = {"recipient": {"user_id": message.address.peer}, "message": content}
        return str((await self._asked("POST", "v3.0/oa/message/cs", json=body))["message_id"])

    async def _attachment(self, media: OutboundMedia) -> dict[str, Any]:
        path, mime = Path(media.path), media.mime_type.partition(";")[0].strip().lower()
        name = media.name or path.name
        kind, limit = _UPLOADS.get(mime, ("", 0))
        content = await asyncio.to_thread(path.read_bytes)
        if kind and len(content) <= limit:
            form = aiohttp.FormData()
            form.add_field("file", content, filename=name, content_type=mime)
            with surely_not_sent():  # a file that is uploaded twice is shown to nobody
                found = await self._asked("POST", f"v2.0/oa/upload/{kind}", data=form)
            if kind == "file":
                return {"attachment": {"type": "file", "payload": {"token": found["token"]}}}
            element = {"media_type": kind, "attachment_id": found["attachment_id"]}
            payload = {"template_type": "media", "elements": [element]}
            return {"attachment": {"type": "template", "payload": payload}}
        if self._config.public_url is None:
            text = f"it takes JPEG and PNG up to 1 MB, GIF, PDF and Word up to 5 MB, and not {name}; see public_url"
            raise self._api.error(DeliveryState.PERMANENT, text)
        return {"text": f"{name}\n{await self._files.offer(media, self._config.public_url)}"}

    async def find(self, message: OutboundMessage, since: float) -> Delivery | None:
        """Look for a message in the latest of its conversation; see `CanFind`."""
        if message.media:
            raise Unavailable("Zalo's history does not tell which file it was")
        await self._clock.sleep(FIND_WAIT_S)
        wanted = {"user_id": int(message.address.peer), "offset": 0, "count": HISTORY}
        try:
            found = await self._asked("GET", "v2.0/oa/conversation", params={"data": json.dumps(wanted)})
        except AccountRefused as error:
            raise Unavailable(str(error)) from error
        text = _plain(message.text)
        for each in found.get("data") or ():
            id = str(each.get("message_id"))
            is_it = each.get("src") == 0 and each.get("message") == text
            is_it = is_it and float(each.get("time", 0)) / 1_000 >= since - FIND_SLACK_S
            known = self._sent.get(id)  # which may be on disk before the outbox has it
            if (is_it and known is None) or (known is not None and known.row == message.id):
                await self._keep(id, message)
                return Delivery(DeliveryState.DELIVERED, (id,))
        return None


def _plain(text: str) -> str:
    written = render(text, Flavour.PLAIN)
    return written if 0 < len(written) <= TEXT_LENGTH else text
