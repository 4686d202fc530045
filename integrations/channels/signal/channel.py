"""Signal as a channel: one account of a signal-cli daemon."""

from __future__ import annotations

import base64
import json
import logging
from collections import deque
from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing
from functools import partial
from typing import Any

from hub.core.clock import Clock
from hub.messaging.capabilities import DirectoryEntry
from hub.messaging.contract import (
    Address,
    ChannelLimits,
    ChatType,
    Delivery,
    DeliveryState,
    Inbound,
    Media,
    MediaKind,
    OutboundMessage,
    OutboundPoll,
    Receiver,
    TextUnit,
)
from integrations.channels.acknowledging import skip_if_malformed
from integrations.channels.api_channel import ApiChannel
from integrations.channels.http_api import PlatformError, delivery_of
from integrations.channels.reconnecting import AccountRefused, retry_until_stored
from integrations.channels.signal.events import inbound_of, message_id, split_id
from integrations.channels.signal.rpc import SILENCE_LIMIT_S, SignalRpc
from integrations.channels.signal.styles import styled

_log = logging.getLogger(__name__)

TEXT_BYTES = 2_000
MEDIA_BYTES = 100_000_000
SENT_LIMIT = 1_000
"""Own messages that are remembered, to know their echoes by."""


class SignalChannel(ApiChannel):
    """One account.

    Args:
        account: Its name in the configuration.
        url: The daemon's address.
        silence_s: A stream that is silent for so long is dead.
    """

    name = "signal"
    _api: SignalRpc
    limits = ChannelLimits(
        text=TEXT_BYTES,
        unit=TextUnit.BYTES,
        caption=TEXT_BYTES,
        media=frozenset(MediaKind),
        media_bytes=MEDIA_BYTES,
        draft_interval_s=4.0,
        edits=10,
        block_chars=1_500,
    )

    def __init__(
        self, account: str, url: str, number: str, clock: Clock, *, silence_s: float = SILENCE_LIMIT_S
    ) -> None:
        super().__init__(account, clock)
        self._url = url
        self._number = number
        self._silence_s = silence_s
        self._me: set[str] = {number}
        self._sent: deque[int] = deque(maxlen=SENT_LIMIT)
        self._reactions: dict[str, str] = {}

    async def start(self, receive: Receiver) -> None:
        """Start listening."""
        self._receive = receive
        self._api = SignalRpc(self._url, self._number, self._silence_s)
        self._keep_connected(self._listen, receive)

    async def _who(self) -> dict[str, Any]:
        version = await self._api.call("version")
        await self._api.call("getUserStatus", recipient=[self._number])
        return {"id": self._number, "name": f"signal-cli {version.get('version', '')}".strip()}

    # --- in ---

    async def _listen(self) -> str:
        """Process what the daemon receives until its stream ends; return why."""
        try:
            await self._find_out_who()
        except PlatformError as error:
            if error.state is DeliveryState.PERMANENT:
                raise AccountRefused(f"{error.message}. See docs/channels/signal.md.") from error
            raise
        async with aclosing(self._api.events(self._streams, self._receive.progress)) as events:
            async for text in events:
                await self._take(text)
        return "signal-cli closed the stream"

    async def _find_out_who(self) -> None:
        """Learn the account's own id; its number may change hands."""
        found = await self._api.call("getUserStatus", recipient=[self._number])
        self._me |= {each["uuid"] for each in found if each.get("uuid")}

    def _streams(self) -> None:
        ids = self._me - {self._number}
        self._receive.identified(min(ids, default=self._number), self._number)
        self._receive.connected()

    async def _take(self, text: str) -> None:
        said: list[Inbound] = []
        with skip_if_malformed("signal: an event"):
            event = json.loads(text)
            if event.get("account") in (None, self._number):
                said += inbound_of(event["envelope"], self._me, self.account, self._sent)
        for inbound in said:  # signal-cli has given it away and does not bring it back
            await retry_until_stored(partial(self._receive, inbound), self._receive, self._clock)

    async def fetch(self, address: Address, media: Media) -> AsyncIterator[bytes]:
        """Yield an attachment, which the daemon has."""
        group = address.chat_type is not ChatType.DIRECT
        where = {"groupId": address.peer} if group else {"recipient": address.peer}
        found = await self._api.call("getAttachment", id=media.reference, **where)
        yield base64.b64decode(found["data"] if isinstance(found, dict) else found)

    async def look_up(self, query: str, limit: int) -> list[DirectoryEntry]:
        """Return contacts and groups of the account whose name holds a text."""
        contacts, groups = await self._api.call("listContacts"), await self._api.call("listGroups")
        people = [
            DirectoryEntry(each.get("uuid") or each["number"], name)
            for each in contacts
            if not each.get("isBlocked") and (each.get("uuid") or each.get("number")) and (name := _name_of(each))
        ]
        rooms = [
            DirectoryEntry(each["id"], each["name"], ChatType.GROUP)
            for each in groups
            if each.get("isMember") and not each.get("isBlocked") and each.get("name")
        ]
        return [each for each in (*people, *rooms) if query.casefold() in each.name.casefold()][:limit]

    # --- out ---

    async def _send(self, message: OutboundMessage) -> str:
        """Send a message, in Signal's own styles."""
        quote: dict[str, Any] = {}
        if message.reply_to:
            try:
                timestamp, author = split_id(message.reply_to)
                quote = {"quoteTimestamp": timestamp, "quoteAuthor": author}
            except PlatformError as error:
                _log.info("signal: nothing to quote: %s", error)
        files = [each.path for each in message.media] or None
        more = {"attachments": files, "voiceNote": any(each.voice for each in message.media) or None}
        return await self._call("send", message.address, **_styled(message.text), **more, **quote)

    async def edit(self, address: Address, platform_id: str, text: str) -> Delivery:
        """Give a message another text."""
        return await delivery_of(self._on_own("send", address, platform_id, "editTimestamp", **_styled(text)))

    async def delete(self, address: Address, platform_id: str) -> Delivery:
        """Delete a message for everybody."""
        return await delivery_of(self._on_own("remoteDelete", address, platform_id, "targetTimestamp"))

    async def react(self, address: Address, platform_id: str, emoji: str | None) -> Delivery:
        """React to a message; Signal must know which reaction is removed."""
        return await delivery_of(self._react(address, platform_id, emoji))

    async def _react(self, address: Address, platform_id: str, emoji: str | None) -> str:
        timestamp, author = split_id(platform_id)
        shown = emoji or self._reactions.pop(platform_id, "👍")
        if emoji is not None:
            self._reactions = dict([*self._reactions.items(), (platform_id, emoji)][-SENT_LIMIT:])
        about = {"targetTimestamp": timestamp, "targetAuthor": author, "remove": emoji is None or None}
        return await self._call("sendReaction", address, emoji=shown, **about)

    async def poll(self, poll: OutboundPoll) -> Delivery:
        """Open a poll."""
        asked = {"question": poll.question, "option": list(poll.options), "noMulti": not poll.multiple or None}
        return await delivery_of(self._call("sendPollCreate", poll.address, **asked))

    async def typing(self, address: Address) -> None:
        """Show for fifteen seconds that an answer is being written."""
        await self._api.call("sendTyping", **_target(address))

    async def _on_own(self, method: str, address: Address, platform_id: str, key: str, **params: Any) -> str:
        await self._call(method, address, **{key: split_id(platform_id)[0]}, **params)
        return platform_id

    async def _call(self, method: str, address: Address, **params: Any) -> str:
        """Return the id of what was sent."""
        timestamp = (await self._api.call(method, **_target(address), **params))["timestamp"]
        self._sent.append(timestamp)
        return message_id(timestamp, min(self._me - {self._number}, default=""))


def _styled(markdown: str) -> dict[str, Any]:
    text, styles = styled(markdown)
    return {"message": text, "textStyle": styles or None}


def _name_of(contact: Mapping[str, Any]) -> str:
    """Return what a contact is called here, else what they call themselves."""
    profile = contact.get("profile") or {}
    own = " ".join(filter(None, (profile.get("givenName"), profile.get("familyName"))))
    return str(contact.get("nickName") or contact.get("name") or own or contact.get("username") or "")


def _target(address: Address) -> dict[str, Any]:
    if address.chat_type is ChatType.DIRECT:
        return {"recipient": [address.peer]}
    return {"groupId": address.peer}
