"""Google Chat as a channel: one app."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, TypeVar

from msgspec.structs import replace

from hub.core.clock import Clock
from hub.core.errors import InvalidRequest, Unavailable
from hub.core.phrases import phrase
from hub.messaging.capabilities import DirectoryEntry
from hub.messaging.contract import (
    Address,
    ButtonPressed,
    ChannelLimits,
    ChatType,
    Delivery,
    DeliveryState,
    Inbound,
    OutboundMessage,
    OutboundPoll,
    Receiver,
)
from hub.messaging.outbox.markup import Flavour
from hub.messaging.texts import say
from integrations.channels.acknowledging import offer, skip_if_malformed
from integrations.channels.api_channel import ApiChannel
from integrations.channels.bearer_tokens import SigningKeys
from integrations.channels.google_chat.api import GONE, TOKEN_REFUSED, GoogleChatAccount, GoogleChatApi
from integrations.channels.google_chat.cards import button_cards, poll_cards, text_of
from integrations.channels.google_chat.events import ChatEvent, event_of, inbound_of
from integrations.channels.google_chat.webhook import CHAT_CERTS_URL, GOOGLE_CERTS_URL, GoogleChatWebhook
from integrations.channels.http_api import PlatformError, delivery_of
from integrations.channels.persistent_map import PersistentMap
from integrations.channels.reconnecting import AccountRefused, retry_until_stored

_log = logging.getLogger(__name__)

TEXT_CHARS = 4_000
PEOPLE_KEPT = 500
SHOWN_EVERY_S = 2.0
"""Google takes 60 writes a minute in a space, of all apps together."""
OPEN_LIMIT_S = 5.0
"""How long a delivery waits for an app that is just being connected: Google does not repeat one."""
REPLY = "REPLY_MESSAGE_FALLBACK_TO_NEW_THREAD"
FUNCTION = "homarus"

T = TypeVar("T")


class GoogleChatChannel(ApiChannel):
    """One app.

    Args:
        language: Returns the language of the home.
    """

    name = "google_chat"
    _api: GoogleChatApi
    limits = ChannelLimits(
        people_begin=True,
        text=TEXT_CHARS,
        buttons=20,
        markup=Flavour.WHATSAPP,
        idempotent=True,
        draft_interval_s=SHOWN_EVERY_S,
    )

    def __init__(self, config: GoogleChatAccount, clock: Clock, language: Callable[[], str] = lambda: "en") -> None:
        super().__init__(config.account, clock)
        self._config = config
        self._language = language
        self._open = asyncio.Event()
        self.webhook = self._webhook()

    def _webhook(self) -> GoogleChatWebhook | None:
        config = self._config
        if (audience := config.audience) is None:
            return None
        url = config.certs_url or (CHAT_CERTS_URL if audience.isdigit() else GOOGLE_CERTS_URL)
        keys = SigningKeys(lambda: self._api.certificates(url), self._clock)
        return GoogleChatWebhook(config.account, audience, config.caller, keys, self._clock, self.take)

    @property
    def _function(self) -> str:
        """What a button calls: add-ons want the address of their endpoint there."""
        audience = self._config.audience
        return audience if audience and not audience.isdigit() else FUNCTION

    async def start(self, receive: Receiver) -> None:
        """Start; events are accepted once the service account is confirmed."""
        self._receive = receive
        self._refusal: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._people = PersistentMap(receive, "people", PEOPLE_KEPT, str)
        self._api = GoogleChatApi(self._config, self._clock)
        self._keep_connected(self._connect, receive)

    async def _leave(self) -> None:
        self._open.clear()

    async def _who(self) -> dict[str, Any]:
        await self._asked(self._api.authorize(renew=True))
        missing = []
        try:
            [each async for each in self._api.spaces()]
        except PlatformError as error:
            if error.state is not DeliveryState.PERMANENT:
                raise
            missing.append(phrase("It may not use the Chat API: {error}", error=error.message))
        if self._config.subscription is not None and not await self._api.may_pull():
            missing.append(phrase("It may not read the subscription: give it the role Pub/Sub Subscriber there."))
        return {"account_id": self._api.email, "name": self._api.email.partition("@")[0], "missing": missing}

    async def _connect(self) -> str | None:
        """Get a token, and take events until Google refuses the service account."""
        try:
            await self._api.authorize(renew=True)
            self._receive.identified(self._api.email)
            await self._people.load()
            self._open.set()
            self._receive.connected()
            if self._config.subscription is None:
                raise AccountRefused(await self._refusal)
            while not self._refusal.done():
                await self._pull()
        except PlatformError as error:
            if error.reason in (TOKEN_REFUSED, GONE, "PERMISSION_DENIED"):
                raise AccountRefused(_with_help(error)) from error
            raise
        raise AccountRefused(await self._refusal)

    async def _asked(self, request: Awaitable[T]) -> T:
        try:
            return await request
        except PlatformError as error:
            if error.reason == TOKEN_REFUSED and not self._refusal.done():
                self._refusal.set_result(_with_help(error))
            raise

    # --- in ---

    async def _pull(self) -> None:
        """Take what waits in the subscription; each is acknowledged once it is stored."""
        for id, data in await self._api.pull():
            event: Any = None
            with skip_if_malformed("google_chat: a message of Pub/Sub"):
                event = json.loads(data)
            if event is not None:
                await retry_until_stored(partial(self._take, event), self._receive, self._clock)
            await self._api.acknowledge([id])
        self._receive.progress()

    async def take(self, body: Any) -> dict[str, Any]:
        """Take an event; return the answer to it.

        Raises:
            HubError: It is not stored.
        """
        try:
            async with asyncio.timeout(OPEN_LIMIT_S):
                await self._open.wait()
        except TimeoutError as error:
            raise Unavailable("Google Chat is not connected; deliver it again") from error
        self._receive.progress()
        return await self._take(body, answered=True)

    async def _take(self, body: Any, *, answered: bool = False) -> dict[str, Any]:
        read: list[tuple[ChatEvent, Inbound]] = []
        with skip_if_malformed("google_chat: an event"):
            event = event_of(body)
            read = [(event, each) for each in inbound_of(event, self.account)]
        for event, inbound in read:
            if self._receive.admits(inbound):
                await self._note_person(inbound)
            receipt = await offer(self._receive, inbound)
            if receipt is not None and receipt.notice and isinstance(inbound, ButtonPressed):
                if answered:
                    return _private(event, receipt.notice)
                self._tasks.spawn(delivery_of(self._post(inbound.address, receipt.notice)), name="answer a button")
        return {}

    async def _note_person(self, inbound: Inbound) -> None:
        """Keep whose direct messages these are: Google lists them without names."""
        address, name = inbound.address, inbound.sender_name
        if address.chat_type is ChatType.DIRECT and name and self._people.get(address.peer) != name:
            await self._people.put(address.peer, name)

    # --- out ---

    async def _send(self, message: OutboundMessage) -> str:
        cards = button_cards(message, self._function) if message.buttons else None
        return await self._post(message.address, message.text, id=message.id, cards=cards)

    async def poll(self, poll: OutboundPoll) -> Delivery:
        """Open a poll, as a card."""
        cards = poll_cards(poll, self._function, say("poll.vote", self._language()))
        return await delivery_of(self._post(poll.address, poll.question, id=poll.id, cards=cards))

    async def edit(self, address: Address, platform_id: str, text: str) -> Delivery:
        """Give a message another text; its buttons go."""
        body = {"text": text_of(text), "cardsV2": []}
        request = self._api.call("PATCH", platform_id, body, {"updateMask": "text,cardsV2"})
        return await delivery_of(self._asked(request))

    async def delete(self, address: Address, platform_id: str) -> Delivery:
        """Delete a message; one that no longer exists counts as deleted."""
        return await delivery_of(self._asked(self._api.call("DELETE", platform_id)), done_already=GONE)

    async def open_thread(self, address: Address, title: str) -> Address:
        """Begin a thread with a message that is its title."""
        if address.chat_type is not ChatType.CHANNEL:
            raise InvalidRequest("Google Chat has threads in spaces alone")
        if address.thread:
            return address
        answer = await self._asked(self._api.call("POST", f"{address.peer}/messages", {"text": text_of(title)}))
        return replace(address, thread=answer["thread"]["name"])

    async def look_up(self, query: str, limit: int) -> list[DirectoryEntry]:
        """Return the spaces that the app is in, and people who wrote to it."""
        found = [DirectoryEntry(peer, name) for peer, name in self._people.items()]
        async for each in self._api.spaces():
            kind = ChatType.GROUP if each.get("spaceType") == "GROUP_CHAT" else ChatType.CHANNEL
            if name := each.get("displayName"):
                found.append(DirectoryEntry(each["name"], name, kind))
        return [each for each in found if query.casefold() in each.name.casefold()][:limit]

    async def _post(
        self, address: Address, text: str, *, id: str | None = None, cards: list[dict[str, Any]] | None = None
    ) -> str:
        """Return the id of what was posted; with an `id` Google makes one message of it however often it is asked."""
        body: dict[str, Any] = {"text": text_of(text)} if text else {}
        query = {"requestId": id} if id else {}
        if cards:
            body["cardsV2"] = cards
        if address.thread:
            body["thread"] = {"name": address.thread}
            query["messageReplyOption"] = REPLY
        try:
            answer = await self._asked(self._api.call("POST", f"{address.peer}/messages", body, query))
        except PlatformError as error:
            if error.reason not in ("PERMISSION_DENIED", GONE):
                raise
            text = f"the app is not in that space, or may not write there; add it again: {error.message}"
            raise self._api.error(error.state, text, status=error.status, reason=error.reason) from error
        return str(answer.get("name") or "")


def _private(event: ChatEvent, text: str) -> dict[str, Any]:
    """Return the answer to a press: in a space only who pressed sees it."""
    message: dict[str, Any] = {"text": text}
    if event.space.get("spaceType", event.space.get("type")) not in ("DIRECT_MESSAGE", "DM"):
        message["privateMessageViewer"] = {"name": event.user["name"]}
    if event.is_addon:
        return {"hostAppDataAction": {"chatDataAction": {"createMessageAction": {"message": message}}}}
    return {"actionResponse": {"type": "NEW_MESSAGE"}, **message}


def _with_help(error: PlatformError) -> str:
    return f"{error.message}. See docs/channels/google_chat.md."
