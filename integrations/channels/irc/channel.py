"""The channel of one IRC account: receiving, sending, and reconnecting."""

from __future__ import annotations

import asyncio
from datetime import datetime
from typing import Any

from hub.core.clock import Clock
from hub.core.errors import HubError, Unavailable
from hub.core.ids import new_id
from hub.messaging.capabilities import DirectoryEntry
from hub.messaging.contract import (
    Address,
    ChannelLimits,
    ChatType,
    Delivery,
    DeliveryState,
    Inbound,
    InboundMessage,
    MembershipChanged,
    OutboundMessage,
    Receiver,
    TextUnit,
)
from hub.messaging.outbox.markup import Flavour, render
from integrations.channels.irc.connection import (
    QUEUE_S,
    USUAL_TIMING,
    IrcAccount,
    IrcConnection,
    IrcTiming,
)
from integrations.channels.irc.protocol import IrcLine, fold, is_target, lines_of, mentions
from integrations.channels.reconnecting import Reconnector

NAME = "irc"
ANSWER_S = 30.0
_ACTION = "\x01ACTION "
_CANNOT_SEND = {"401", "403", "404", "407", "412", "442", "477", "531"}
_NOT_NOW = "439"
"""Too many people were written to in a short time."""


class IrcChannel:
    """One account on one network."""

    name = NAME
    limits = ChannelLimits(text=1_200, unit=TextUnit.BYTES, markup="irc")

    def __init__(self, account: IrcAccount, clock: Clock, timing: IrcTiming = USUAL_TIMING) -> None:
        self.account = account.name
        self._account = account
        self._clock = clock
        self._timing = timing
        self._link: IrcLink | None = None
        self._task: asyncio.Task[None] | None = None

    async def start(self, receive: Receiver) -> None:
        """Begin to connect; see `Channel`."""
        self._link = IrcLink(self._account, receive, self._clock, self._timing)
        self._task = asyncio.create_task(self._link.keep(), name=f"irc {self.account}")

    async def stop(self) -> None:
        """Leave the network."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task})

    async def send(self, message: OutboundMessage) -> Delivery:
        """Send a message line by line, and wait until the server confirms them all."""
        link, connection, target = self._link, self._connection, message.address.peer
        if not is_target(target):
            return Delivery(DeliveryState.PERMANENT, error=f"{target[:100]!r} is neither a nick nor a channel")
        if link is None or connection is None:
            return Delivery(DeliveryState.TRANSIENT, error="the account is not connected", retry_after_s=5.0)
        if (wait := connection.wait_s()) > QUEUE_S:
            return Delivery(DeliveryState.TRANSIENT, error="too much is waiting to be sent", retry_after_s=wait)
        lines = lines_of(render(message.text, Flavour.IRC), target, connection.prefix)
        written = 0
        token = new_id()
        answer = link.answers[token] = asyncio.get_running_loop().create_future()
        link.refused.pop(fold(target), None)
        try:
            for line in lines:
                await connection.write_in_turn(line)
                written += 1
            connection.write(f"PING :{token}")
            async with asyncio.timeout(ANSWER_S):
                await answer
        except (OSError, TimeoutError, HubError) as error:
            state = DeliveryState.UNKNOWN if written else DeliveryState.TRANSIENT
            return Delivery(state, error=f"the connection ended while it was sent: {error}")
        finally:
            del link.answers[token]
        if (refused := link.refused.pop(fold(target), None)) is not None:
            state = DeliveryState.TRANSIENT if refused.startswith(_NOT_NOW) else DeliveryState.PERMANENT
            if target.startswith(("#", "&", "+", "!")) and fold(target) not in map(fold, connection.joined):
                refused = f"the account is not in {target}; let it in, and restart the hub: {refused}"
            return Delivery(state, error=refused)
        return Delivery(DeliveryState.DELIVERED, (message.id,))

    async def typing(self, address: Address) -> None:
        """Say that an answer is being written, where the server passes that on."""
        if self._connection is not None and is_target(address.peer):
            self._connection.write_typing(address.peer)

    async def probe(self) -> dict[str, Any]:
        """Return whether it is connected, under which nick, and where."""
        connection = self._connection
        if connection is None:
            return {"ok": False, "error": "the account is not connected"}
        return {"ok": True, "nick": connection.nick, "channels": sorted(connection.joined)}

    async def look_up(self, query: str, limit: int) -> list[DirectoryEntry]:
        """Return nicks in the joined channels, and those channels, whose name holds a text."""
        if (connection := self._connection) is None:
            raise Unavailable("the account is not connected")
        nicks = {nick for each in connection.joined.values() for nick in each} - {connection.nick}
        entries = [DirectoryEntry(fold(each), each) for each in sorted(nicks)]
        entries += [DirectoryEntry(fold(each), each, ChatType.GROUP) for each in sorted(connection.joined)]
        return [each for each in entries if query.casefold() in each.name.casefold()][:limit]

    @property
    def _connection(self) -> IrcConnection | None:
        return self._link.connection if self._link is not None else None


class IrcLink(Reconnector):
    """Keeps up the connection of an account, and reads it.

    Attributes:
        connection: The connection; None while not registered with the network.
        answers: Futures for the PONGs that confirm sent messages, by their text.
        refused: Why a nick or channel does not get messages.
    """

    def __init__(self, account: IrcAccount, receive: Receiver, clock: Clock, timing: IrcTiming) -> None:
        super().__init__(receive, clock)
        self._account = account
        self._timing = timing
        self.connection: IrcConnection | None = None
        self.answers: dict[str, asyncio.Future[None]] = {}
        self.refused: dict[str, str] = {}

    async def connect(self) -> str | None:
        """Connect, join the channels and read until the connection ends; see `Reconnector`."""
        connection = IrcConnection(self._account, self._clock, self._timing)
        try:
            await connection.connect()
            for each in self._account.channels:
                connection.write(f"JOIN {each}")
            self.connection, self.is_up = connection, True
            self._receive.identified(f"{self._account.nick}@{self._account.host}", connection.nick)
            self._receive.connected()
            async for line in connection.lines():
                self._receive.progress()
                await self._take(line, connection)
        finally:
            self.connection = None
            for answer in self.answers.values():
                if not answer.done():
                    answer.set_exception(Unavailable("it was cut"))
            await connection.close()
        return "the connection ended"

    async def _take(self, line: IrcLine, connection: IrcConnection) -> None:
        if line.command == "PONG" and (answer := self.answers.get(line.parameters[-1])) is not None:
            if not answer.done():
                answer.set_result(None)
        elif line.command in (*_CANNOT_SEND, _NOT_NOW):
            self.refused[fold(line.parameter(1))] = f"{line.command} {line.parameters[-1]}"
        elif (inbound := self._read(line, connection)) is not None:
            await self.retry_until_stored(lambda: self._receive(inbound))

    def _read(self, line: IrcLine, connection: IrcConnection) -> Inbound | None:
        """Return the hub's message for a line; None for notices, CTCP requests and our own lines."""
        if fold(line.nick) == fold(connection.nick) or "!" not in line.source:
            return None
        sender = self._sender(line, connection)
        room = fold(line.parameter(0))
        if line.command in ("JOIN", "PART", "KICK"):
            kicked = line.command == "KICK"
            member = f"irc:guest:{line.parameter(1)}" if kicked else sender
            address = Address(NAME, room, self._account.name, ChatType.GROUP)
            return MembershipChanged(address, new_id(), sender, member=member, joined=line.command == "JOIN")
        text = line.parameters[-1] if len(line.parameters) > 1 else ""
        if text.startswith(_ACTION):
            text = text.removeprefix(_ACTION).rstrip("\x01")
        if line.command != "PRIVMSG" or not text or text.startswith("\x01"):
            return None
        direct = room == fold(connection.nick)
        kind = ChatType.DIRECT if direct else ChatType.GROUP
        address = Address(NAME, fold(line.nick) if direct else room, self._account.name, kind)
        return InboundMessage(
            address,
            line.tags.get("msgid") or new_id(),
            sender,
            text,
            sender_name=line.nick,
            mentioned=mentions(text, connection.nick),
            sent_at=_seconds(line.tags.get("time")),
            group_name=None if direct else line.parameter(0),
        )

    def _sender(self, line: IrcLine, connection: IrcConnection) -> str:
        """Return who wrote: a services account, which is proved, a nick if nicks are trusted, or a guest.

        A guest is another one on each connection, so that no list can ever name one.
        """
        account = line.tags.get("account")
        if account and account != "*":
            return f"irc:account:{fold(account)}"
        if self._account.trust_nicks:
            return f"irc:nick:{fold(line.source)}"
        return f"irc:guest:{line.source}:{connection.id}"


def _seconds(time: str | None) -> float | None:
    try:
        return datetime.fromisoformat(time).timestamp() if time else None
    except ValueError:
        return None
