"""An outbox over a real database, with a platform of scripted answers."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hub.core.clock import Clock
from hub.core.events import EventBus
from hub.core.repairs import Repairs
from hub.core.tasks import TaskOwner
from hub.hooks.registry import Hook, Hooks
from hub.messaging.channels import ChannelRegistry
from hub.messaging.contract import (
    ChannelLimits,
    Delivery,
    DeliveryState,
    Inbound,
    OutboundMessage,
    Receipt,
    Receiver,
)
from hub.messaging.cursors import Cursors
from hub.messaging.outbox.outbox import Outbox
from hub.storage.database import Database
from tests.databases import make_database

DELIVERED = Delivery(DeliveryState.DELIVERED, platform_ids=("1",))


@dataclass
class Platform:
    """A channel whose platform has scripted answers."""

    name: str = "test"
    account: str = "default"
    limits: ChannelLimits = field(default_factory=lambda: ChannelLimits(text=100))
    answers: list[Delivery] = field(default_factory=list)
    sent: list[OutboundMessage] = field(default_factory=list)
    blocked: dict[str, asyncio.Event] = field(default_factory=dict)

    async def start(self, receive: Receiver) -> None:
        pass

    async def stop(self) -> None:
        pass

    async def send(self, message: OutboundMessage) -> Delivery:
        if message.address.peer in self.blocked:
            await self.blocked[message.address.peer].wait()
        self.sent.append(message)
        return self.answers.pop(0) if self.answers else DELIVERED

    async def probe(self) -> dict[str, Any]:
        return {}


@dataclass
class Connected(Platform):
    """One that says that it is connected, under an id that is not its account's name."""

    receive: Receiver | None = None

    async def start(self, receive: Receiver) -> None:
        self.receive = receive
        receive.identified("4242")
        receive.connected()


class Fast(Clock):
    """A clock on which waits take no time and are written down."""

    def __init__(self) -> None:
        self.waits: list[float] = []
        self.stopped_from = math.inf
        self.ahead_s = 0.0

    def time(self) -> float:
        return super().time() + self.ahead_s

    async def sleep_until(self, when: float) -> None:
        left = when - self.time()
        if left > self.stopped_from:
            await asyncio.Event().wait()
        if left > 0.5:
            self.waits.append(left)


@dataclass
class Bench:
    """An outbox over a real database."""

    db: Database
    bus: EventBus
    channels: ChannelRegistry
    outbox: Outbox
    repairs: Repairs
    clock: Fast
    tasks: TaskOwner
    hooks: Hooks

    def on_sending(self, handler: Callable[[Any], Any]) -> Callable[[], None]:
        return self.hooks.add(Hook("message_sending", handler, "integration test"))

    async def states(self) -> dict[str, int]:
        return await self.outbox.counts()

    async def until(self, holds: Callable[[dict[str, int]], bool]) -> dict[str, int]:
        async with asyncio.timeout(30):
            while True:
                states = await self.states()
                if holds(states):
                    return states
                await asyncio.sleep(0.005)


async def receive(inbound: Inbound, context: Any) -> Receipt:
    return Receipt("1", accepted=True)


@asynccontextmanager
async def outbox_bench(folder: Path) -> AsyncIterator[Bench]:
    """An open outbox without channels."""
    tasks = TaskOwner("test")
    bus = EventBus(tasks)
    db = make_database(folder / "hub.db")
    await db.open()
    clock, repairs = Fast(), Repairs(bus)
    channels = ChannelRegistry(bus, clock, repairs)
    channels.connect(receive, Cursors(db), lambda inbound, context: True)
    hooks = Hooks(TaskOwner("hooks"))
    outbox = Outbox(db, channels, bus, clock, tasks, repairs=repairs, hooks=hooks)
    made = Bench(db, bus, channels, outbox, repairs, clock, tasks, hooks)
    await outbox.open()
    yield made
    await outbox.close()
    await tasks.cancel_all()
    await db.close()
