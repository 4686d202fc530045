"""LINE as a channel: one official account."""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from hub.core.clock import Clock
from hub.core.errors import HubError, Unavailable
from hub.core.phrases import phrase
from hub.core.secret import Secret
from hub.core.surfaces import Route
from hub.messaging.contract import (
    Address,
    ButtonPressed,
    ChannelLimits,
    ChatType,
    Delivery,
    DeliveryState,
    Inbound,
    InboundMessage,
    Media,
    MediaKind,
    OutboundMedia,
    OutboundMessage,
    Receiver,
    TextUnit,
)
from hub.messaging.outbox.markup import Flavour
from hub.security.webhook_signature import SignatureForm, is_signed
from integrations.channels.acknowledging import offer, skip_if_malformed
from integrations.channels.api_channel import ApiChannel
from integrations.channels.button_values import ButtonValues
from integrations.channels.http_api import PlatformError
from integrations.channels.line.api import INVALID_TOKEN, LineApi, id_of, is_refused
from integrations.channels.line.events import Json, inbound_of
from integrations.channels.line.outgoing import (
    DATA_LENGTH,
    QUICK_REPLIES,
    SOUND_BYTES,
    TEXT_LENGTH,
    choice_part,
    media_part,
    text_body,
)
from integrations.channels.persistent_map import PersistentMap
from integrations.channels.public_files import PublicFiles
from integrations.channels.reconnecting import AccountRefused
from integrations.channels.webhook_delivery import delivery_route

_log = logging.getLogger(__name__)

FORM = SignatureForm(header="x-line-signature", prefix="", encoding="base64")
SENT_KEPT, QUOTE_LENGTH = 300, 300
"""Messages whose texts are kept, so far: replies name them by their ids alone."""
REMEMBERED = 1_000
"""Names, and chats and messages with tokens."""
TOKENS = 5
FRESH_S, GOOD_S = 40.0, 55.0
"""A reply token is used within the first; until the second, one that LINE does not take was taken before."""
NAME_LIMIT_S = 1.5
"""LINE waits two seconds for the answer to a delivery."""
NAME_LIFE_S = 3_600.0
"""LINE tells nobody that a name was changed."""
TYPING_S = 20
HELP = "See docs/channels/line.md."


class LineAccount(Struct, frozen=True):
    """One entry of the configuration."""

    account: str
    token: Secret
    secret: Secret
    api_root: str
    data_root: str
    public_url: str | None = None


class _Token(Struct, frozen=True):
    """A reply token, and when it came; an empty one was not taken."""

    token: str
    since: float


class LineChannel(ApiChannel):
    """One official account.

    Args:
        files: Gives attachments to LINE.
    """

    name = "line"
    _api: LineApi

    def __init__(self, config: LineAccount, files: PublicFiles, clock: Clock) -> None:
        super().__init__(config.account, clock)
        self._config = config
        self._files = files
        self.limits = ChannelLimits(
            people_begin=True,
            text=TEXT_LENGTH,
            unit=TextUnit.UTF16,
            media=frozenset(MediaKind) if config.public_url else frozenset(),
            media_bytes=SOUND_BYTES,
            buttons=QUICK_REPLIES,
            markup=Flavour.PLAIN,
            idempotent=True,
            block_chars=1_500,
        )
        self._open = False
        self._tokens: dict[str, list[_Token]] = {}
        self._quotes: dict[str, str] = {}
        self._names: dict[str, tuple[str | None, float]] = {}
        self._shown: dict[str, float] = {}

    async def start(self, receive: Receiver) -> None:
        """Start; deliveries are accepted once the account is confirmed."""
        self._receive = receive
        self._refusal: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._buttons = ButtonValues(receive, DATA_LENGTH - 64)
        self._sent = PersistentMap(receive, "sent", SENT_KEPT, str)
        self._rows = PersistentMap(receive, "messages with buttons", SENT_KEPT, str)
        self._replies = PersistentMap(receive, "replies", SENT_KEPT, _Token)
        self._api = LineApi(self._config.api_root, self._config.data_root, self._config.token, self._clock)
        self._keep_connected(self._connect, receive)

    async def _leave(self) -> None:
        self._open = False

    async def _connect(self) -> None:
        """Look the account up, and accept deliveries until LINE refuses the token."""
        try:
            me = await self._asked("GET", "v2/bot/info")
        except PlatformError as error:
            if is_refused(error):
                raise AccountRefused(_with_help(error)) from error
            raise
        self._me = str(me["userId"])
        self._receive.identified(self._me, me.get("displayName"))
        for kept in (self._buttons, self._sent, self._rows, self._replies):
            await kept.load()
        self._open = True
        self._receive.connected()
        raise AccountRefused(await self._refusal)

    async def _who(self) -> dict[str, Any]:
        me = await self._asked("GET", "v2/bot/info")
        missing = []
        if me.get("chatMode") == "chat":
            missing.append(phrase("It answers by hand: switch on Webhook in its response settings."))
        with suppress(PlatformError):  # which it answers when no address is set
            if not (await self._asked("GET", "v2/bot/channel/webhook/endpoint")).get("active"):
                missing.append(phrase("Use webhook is off in the LINE Developers Console."))
        quota = await self._asked("GET", "v2/bot/message/quota")
        if quota.get("type") == "limited":
            used = (await self._asked("GET", "v2/bot/message/quota/consumption")).get("totalUsage", 0)
            if used >= quota["value"]:
                missing.append(phrase("The {count} messages of this month are used up.", count=quota["value"]))
        return {"account_id": me.get("userId"), "name": me.get("displayName"), "missing": missing}

    async def _asked(self, method: str, path: str, **request: Any) -> dict[str, Any]:
        try:
            return await self._api.call(method, path, **request)
        except PlatformError as error:
            if error.status == 401 and not self._refusal.done():
                self._refusal.set_result(_with_help(error))
            raise

    # --- in ---

    def route(self) -> Route:
        """Return the address that LINE delivers to."""
        return delivery_route(f"/line/{self.account}", self.name, self._is_genuine, self._take)

    def _is_genuine(self, body: bytes, headers: Mapping[str, str]) -> bool:
        return is_signed(self._config.secret.reveal(), body, headers, FORM, self._clock.time())

    async def _take(self, delivery: Json) -> None:
        """Take what LINE delivered.

        Raises:
            HubError: It is not stored; LINE must deliver it again.
        """
        if not self._open:
            raise Unavailable("LINE is not connected; deliver it again")
        self._receive.progress()
        events: list[Json] = []
        with skip_if_malformed("line: a delivery"):
            if delivery["destination"] == self._me:
                events = list(delivery["events"])
        for event in events:
            found: list[Inbound] = []
            with skip_if_malformed("line: an event"):
                found = inbound_of(event, self.account, self._sent.get)
            for inbound in found:
                await self._offer(inbound, event)

    async def _offer(self, inbound: Inbound, event: Json) -> None:
        if isinstance(inbound, ButtonPressed):
            id = self._rows.get(inbound.message_id) or inbound.message_id
            inbound = replace(inbound, message_id=id, value=self._buttons.value_of(inbound.value))
        if isinstance(inbound, InboundMessage) and self._receive.admits(inbound):
            inbound = await self._named(inbound)
        receipt = await offer(self._receive, inbound)
        if receipt is None:
            return
        token = event.get("replyToken")
        if receipt.notice and token:
            self._tasks.spawn(self._tell(token, receipt.notice), name="answer a button")
        elif token and not receipt.duplicate:
            kept = self._tokens.get(inbound.address.peer, [])[1 - TOKENS :]
            _remember(self._tokens, inbound.address.peer, [*kept, _Token(token, self._clock.time())])
        if isinstance(inbound, InboundMessage) and (quote := event["message"].get("quoteToken")):
            _remember(self._quotes, inbound.message_id, quote)

    async def _tell(self, token: str, text: str) -> None:
        """Send something whose loss does not matter."""
        body = {"replyToken": token, "messages": [{"type": "text", "text": text}], "notificationDisabled": True}
        with suppress(HubError):
            await self._asked("POST", "v2/bot/message/reply", json=body)

    async def _named(self, message: InboundMessage) -> InboundMessage:
        """Return a message with the names of its sender and group, where LINE tells them in time."""
        user, peer = message.sender.rpartition(":")[2], message.address.peer
        place = {"C": f"group/{peer}/member", "R": f"room/{peer}/member"}.get(peer[:1], "profile")
        names = [self._name(f"{place}/{user}", "displayName")]
        if peer.startswith("C"):
            names.append(self._name(f"group/{peer}/summary", "groupName"))
        name, *group = await asyncio.gather(*names)
        return replace(message, sender_name=name, group_name=group[0] if group else None)

    async def _name(self, path: str, field: str) -> str | None:
        name, since = self._names.get(path, (None, float("-inf")))
        if self._clock.monotonic() - since < NAME_LIFE_S:
            return name
        with suppress(HubError):
            name = (await self._asked("GET", f"v2/bot/{path}", limit_s=NAME_LIMIT_S)).get(field)
            _remember(self._names, path, (name, self._clock.monotonic()))
        return name

    async def fetch(self, address: Address, media: Media) -> AsyncIterator[bytes]:
        """Yield an attachment; see `CanFetch`."""
        prepared = media.kind in (MediaKind.AUDIO, MediaKind.VIDEO)
        async for piece in self._api.content(media.reference, prepared=prepared):
            yield piece

    # --- out ---

    async def send(self, message: OutboundMessage) -> Delivery:
        """Send a message; see `Channel`."""
        delivery = await super().send(message)
        for id in delivery.platform_ids:
            try:
                await self._sent.put(id, message.text[:QUOTE_LENGTH])
                if message.buttons:
                    await self._rows.put(message.id, id)
            except HubError as error:
                _log.warning("line: the text of a message is not kept: %s", error)
        return delivery

    async def _send(self, message: OutboundMessage) -> str:
        if not self._open:  # the account counts as connected a moment before its reply tokens are read
            raise self._api.error(DeliveryState.TRANSIENT, "which replies were tried before is not read yet")
        body: dict[str, Any] = {"messages": [await self._content(message)]}
        if message.silent:
            body["notificationDisabled"] = True
        if (id := await self._replied(message, body)) is not None:
            return id
        key = str(uuid.uuid5(uuid.NAMESPACE_OID, message.id))
        answer = await self._asked(
            "POST", "v2/bot/message/push", retry_key=key, json={"to": message.address.peer, **body}
        )
        return id_of(answer) or message.id

    async def _content(self, message: OutboundMessage) -> dict[str, Any]:
        if message.media:  # the outbox makes a message of each, without a text
            return await self._attachment(message.media[0])
        text = text_body(message.text)
        choices = [
            (f"{message.id} {await self._buttons.payload_of(button.value)}", button.label)
            for row in message.buttons
            for button in row
        ]
        content = choice_part(text, choices) if choices else {"type": "text", "text": text}
        if content["type"] == "text" and (quote := self._quotes.get(message.reply_to or "")):
            content["quoteToken"] = quote
        return content

    async def _attachment(self, media: OutboundMedia) -> dict[str, Any]:
        if self._config.public_url is None:
            raise self._api.error(DeliveryState.PERMANENT, "files need a public_url, where LINE can fetch them")
        size, head = await asyncio.to_thread(_looked_at, media.path)
        return media_part(media, size, head, await self._files.offer(media, self._config.public_url))

    async def _replied(self, message: OutboundMessage, body: dict[str, Any]) -> str | None:
        """Return the id of a message that was sent as a reply, which costs nothing; None when it must be pushed.

        LINE has no retry key for replies, but takes each token once. So a message goes with one token, which is on disk
        before; where its fate is unknown, it is sent again with that token alone, and a refusal says that it arrived.

        Raises:
            PlatformError: It failed, and was sent or not.
        """
        tried = self._replies.get(message.id)
        before = tried is not None
        if tried is None:
            if (tried := self._fresh_token(message.address.peer)) is None:
                return None
            await self._replies.put(message.id, tried)
        if not tried.token:
            return None
        try:
            answer = await self._asked("POST", "v2/bot/message/reply", json={"replyToken": tried.token, **body})
        except PlatformError as error:
            if error.reason == INVALID_TOKEN and before:
                if self._clock.time() - tried.since <= GOOD_S:
                    return message.id
                text = "the answer to a reply was lost, and it is too late to ask again; it may have arrived"
                raise self._api.error(DeliveryState.PERMANENT, text) from error
            if error.state is DeliveryState.UNKNOWN or before:
                raise
            await self._replies.put(message.id, _Token("", 0.0))
            if error.reason != INVALID_TOKEN:
                raise
            return None
        return id_of(answer) or message.id

    def _fresh_token(self, peer: str) -> _Token | None:
        tokens = self._tokens.pop(peer, [])
        fresh = [each for each in tokens if self._clock.time() - each.since <= FRESH_S]
        if len(fresh) > 1:
            self._tokens[peer] = fresh[1:]
        return fresh[0] if fresh else None

    async def typing(self, address: Address) -> None:
        """Show that an answer is being written; LINE does so to one person alone."""
        now = self._clock.monotonic()
        if address.chat_type is not ChatType.DIRECT or now - self._shown.get(address.peer, -TYPING_S) < TYPING_S:
            return
        _remember(self._shown, address.peer, now)
        await self._asked(
            "POST", "v2/bot/chat/loading/start", json={"chatId": address.peer, "loadingSeconds": TYPING_S}
        )


def _looked_at(path: str) -> tuple[int, bytes]:
    with Path(path).open("rb") as file:
        head = file.read(65_536)
        return file.seek(0, 2), head


def _remember(table: dict[str, Any], key: str, value: Any) -> None:
    table.pop(key, None)
    table[key] = value
    if len(table) > REMEMBERED:
        del table[next(iter(table))]


def _with_help(error: PlatformError) -> str:
    return f"{error.message}. {HELP}"
