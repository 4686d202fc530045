"""WhatsApp Web as a channel: one linked device of one number."""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from hub.core.clock import Clock
from hub.core.errors import HubError
from hub.core.tasks import TaskOwner
from hub.messaging.capabilities import DirectoryEntry, LinkStep
from hub.messaging.contract import (
    Address,
    ChannelLimits,
    ChatType,
    Delivery,
    DeliveryState,
    Inbound,
    InboundMessage,
    Media,
    MediaKind,
    OutboundMessage,
    OutboundPoll,
    Receiver,
)
from hub.messaging.outbox.markup import Flavour
from integrations.channels.acknowledging import skip_if_malformed
from integrations.channels.http_api import PIECE_BYTES, PlatformError, delivery_of, surely_not_sent
from integrations.channels.persistent_map import PersistentMap
from integrations.channels.reconnecting import AccountRefused, keep_connected, retry_until_stored
from integrations.channels.whatsapp_web import outgoing
from integrations.channels.whatsapp_web.client import LinkCode, WebClient
from integrations.channels.whatsapp_web.events import (
    UNLINKED,
    Reading,
    ending_of,
    inbound_of,
    jid_from,
    jid_of,
    lids_of,
    memberships_of,
    message_id,
    numbers_in,
    person_of,
    poll_voted_in,
    size_of,
    split_id,
    text_of,
)

_log = logging.getLogger(__name__)

MEDIA_BYTES = 100_000_000
LOOK_EVERY_S = 30.0
LINK_LIMIT_S = 180.0
LINK_WAIT_S = 15.0
"""How long to wait for the first code before answering without one."""
SILENCES_LIMIT = 2
"""Questions in a row that WhatsApp left unanswered."""
KEPT, POLLS_KEPT, QUOTE_LENGTH = 1_000, 100, 300
DISCONNECTED = "the account is not connected to WhatsApp"


class WhatsAppWebChannel:
    """One number.

    Args:
        account: Its name in the configuration.
        open_client: Opens the session; called for each connection.
        read_receipts: Whether accepted messages are marked as read.
    """

    name = "whatsapp_web"
    limits = ChannelLimits(
        text=outgoing.TEXT_LENGTH,
        media=frozenset(MediaKind),
        media_bytes=MEDIA_BYTES,
        markup=Flavour.WHATSAPP,
        draft_interval_s=2.0,
        edits=20,
    )

    def __init__(
        self,
        account: str,
        open_client: Callable[[], Awaitable[WebClient]],
        clock: Clock,
        *,
        read_receipts: bool = True,
    ) -> None:
        self.account = account
        self._open = open_client
        self._clock = clock
        self._read_receipts = read_receipts
        self._tasks = TaskOwner(f"whatsapp_web {account}")
        self._client: WebClient | None = None
        self._me = self._my_lid = ""
        self._asked = asyncio.Event()
        self._changed = asyncio.Event()
        self._step = LinkStep()
        self._number: str | None = None
        self._silences = 0
        self._numbers: dict[str, str] = {}
        self._by_lid: set[str] = set()
        self._names: OrderedDict[str, str] = OrderedDict()
        self._sent: OrderedDict[str, None] = OrderedDict()
        self._texts: OrderedDict[str, str] = OrderedDict()

    async def start(self, receive: Receiver) -> None:
        """Start listening."""
        self._receive = receive
        self._polls = PersistentMap(receive, "polls", POLLS_KEPT, list[str])
        self._tasks.spawn(self._keep(), name="connection")

    async def stop(self) -> None:
        """Disconnect; the number stays linked."""
        await self._tasks.cancel_all()

    async def probe(self) -> dict[str, Any]:
        """Return whether the connection is up, and as whom."""
        try:
            client = self._connected()
            if not await client.is_connected():
                return {"ok": False, "error": DISCONNECTED}
        except PlatformError as error:
            return {"ok": False, "error": error.message}
        return {"ok": True, "account_id": self._me, "name": f"+{self._me}", "missing": []}

    # --- linking ---

    async def link(self, number: str | None = None) -> LinkStep:
        """Begin to link; see `CanLink`. A linked account that was disconnected for good connects again."""
        if not self._step.linked and not self._asked.is_set():
            self._number = "".join(filter(str.isdigit, number or "")) or None
            self._tell_step(LinkStep())
            self._changed.clear()
            self._asked.set()
        with suppress(TimeoutError):
            async with asyncio.timeout(LINK_WAIT_S):
                while self._step == LinkStep():
                    self._changed.clear()
                    await self._changed.wait()
        return self._step

    def link_step(self) -> LinkStep:
        """Return where linking stands."""
        return self._step

    def _tell_step(self, step: LinkStep) -> None:
        self._step = step
        self._changed.set()

    async def _show_code(self, client: WebClient, text: str) -> None:
        if self._number is None:
            self._tell_step(LinkStep(qr=text))
        elif self._step.code is None:
            self._tell_step(LinkStep(code=await client.pairing_code(self._number)))

    # --- the connection ---

    async def _keep(self) -> None:
        """Keep connected; once that is useless, wait until somebody links the account."""
        while True:
            await keep_connected(self._connect, self._receive, self._clock)
            await self._asked.wait()

    async def _connect(self) -> str:
        """Hear events until the connection ends; return why."""
        client = await self._open()
        events: asyncio.Queue[Any] = asyncio.Queue()
        running = None
        try:
            if not self._asked.is_set() and not await client.is_linked():
                raise AccountRefused(UNLINKED)
            running = asyncio.create_task(client.run(events.put_nowait))
            running.add_done_callback(lambda _: events.put_nowait(None))
            return await self._hear(client, events, running)
        except (AccountRefused, HubError) as error:
            self._end_link(str(error))
            raise
        finally:
            self._client = None
            self._tell_step(replace(self._step, linked=False))
            await client.close()
            if running is not None:
                running.cancel()
                await asyncio.gather(running, return_exceptions=True)

    def _end_link(self, error: str) -> None:
        if self._asked.is_set():
            self._asked.clear()
            self._tell_step(LinkStep(error=error))

    async def _hear(self, client: WebClient, events: asyncio.Queue[Any], running: asyncio.Task[None]) -> str:
        began = self._clock.monotonic()
        while True:
            event = None
            try:
                async with asyncio.timeout(LOOK_EVERY_S):
                    event = await events.get()
            except TimeoutError:
                if not self._silences and await client.is_connected():
                    self._receive.progress()
            if event is None and running.done():
                await running
                return "the connection to WhatsApp ended"
            if event is not None:
                await self._handle(client, event)
            if self._asked.is_set() and self._clock.monotonic() - began > LINK_LIMIT_S:
                raise AccountRefused(f"nobody scanned the code in time; {UNLINKED}")

    async def _handle(self, client: WebClient, event: Any) -> None:
        if isinstance(event, LinkCode):
            if not self._asked.is_set():
                raise AccountRefused(UNLINKED)
            await self._show_code(client, event.text)
            return
        ending = ending_of(event)
        if ending is not None and ending.permanent:
            raise AccountRefused(ending.text)
        if ending is not None:
            raise PlatformError(DeliveryState.TRANSIENT, ending.text)
        match event.DESCRIPTOR.name:
            case "Connected" | "KeepAliveRestored":
                await self._log_in(client)
            case "PairStatus" if event.Error:
                raise AccountRefused(f"WhatsApp did not link it: {event.Error}")
            case "Disconnected":
                self._receive.disconnected("the connection to WhatsApp broke; the client connects again")
            case "KeepAliveTimeout":
                self._silences += 1
                if self._silences >= SILENCES_LIMIT:
                    self._receive.disconnected("WhatsApp does not answer; the client connects again")
            case "Message":
                self._receive.progress()
                await self._take(client, event)
            case "GroupInfoEvent":
                await self._take_group(client, event)
            case _:
                self._receive.progress()

    async def _log_in(self, client: WebClient) -> None:
        me = await client.me()
        self._me, self._my_lid = me.JID.User, jid_of(me.LID)
        if self._my_lid:
            self._numbers[self._my_lid] = self._me
        self._silences = 0
        self._receive.identified(self._me, f"+{self._me}")
        await self._polls.load()
        self._client = client
        self._receive.connected()
        self._asked.clear()
        self._tell_step(LinkStep(linked=True))

    # --- in ---

    async def _take(self, client: WebClient, event: Any) -> None:
        found: Inbound | None = None
        with skip_if_malformed("whatsapp_web: a message"):
            found = await self._read(client, event)
        if found is None or not self._receive.admits(found):
            if found is not None:
                await retry_until_stored(partial(self._receive, found), self._receive, self._clock)
            return
        if found.address.chat_type is ChatType.GROUP and isinstance(found, InboundMessage):
            found = replace(found, group_name=await self._group_name(client, found.address.peer))
        if isinstance(found, InboundMessage):
            self._keep_text(found.message_id, text_of(event.Message))
        # WhatsApp's client has acknowledged it and does not bring it back.
        receipt = await retry_until_stored(partial(self._receive, found), self._receive, self._clock)
        if receipt is not None and receipt.accepted and isinstance(found, InboundMessage) and self._read_receipts:
            self._tasks.spawn(self._mark_read(client, event), name="mark as read")

    async def _read(self, client: WebClient, event: Any) -> Inbound | None:
        self._numbers |= numbers_in(event)
        for lid in lids_of(event) - self._numbers.keys():
            if phone := await client.phone_of(lid):
                self._numbers[lid] = person_of(phone, {})
        source = event.Info.MessageSource
        if source.IsGroup:
            by_lid = source.Sender.Server == "lid"
            (self._by_lid.add if by_lid else self._by_lid.discard)(jid_of(source.Chat))
        known = Reading(self.account, self._me, self._numbers)
        found = inbound_of(event, known, self._sent)
        poll = poll_voted_in(event, known)
        if found is None or poll is None:
            return found
        options = self._polls.get(poll)
        if options is None or not self._receive.admits(found):
            return None  # somebody else's poll
        try:
            votes = await client.votes_of(event)
        except PlatformError as error:
            _log.warning("whatsapp_web: a vote cannot be read: %s", error)
            return None
        return inbound_of(event, replace(known, votes=votes, options=options), self._sent)

    async def _group_name(self, client: WebClient, jid: str) -> str | None:
        if jid not in self._names:
            try:
                self._remember(self._names, jid, (await client.group(jid)).GroupName.Name)
            except PlatformError as error:
                _log.warning("whatsapp_web: the name of a group is not known: %s", error)
        return self._names.get(jid) or None

    async def _take_group(self, client: WebClient, event: Any) -> None:
        self._receive.progress()
        if event.Name.Name:
            self._remember(self._names, jid_of(event.JID), event.Name.Name)
        for jid in (*event.Join, *event.Leave, event.Sender):
            lid = jid_of(jid)
            if jid.Server == "lid" and lid not in self._numbers and (phone := await client.phone_of(lid)):
                self._numbers[lid] = person_of(phone, {})
        for change in memberships_of(event, self.account, self._numbers):
            await retry_until_stored(partial(self._receive, change), self._receive, self._clock)

    async def _mark_read(self, client: WebClient, event: Any) -> None:
        source = event.Info.MessageSource
        if source.IsFromMe:
            return
        with suppress(HubError):
            await client.mark_read(event.Info.ID, jid_of(source.Chat), jid_of(source.Sender))

    async def fetch(self, address: Address, media: Media) -> AsyncIterator[bytes]:
        """Yield an attachment; see `CanFetch`."""
        from neonize.proto.waE2E.WAWebProtobufsE2E_pb2 import Message

        message, size = size_of(media.reference, Message())
        if not 0 < size <= MEDIA_BYTES:  # the client loads it whole, however long it is
            text = f"a file of {size} bytes is too large" if size else "the length of a file is not told"
            raise PlatformError(DeliveryState.PERMANENT, f"WhatsApp: {text}")
        content = await self._connected().download(message)
        for start in range(0, len(content), PIECE_BYTES):
            yield content[start : start + PIECE_BYTES]

    async def look_up(self, query: str, limit: int) -> list[DirectoryEntry]:
        """Return contacts and groups of the number whose name holds a text."""
        client, wanted = self._connected(), query.casefold()
        found = [
            DirectoryEntry(person_of(jid_of(each.JID), self._numbers), name)
            for each in await client.contacts()
            if (name := each.Info.FullName or each.Info.PushName or each.Info.BusinessName)
        ]
        for group in await client.groups():
            found.append(DirectoryEntry(jid_of(group.JID), group.GroupName.Name, ChatType.GROUP))
        return [each for each in found if wanted in each.name.casefold()][:limit]

    # --- out ---

    def _connected(self) -> WebClient:
        if self._client is None:
            raise PlatformError(DeliveryState.TRANSIENT, DISCONNECTED)
        return self._client

    async def send(self, message: OutboundMessage) -> Delivery:
        """Send a message; see `Channel`."""
        return await delivery_of(self._send(message))

    async def _send(self, message: OutboundMessage) -> str:
        quoted = await self._quoted(message)
        if not message.media:
            text = outgoing.text_message(outgoing.marked(message.text), quoted)
            return await self._post(message.address, text, message.text)
        media = message.media[0]  # the outbox makes a message of each, without a text
        content = await asyncio.to_thread(Path(media.path).read_bytes)
        kind = outgoing.kind_for(media)
        with surely_not_sent():  # a file that is uploaded twice is shown to nobody
            uploaded = await self._connected().upload(content, kind)
        return await self._post(message.address, outgoing.media_message(media, kind, uploaded, quoted), "")

    async def _quoted(self, message: OutboundMessage) -> outgoing.Quoted | None:
        try:
            id, author = split_id(message.reply_to or "")
        except PlatformError:
            return None
        jid = await self._participant(message.address, author)
        return outgoing.Quoted(id, jid, self._texts.get(message.reply_to or "", ""))

    async def _participant(self, address: Address, person: str) -> str:
        """Return the JID by which a group or chat knows a person."""
        jid = jid_from(person)
        if address.peer in self._by_lid and jid.endswith("@s.whatsapp.net"):
            return (await self._connected().lid_of(jid)) or jid
        return jid

    async def edit(self, address: Address, platform_id: str, text: str) -> Delivery:
        """Give a message another text."""

        async def edited() -> None:
            key = await self._own_key(address, platform_id)
            await self._connected().send(jid_from(address.peer), outgoing.edit_message(key, outgoing.marked(text)))

        return await delivery_of(edited())

    async def delete(self, address: Address, platform_id: str) -> Delivery:
        """Delete a message for everybody."""

        async def deleted() -> None:
            key = await self._own_key(address, platform_id)
            await self._connected().send(jid_from(address.peer), outgoing.revoke_message(key))

        return await delivery_of(deleted())

    async def _own_key(self, address: Address, platform_id: str) -> Any:
        id, _ = split_id(platform_id)
        return outgoing.key_of(id, jid_from(address.peer), None)

    async def react(self, address: Address, platform_id: str, emoji: str | None) -> Delivery:
        """React to a message; None takes the reaction back."""

        async def reacted() -> None:
            id, author = split_id(platform_id)
            jid = None if author == self._me else await self._participant(address, author)
            key = outgoing.key_of(id, jid_from(address.peer), jid)
            await self._connected().send(jid_from(address.peer), outgoing.reaction_message(key, emoji))

        return await delivery_of(reacted())

    async def poll(self, poll: OutboundPoll) -> Delivery:
        """Open a poll."""

        async def opened() -> str:
            id = await self._post(poll.address, outgoing.poll_message(poll), poll.question)
            await self._polls.put(id, list(poll.options))
            return id

        return await delivery_of(opened())

    async def typing(self, address: Address) -> None:
        """Show that something is being written."""
        with suppress(HubError):
            await self._connected().show_typing(jid_from(address.peer))

    async def _post(self, address: Address, message: Any, text: str) -> str:
        """Return the id of what was sent."""
        id = await self._connected().send(jid_from(address.peer), message)
        self._remember(self._sent, id, None)
        own = message_id(id, self._me)
        self._keep_text(own, text)
        return own

    def _keep_text(self, id: str, text: str) -> None:
        self._remember(self._texts, id, text[:QUOTE_LENGTH])

    def _remember(self, kept: OrderedDict[str, Any], key: str, value: Any) -> None:
        kept[key] = value
        kept.move_to_end(key)
        if len(kept) > KEPT:
            kept.popitem(last=False)
