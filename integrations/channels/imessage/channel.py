"""iMessage as a channel: one Mac, and the ways by a BlueBubbles server on it."""

from __future__ import annotations

import asyncio
import hmac
import logging
from abc import abstractmethod
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Self
from urllib.parse import quote, urlencode

import aiohttp
import orjson
from aiohttp import web
from msgspec import Struct

from hub.core.clock import Clock
from hub.core.errors import HubError, InvalidRequest, Unauthorized, Unavailable
from hub.core.phrases import phrase
from hub.core.secret import Secret
from hub.core.surfaces import HttpCall, Open, Route
from hub.messaging.capabilities import DirectoryEntry
from hub.messaging.contract import (
    Address,
    ChannelLimits,
    Delivery,
    DeliveryState,
    Inbound,
    InboundMessage,
    MediaKind,
    OutboundMedia,
    OutboundMessage,
    Receiver,
)
from hub.messaging.outbox.markup import Flavour, render
from integrations.channels.acknowledging import skip_if_malformed
from integrations.channels.api_channel import ApiChannel
from integrations.channels.http_api import PlatformError, delivery_of
from integrations.channels.imessage.bluebubbles import REQUEST_LIMIT_S, BlueBubblesApi
from integrations.channels.imessage.events import TAPBACKS, Json, Reading, address_of, chat_of, inbound_of
from integrations.channels.reconnecting import AccountRefused, retry_until_stored
from integrations.channels.webhook_delivery import BODY_BYTES

_log = logging.getLogger(__name__)

TEXT_LENGTH = 4_000
MEDIA_BYTES = 100_000_000
PAGE = 100
KEPT = 1_000
ECHO_S = 60.0
"""So long, in a chat with oneself, a message that reads as one that was sent is its second row."""
CLOCK_SKEW_S = 60.0
HOOK_EVENTS = ("new-message", "updated-message")
WITH = ("chats", "attachments")
NO_PRIVATE_API = "the server's Private API is not connected"
HELP = "See docs/channels/imessage.md."


class IMessageAccount(Struct, frozen=True):
    """One entry of the configuration."""

    account: str
    url: str = ""
    password: Secret = Secret("")
    private_api: bool = False
    read_receipts: bool = True
    own_addresses: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    poll_s: float = 3.0
    webhook_secret: Secret | None = None
    webhook_url: str | None = None
    request_s: float = REQUEST_LIMIT_S
    node: str = ""

    @classmethod
    def from_config(cls, entry: Mapping[str, Any]) -> Self:
        """Read a validated entry."""
        return cls(
            entry["account"],
            str(entry.get("url", "")),
            entry.get("password", Secret("")),
            entry["private_api"],
            entry["read_receipts"],
            tuple(entry["own_addresses"]),
            tuple(entry["names"]),
            float(entry["poll"]),
            entry.get("webhook_secret"),
            entry.get("webhook_url"),
            node=entry.get("node", ""),
        )


def channel_for(config: IMessageAccount, clock: Clock) -> IMessageChannel:
    """Return the channel of an account: with the Private API it can do more."""
    return (PrivateIMessageChannel if config.private_api else IMessageChannel)(config, clock)


class MacChannel(ApiChannel):
    """The messages of one Mac, however it is reached."""

    name = "imessage"
    _receive: Receiver
    limits = ChannelLimits(
        text=TEXT_LENGTH,
        media=frozenset(MediaKind),
        media_bytes=MEDIA_BYTES,
        markup=Flavour.PLAIN,
        draft_interval_s=3.0,
        edits=5,
        block_chars=1_500,
    )

    def __init__(self, config: IMessageAccount, clock: Clock) -> None:
        super().__init__(config.account, clock)
        self._config = config
        self._info: Json = {}
        self._taking = asyncio.Lock()
        self._row = 0
        self._rows_before: OrderedDict[str, int] = OrderedDict()
        self._seen: OrderedDict[str, None] = OrderedDict()
        self._sent: OrderedDict[str, None] = OrderedDict()
        self._said: OrderedDict[tuple[str, str], float] = OrderedDict()

    @abstractmethod
    async def _rows_after(self, row: int) -> Sequence[Json]:
        """Return the next page of messages."""

    @abstractmethod
    async def _rows_of(self, chat: str, row: int | None, since: float) -> Sequence[Json]:
        """Return messages of a chat after a row, or since a time when no row is known."""

    @abstractmethod
    async def _send_text(self, message: OutboundMessage, chat: str, text: str) -> Json:
        """Send a text, and return the message."""

    @abstractmethod
    async def _send_file(self, message: OutboundMessage, chat: str, media: OutboundMedia) -> Json:
        """Send a file, and return the message."""

    def route(self) -> Route | None:
        """Return the address that the Mac delivers to, if it shall."""
        return None

    def _accepted(self, message: InboundMessage) -> None:
        """Do what is to be done once a message was accepted."""

    async def _poll(self, newest: int) -> None:
        """Take what is new, again and again: a webhook that was missed is not delivered twice."""
        row = await self._receive.cursor()
        self._row = newest if row is None else int(row)  # nothing of before the hub knew the account
        if row is None:
            await self._receive.keep_cursor(str(newest))
        while True:
            found = await self._rows_after(self._row)
            self._receive.progress()
            for message in found:
                await retry_until_stored(partial(self._take, message), self._receive, self._clock)
            if found:
                self._row = max(self._row, *(each["originalROWID"] for each in found))
                await self._receive.keep_cursor(str(self._row))
            if len(found) < PAGE:
                await self._clock.sleep(self._config.poll_s)

    async def _take(self, message: Json, event: str = "") -> None:
        """Take a message once, whether it was polled or delivered first.

        Raises:
            HubError: It is not stored.
        """
        inbound: Inbound | None = None
        with skip_if_malformed("imessage: a message"):
            inbound = inbound_of(message, Reading(self.account, self._config.names, self._sent), event)
        if inbound is None:
            return
        async with self._taking:
            key = inbound.message_id if isinstance(inbound, InboundMessage) else f"event {inbound.event_id}"
            if key in self._seen or (isinstance(inbound, InboundMessage) and self._is_echo(inbound)):
                return
            receipt = await self._receive(inbound)
            _remember(self._seen, key, None)
        if receipt.accepted and isinstance(inbound, InboundMessage):
            self._accepted(inbound)

    def _is_echo(self, message: InboundMessage) -> bool:
        """Whether a message is the second row of one that was sent to oneself."""
        own = {*self._config.own_addresses, self._info.get("detected_icloud"), self._info.get("detected_imessage")}
        if message.sender.split(":", 2)[2] not in own:
            return False
        said_at = self._said.pop((message.address.peer, message.text), None)
        return said_at is not None and self._clock.monotonic() - said_at < ECHO_S

    async def _send(self, message: OutboundMessage) -> str:
        chat = chat_of(message.address.peer)
        _remember(self._rows_before, message.id, self._row)
        if message.media:  # the outbox makes a message of each, without a text
            return self._note(await self._send_file(message, chat, message.media[0]))
        text = _plain(message.text)
        _remember(self._said, (chat, text), self._clock.monotonic())
        return self._note(await self._send_text(message, chat, text))

    def _note(self, sent: Json) -> str:
        guid = str(sent["guid"])
        _remember(self._sent, guid, None)
        return guid

    async def find(self, message: OutboundMessage, since: float) -> Delivery | None:
        """Look a message up in the chat, whose answer was lost; see `CanFind`."""
        chat, row = chat_of(message.address.peer), self._rows_before.get(message.id)
        name = file_name(message.media[0]) if message.media else None
        for each in await self._rows_of(chat, row, max(0.0, since - CLOCK_SKEW_S)):
            files = [file.get("transferName") for file in each.get("attachments") or ()]
            same = name in files if name else str(each.get("text") or "").strip() == _plain(message.text).strip()
            if each.get("isFromMe") and same and each["guid"] not in self._sent:
                return Delivery(DeliveryState.DELIVERED, (self._note(each),))
        return None


class IMessageChannel(MacChannel):
    """One server, which sends by AppleScript."""

    _api: BlueBubblesApi

    def __init__(self, config: IMessageAccount, clock: Clock) -> None:
        super().__init__(config, clock)
        self._open = False

    async def start(self, receive: Receiver) -> None:
        """Start listening."""
        self._receive = receive
        self._api = BlueBubblesApi(self._config.url, self._config.password, self._config.request_s)
        self._keep_connected(self._connect, receive)

    async def _leave(self) -> None:
        self._open = False

    @property
    def _private(self) -> bool:
        return self._config.private_api and bool(self._info.get("private_api") and self._info.get("helper_connected"))

    async def _who(self) -> dict[str, Any]:
        info = await self._api.call("GET", "server/info")
        lacks = self._config.private_api and not (info.get("private_api") and info.get("helper_connected"))
        missing = [phrase("The server’s Private API is not connected: it cannot edit, react or show typing.")]
        return {"account_id": _id_of(info), "name": _id_of(info), "missing": missing if lacks else []}

    # --- in ---

    async def _connect(self) -> str:
        self._open = False
        try:
            self._info = await self._api.call("GET", "server/info")
            newest = await self._query({"limit": 1, "sort": "DESC"})
            await self._register()
            self._open = True
            self._receive.identified(_id_of(self._info), _id_of(self._info))
            self._receive.connected()
            await self._poll(newest[0]["originalROWID"] if newest else 0)
        except PlatformError as error:
            if error.status in (401, 403):
                raise AccountRefused(f"{error.message}: the password is wrong. {HELP}") from error
            raise
        return "unreachable"  # pragma: no cover

    async def _register(self) -> None:
        """Let the server deliver to the hub, when it shall and does not yet."""
        if self._config.webhook_secret is None or self._config.webhook_url is None:
            return
        secret = urlencode({"secret": self._config.webhook_secret.reveal()})
        url = f"{self._config.webhook_url.rstrip('/')}{self._path}?{secret}"
        if any(each.get("url") == url for each in await self._api.call("GET", "webhook") or ()):
            return
        await self._api.call("POST", "webhook", json={"url": url, "events": list(HOOK_EVENTS)})

    async def _rows_after(self, row: int) -> list[dict[str, Any]]:
        return await self._query({"limit": PAGE, "sort": "ASC", "where": _after_row(row)})

    async def _rows_of(self, chat: str, row: int | None, since: float) -> list[dict[str, Any]]:
        where = {"where": _after_row(row)} if row is not None else {"after": int(since * 1_000)}
        return await self._query({"chatGuid": chat, "sort": "ASC", "limit": PAGE, **where})

    async def _query(self, asked: dict[str, Any]) -> list[dict[str, Any]]:
        return list(await self._api.call("POST", "message/query", json={"with": WITH, **asked}) or ())

    @property
    def _path(self) -> str:
        return f"/imessage/{self.account}"

    def route(self) -> Route | None:
        """Return the address that the server delivers to, unsigned and once, if it shall."""
        if self._config.webhook_secret is None:
            return None
        return Route(
            "POST", self._path, self._deliver, self.name, Open.SELF, body_limit=BODY_BYTES, open_limit=BODY_BYTES
        )

    async def _deliver(self, call: HttpCall) -> web.StreamResponse:
        known = self._config.webhook_secret.reveal() if self._config.webhook_secret else ""
        given = call.request.query.get("secret", "").encode("utf-8", "replace")
        if not known or not hmac.compare_digest(given, known.encode()):
            raise Unauthorized("the secret is missing, or is not webhook_secret of the configuration")
        try:
            delivered = orjson.loads(bytes(call.body or b""))
        except ValueError as error:
            raise InvalidRequest(f"this is not what BlueBubbles delivers: {error}") from error
        if not self._open:
            raise Unavailable("iMessage is not connected; what was missed is read then")
        self._receive.progress()
        event, message = "", dict[str, Any]()
        with skip_if_malformed("imessage: a delivery"):
            event, message = str(delivered["type"]), dict(delivered["data"])
        if event in HOOK_EVENTS:
            await self._take(message, event)
        return web.Response()

    def _accepted(self, message: InboundMessage) -> None:
        if self._private and self._config.read_receipts:
            self._tasks.spawn(self._mark_read(message.address), name="mark as read")

    async def _mark_read(self, address: Address) -> None:
        with suppress(HubError):
            await self._api.call("POST", f"chat/{quote(address.peer, safe='')}/read")

    async def look_up(self, query: str, limit: int) -> list[DirectoryEntry]:
        """Return people and groups of the Mac whose name holds a text."""
        wanted, found = query.casefold(), []
        for chat in await self._api.call("POST", "chat/query", json={"limit": 1_000, "sort": "lastmessage"}) or ():
            if chat.get("displayName"):
                kind = address_of(chat["guid"], self.account).chat_type
                found.append(DirectoryEntry(chat["guid"], chat["displayName"], kind))
        for person in await self._api.call("GET", "contact") or ():
            name = " ".join(filter(None, (person.get("firstName"), person.get("lastName"))))
            ways = [each["address"] for key in ("phoneNumbers", "emails") for each in person.get(key) or ()]
            found += [DirectoryEntry(chat_of(way), person.get("displayName") or name) for way in ways[:1]]
        return [each for each in found if wanted in each.name.casefold()][:limit]

    # --- out ---

    def _about(self, message: OutboundMessage, chat: str) -> dict[str, Any]:
        method = "private-api" if self._private else "apple-script"
        about = {"chatGuid": chat, "tempGuid": message.id, "method": method}
        if message.reply_to and self._private:
            about["selectedMessageGuid"] = message.reply_to
        return about

    async def _send_text(self, message: OutboundMessage, chat: str, text: str) -> Json:
        about = self._about(message, chat)
        return dict(await self._api.call("POST", "message/text", json={**about, "message": text}))

    async def _send_file(self, message: OutboundMessage, chat: str, media: OutboundMedia) -> Json:
        content, name = await asyncio.to_thread(Path(media.path).read_bytes), file_name(media)
        voice = {"isAudioMessage": "true"} if media.voice and self._private else {}
        form = aiohttp.FormData({**self._about(message, chat), "name": name, **voice})
        form.add_field("attachment", content, filename=name, content_type=media.mime_type)
        return dict(await self._api.call("POST", "message/attachment", data=form))


class PrivateIMessageChannel(IMessageChannel):
    """One server with the Private API."""

    def __init__(self, config: IMessageAccount, clock: Clock) -> None:
        super().__init__(config, clock)
        self._reactions: OrderedDict[str, str] = OrderedDict()

    async def edit(self, address: Address, platform_id: str, text: str) -> Delivery:
        """Give a message another text."""
        plain = _plain(text)
        return await self._act(
            f"message/{quote(platform_id, safe='')}/edit",
            {"editedMessage": plain, "backwardsCompatibilityMessage": plain, "partIndex": 0},
        )

    async def delete(self, address: Address, platform_id: str) -> Delivery:
        """Unsend a message."""
        return await self._act(f"message/{quote(platform_id, safe='')}/unsend", {"partIndex": 0})

    async def react(self, address: Address, platform_id: str, emoji: str | None) -> Delivery:
        """Give one of the six tapbacks; None takes the last one back."""
        name = next(
            (name for name, shown in TAPBACKS.items() if shown.strip("\ufe0f") == (emoji or "").strip("\ufe0f")), None
        )
        if emoji is None:
            name = f"-{self._reactions.pop(platform_id, 'like')}"
        if name is None:
            return Delivery(
                DeliveryState.PERMANENT, error=f"iMessage has no {emoji}: only {' '.join(TAPBACKS.values())}"
            )
        if emoji is not None:
            _remember(self._reactions, platform_id, name)
        about = {
            "chatGuid": chat_of(address.peer),
            "selectedMessageGuid": platform_id,
            "reaction": name,
            "partIndex": 0,
        }
        return await self._act("message/react", about)

    async def typing(self, address: Address) -> None:
        """Show that something is being written."""
        if self._private:
            with suppress(HubError):
                await self._api.call("POST", f"chat/{quote(chat_of(address.peer), safe='')}/typing")

    async def _act(self, path: str, body: Mapping[str, Any]) -> Delivery:
        if not self._private:
            return Delivery(DeliveryState.PERMANENT, error=f"BlueBubbles: {NO_PRIVATE_API}")
        return await delivery_of(self._api.call("POST", path, json=body))


def _after_row(row: int) -> list[dict[str, Any]]:
    return [{"statement": "message.ROWID > :row", "args": {"row": row}}]


def file_name(media: OutboundMedia) -> str:
    """Return the name that a file is sent with."""
    return media.name or Path(media.path).name


def _plain(text: str) -> str:
    written = render(text, Flavour.PLAIN)
    return written if 0 < len(written) <= TEXT_LENGTH else text


def _id_of(info: Json) -> str:
    return str(info.get("detected_icloud") or info.get("detected_imessage") or info.get("computer_id") or "imessage")


def _remember(kept: OrderedDict[Any, Any], key: Any, value: Any) -> None:
    kept[key] = value
    kept.move_to_end(key)
    if len(kept) > KEPT:
        kept.popitem(last=False)
