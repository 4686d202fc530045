"""One channel over a real database, and an inbox that takes everything down."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from hub.core.clock import ManualClock
from hub.core.context import Context
from hub.core.errors import Unavailable
from hub.core.events import EventBus
from hub.core.repairs import Repairs
from hub.core.tasks import TaskOwner
from hub.messaging.channels import ChannelRegistry
from hub.messaging.contract import Channel, ChannelState, Inbound, InboundMessage, Receipt
from hub.messaging.cursors import Cursors
from hub.storage.database import Database
from hub.storage.migrations import HUB_MIGRATIONS

LIMIT_S = 30.0


@dataclass
class Rig:
    """What a channel is added to; it outlives the channels that come and go on it."""

    folder: Path
    clock: ManualClock
    taken: list[Inbound] = field(default_factory=list)
    duplicates: int = 0
    full: bool = False
    refused: bool = False
    strangers: tuple[str, ...] = ()

    async def open(self) -> None:
        self.bus = EventBus(TaskOwner("rig"))
        self.repairs = Repairs(self.bus)
        self.db = Database(self.folder / "hub.db", HUB_MIGRATIONS)
        await self.db.open()
        self.channels = ChannelRegistry(self.bus, self.clock, self.repairs)
        self.channels.connect(
            self._receive, Cursors(self.db), lambda inbound, context: inbound.sender not in self.strangers
        )

    async def close(self) -> None:
        for attached in self.channels.all():
            await self.remove(attached.channel)
        await self.db.close()

    async def add(self, channel: Channel, *, connected: bool = True) -> None:
        """Start a channel and wait until it hears its platform."""
        await self.channels.add(channel)
        if connected:
            await self.until(lambda: self.state(channel) is ChannelState.CONNECTED)

    async def remove(self, channel: Channel) -> None:
        await self.channels.remove(channel.name, channel.account)

    def state(self, channel: Channel) -> ChannelState:
        attached = self.channels.get(channel.name, channel.account)
        assert attached is not None
        return attached.status.state

    def error(self, channel: Channel) -> str:
        attached = self.channels.get(channel.name, channel.account)
        assert attached is not None
        return attached.status.error or ""

    def texts(self) -> list[str]:
        """The messages taken, in order."""
        return [each.text for each in self.taken if isinstance(each, InboundMessage)]

    async def until(self, holds: Callable[[], bool]) -> None:
        """Wait until something holds, while the channel's time flies."""
        async with asyncio.timeout(LIMIT_S):
            while not holds():
                await self.clock.advance(0.5)
                await asyncio.sleep(0.002)

    async def _receive(self, inbound: Inbound, context: Context) -> Receipt:
        if self.full:
            raise Unavailable("the disk is full")
        id = inbound.message_id if isinstance(inbound, InboundMessage) else inbound.event_id
        if any(_key(each) == _key(inbound) for each in self.taken):
            self.duplicates += 1
            return Receipt(id, accepted=True, duplicate=True)
        self.taken.append(inbound)
        return Receipt(id, accepted=not self.refused)


def _key(inbound: Inbound) -> tuple[str, str, type]:
    id = inbound.message_id if isinstance(inbound, InboundMessage) else inbound.event_id
    return inbound.address.peer, id, type(inbound)
