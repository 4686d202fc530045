"""The channel of one XMPP account."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar
from urllib.parse import urlsplit
from xml.etree.ElementTree import Element, SubElement

from hub.core.clock import Clock
from hub.core.errors import HubError, Unavailable
from hub.core.ids import new_id
from hub.core.tasks import TaskOwner
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
    ReactionChanged,
    Receiver,
    TextUnit,
)
from hub.messaging.outbox.markup import Flavour, render
from integrations.channels.acknowledging import skip_if_malformed
from integrations.channels.http_api import HttpApi, PlatformError, delivery_of
from integrations.channels.persistent_map import PersistentMap
from integrations.channels.reconnecting import Reconnector
from integrations.channels.xmpp.connection import USUAL_TIMING, XmppAccount, XmppConnection, XmppTiming
from integrations.channels.xmpp.events import (
    CLIENT,
    NAME,
    OOB,
    REACTIONS,
    RECEIPTS,
    REPLACE,
    REPLY,
    RETRACT,
    SID,
    Me,
    read,
    receipt_for,
    received,
    stanza_id,
)
from integrations.channels.xmpp.schema import LOOPBACK

TEXT_BYTES = 20_000
KEPT = 500
"""Messages in rooms of which both ids are remembered, and reactions."""
MARGIN_S = 60.0
"""How far clocks may differ."""
SINCE = "since:"
STATES = "{http://jabber.org/protocol/chatstates}"
HINTS = "{urn:xmpp:hints}"

V = TypeVar("V")


class XmppChannel:
    """One account on its server."""

    name = NAME
    limits = ChannelLimits(
        text=TEXT_BYTES,
        unit=TextUnit.BYTES,
        media=frozenset(MediaKind),
        media_bytes=50_000_000,
        markup=Flavour.WHATSAPP,
    )

    def __init__(self, account: XmppAccount, clock: Clock, timing: XmppTiming = USUAL_TIMING) -> None:
        self.account = account.name
        self._account = account
        self._clock = clock
        self._timing = timing
        self._tasks = TaskOwner(f"xmpp {account.name}")
        self._link: XmppLink | None = None

    async def start(self, receive: Receiver) -> None:
        """Begin to connect; see `Channel`."""
        self._link = XmppLink(self._account, receive, self._clock, self._timing)
        self._tasks.spawn(self._link.keep(), name="connection")

    async def stop(self) -> None:
        """Log out."""
        await self._tasks.cancel_all()

    async def probe(self) -> dict[str, Any]:
        """Return whether the server answers, and which rooms it is not in."""
        try:
            connection = self._connection
            await connection.ping()
        except HubError as error:
            return {"ok": False, "error": error.message}
        away = [f"{room} was not joined: {why}" for room, why in connection.away.items()]
        found = {"ok": True, "account_id": self._account.jid, "name": self._account.jid}
        return {**found, "missing": away} if away else found

    async def send(self, message: OutboundMessage) -> Delivery:
        """Send a message, and wait until the server has it."""
        return await delivery_of(self._send(message))

    async def _send(self, message: OutboundMessage) -> str:
        stanza = _stanza(message.address, message.id)
        if message.media:
            media = message.media[0]
            name = media.name or media.path.rpartition("/")[2]
            url = await self._connection.upload(media.path, name, media.mime_type)
            _set_body(stanza, url)
            SubElement(SubElement(stanza, f"{OOB}x"), f"{OOB}url").text = url
        else:
            _set_body(stanza, render(message.text, Flavour.WHATSAPP))
        if message.reply_to:
            SubElement(stanza, REPLY, {"id": message.reply_to, "to": message.address.peer})
        SubElement(stanza, f"{STATES}active")
        if message.address.chat_type is ChatType.DIRECT:
            SubElement(stanza, f"{RECEIPTS}request")
        id, archived = await self._deliver(stanza)
        if archived is not None:
            await self._known.own.put(archived, id)
        return archived or id

    async def edit(self, address: Address, platform_id: str, text: str) -> Delivery:
        """Correct a message (XEP-0308)."""
        stanza = _stanza(address)
        _set_body(stanza, render(text, Flavour.WHATSAPP))
        id = self._link.own.get(platform_id) if self._link is not None else None
        SubElement(stanza, REPLACE, {"id": id or platform_id})
        return await delivery_of(self._deliver(stanza))

    async def delete(self, address: Address, platform_id: str) -> Delivery:
        """Retract a message (XEP-0424)."""
        stanza = _stanza(address)
        SubElement(stanza, RETRACT, {"id": platform_id})
        SubElement(stanza, "{urn:xmpp:fallback:0}fallback", {"for": "urn:xmpp:message-retract:1"})
        _set_body(stanza, "/me took a message back.")
        return await delivery_of(self._deliver(stanza))

    async def react(self, address: Address, platform_id: str, emoji: str | None) -> Delivery:
        """React to a message (XEP-0444); None removes the reaction."""
        stanza = _stanza(address)
        reactions = SubElement(stanza, f"{REACTIONS}reactions", {"id": platform_id})
        if emoji is not None:
            SubElement(reactions, f"{REACTIONS}reaction").text = emoji
        SubElement(stanza, f"{HINTS}store")
        return await delivery_of(self._deliver(stanza))

    async def typing(self, address: Address) -> None:
        """Show that an answer is being written (XEP-0085)."""
        stanza = _stanza(address)
        SubElement(stanza, f"{STATES}composing")
        SubElement(stanza, f"{HINTS}no-store")
        self._connection.tell(stanza)

    async def find(self, message: OutboundMessage, since: float) -> Delivery | None:
        """Look a message up among the receipts, and in the archive of the account or room, by its id."""
        if self._known.was_received(message.address.peer, message.id):
            return Delivery(DeliveryState.DELIVERED, (message.id,))
        room = message.address.peer if message.address.chat_type is not ChatType.DIRECT else None
        connection = self._connection
        async for id, found in connection.archive(room, since=since - MARGIN_S):
            if found.get("id") == message.id:
                return Delivery(DeliveryState.DELIVERED, (id if room else message.id,))
        if not connection.has_archive(room):
            raise Unavailable("the server keeps no archive")
        return None

    async def look_up(self, query: str, limit: int) -> Sequence[DirectoryEntry]:
        """Return the people of the roster and the rooms whose names hold a text."""
        connection, wanted = self._connection, query.casefold()
        people = [DirectoryEntry(jid, name) for jid, name in (await connection.people()).items()]
        rooms = [DirectoryEntry(each, each.partition("@")[0], ChatType.GROUP) for each in connection.nicks]
        return [each for each in [*people, *rooms] if wanted in each.name.casefold()][:limit]

    async def fetch(self, address: Address, media: Media) -> AsyncIterator[bytes]:
        """Yield a file, from the servers of the sender's domain and of the own one alone."""
        url = urlsplit(media.reference)
        domains = [each.partition("@")[2] for each in (address.peer, self._account.jid)]
        if address.chat_type is not ChatType.DIRECT and domains[0].count(".") > 1:
            domains[0] = domains[0].partition(".")[2]  # rooms have a name below the server's
        local = self._account.plaintext and url.hostname in LOOPBACK
        http = HttpApi("XMPP", f"{url.scheme}://{url.netloc}" if local else f"https://{domains[1]}")
        try:
            cdn = tuple(name for each in domains for name in (each, f".{each}"))
            async for piece in http.download(media.reference, (), cdn=cdn):
                yield piece
        finally:
            await http.close()

    async def _deliver(self, stanza: Element) -> tuple[str, str | None]:
        """Send a stanza; return its id, and the one that its room gave it."""
        echo = await self._connection.deliver(stanza)
        return stanza.get("id", ""), None if echo is None else stanza_id(echo, stanza.get("to", ""))

    @property
    def _known(self) -> XmppLink:
        if self._link is None:
            raise PlatformError(DeliveryState.TRANSIENT, "the account is not connected", retry_after_s=5.0)
        return self._link

    @property
    def _connection(self) -> XmppConnection:
        if (connection := self._known.connection) is None:
            raise PlatformError(DeliveryState.TRANSIENT, "the account is not connected", retry_after_s=5.0)
        return connection


class XmppLink(Reconnector):
    """Keeps up the connection of an account, and reads it.

    Attributes:
        connection: The connection; None while it is not logged in.
        own: The ids under which own messages in rooms were sent, by those that the rooms gave them.
    """

    def __init__(self, account: XmppAccount, receive: Receiver, clock: Clock, timing: XmppTiming) -> None:
        super().__init__(receive, clock)
        self._account = account
        self._timing = timing
        self.connection: XmppConnection | None = None
        self.own = PersistentMap(receive, "own messages", KEPT, str)
        self._archived: OrderedDict[tuple[str, str], str] = OrderedDict()
        self._reacted: OrderedDict[tuple[str, str], frozenset[str]] = OrderedDict()
        self._received: OrderedDict[tuple[str, str], bool] = OrderedDict()

    def was_received(self, peer: str, id: str) -> bool:
        """Whether a person's receipt for a message has come."""
        return (peer, id) in self._received

    async def connect(self) -> str | None:
        """Connect, read what was missed, and then what comes; see `Reconnector`."""
        connection = XmppConnection(self._account, self._timing, self._receive.progress)
        watch: asyncio.Task[None] | None = None
        try:
            await connection.open()
            self._receive.identified(self._account.jid, self._account.jid)
            await self.own.load()
            self.connection, self.is_up = connection, True
            self._receive.connected()
            watch = asyncio.create_task(self._watch(connection))
            for archive in (None, *connection.nicks):
                await self._catch_up(connection, archive)
            while (stanza := await connection.next()) is not None:
                await self._take(connection, stanza)
        finally:
            self.connection = None
            if watch is not None:
                watch.cancel()
            await connection.close()
        return connection.ended

    async def _watch(self, connection: XmppConnection) -> None:
        """Ask the server whether it is there, look for another line when it is not, and for rooms that it is not in."""
        while not connection.ended:
            await asyncio.sleep(self._timing.silence_s)
            try:
                await connection.ping()
            except HubError:
                connection.cut()
                continue
            with suppress(HubError):
                for room in await connection.enter():
                    await self._catch_up(connection, room)

    async def _catch_up(self, connection: XmppConnection, archive: str | None) -> None:
        """Read what came while nobody listened; of an archive that is new, what came since the first login."""
        name = _cursor(archive)
        kept = await self._receive.cursor(name)
        if kept is None:
            kept = f"{SINCE}{self._clock.time() - MARGIN_S:.0f}"
            await self._receive.keep_cursor(kept, name)
        since = float(kept.removeprefix(SINCE)) if kept.startswith(SINCE) else None
        async for id, stanza in connection.archive(archive, after=kept if since is None else None, since=since):
            if archive is not None:
                SubElement(stanza, f"{SID}stanza-id", {"id": id, "by": archive})
            await self._read(connection, stanza)
            await self._receive.keep_cursor(id, name)

    async def _take(self, connection: XmppConnection, stanza: Element) -> None:
        """Read a stanza, and keep how far its archive was read."""
        room = stanza.get("from", "").partition("/")[0].lower() if stanza.get("type") == "groupchat" else None
        await self._read(connection, stanza)
        if (archived := stanza_id(stanza, room or self._account.jid)) is None:
            return
        if room is not None:
            _remember(self._archived, (room, stanza.get("id", "")), archived)
        await self.retry_until_stored(partial(self._receive.keep_cursor, archived, _cursor(room)))

    async def _read(self, connection: XmppConnection, stanza: Element) -> None:
        me = Me(
            self._account.name,
            self._account.jid,
            connection.nicks,
            connection.occupants,
            lambda room, own: self._archived.get((room, own), own),
            lambda sender, target: self._reacted.get((sender, target), frozenset()),
        )
        found: list[Inbound] = []
        with skip_if_malformed("xmpp: a stanza"):
            found = read(stanza, me)
        for inbound in found:
            await self.retry_until_stored(partial(self._receive, inbound))
            if isinstance(inbound, ReactionChanged):
                key = (inbound.sender, inbound.message_id)
                before = self._reacted.get(key, frozenset())
                _remember(self._reacted, key, before ^ {inbound.emoji})
        if (told := received(stanza)) is not None:
            _remember(self._received, told, value=True)
        # A receipt tells that the account is online: nobody's business who may not write to it.
        if found and (receipt := receipt_for(stanza)) is not None and self._receive.admits(found[0]):
            connection.tell(receipt)


def _remember(kept: OrderedDict[tuple[str, str], V], key: tuple[str, str], value: V) -> None:
    kept.pop(key, None)
    kept[key] = value
    if len(kept) > KEPT:
        kept.popitem(last=False)


def _cursor(room: str | None) -> str:
    return f"archive {room}" if room else "archive"


def _stanza(address: Address, id: str | None = None) -> Element:
    id = id or new_id()
    kind = "chat" if address.chat_type is ChatType.DIRECT else "groupchat"
    stanza = Element(f"{CLIENT}message", {"to": address.peer, "type": kind, "id": id})
    SubElement(stanza, f"{SID}origin-id", {"id": id})
    return stanza


def _set_body(stanza: Element, text: str) -> None:
    """Set what is said, without characters that XML does not have."""
    kept = (each for each in text if each in "\n\t" or (each >= " " and each not in "\ufffe\uffff"))
    SubElement(stanza, f"{CLIENT}body").text = "".join(kept)
