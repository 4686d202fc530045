from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from hub.core.clock import Clock
from hub.core.context import system_context
from hub.core.events import EventBus
from hub.core.repairs import Repairs
from hub.core.tasks import TaskOwner
from hub.messaging.channels import ChannelRegistry
from hub.messaging.contract import (
    Address,
    ChannelLimits,
    Delivery,
    DeliveryState,
    Inbound,
    OutboundMessage,
    Receipt,
    Receiver,
)
from hub.messaging.cursors import Cursors
from hub.messaging.outbox import ATTEMPT_LIMIT, BACKOFF_LIMIT_S, Outbox, backoff_s
from hub.storage.database import Database
from hub.storage.migrations import HUB_MIGRATIONS

DELIVERED = Delivery(DeliveryState.DELIVERED, platform_ids=("1",))


@dataclass
class Platform:
    """A channel whose platform answers as it is told."""

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


class Fast(Clock):
    """A clock on which waits take no time and are written down."""

    def __init__(self) -> None:
        self.waits: list[float] = []

    async def sleep_until(self, when: float) -> None:
        left = when - self.time()
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

    async def states(self) -> dict[str, int]:
        return await self.outbox.counts()

    async def until(self, holds: Callable[[dict[str, int]], bool]) -> dict[str, int]:
        async with asyncio.timeout(10):
            while True:
                states = await self.states()
                if holds(states):
                    return states
                await asyncio.sleep(0.005)


async def receive(inbound: Inbound, context: Any) -> Receipt:
    return Receipt("1", accepted=True)


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    tasks = TaskOwner("test")
    bus = EventBus(tasks)
    db = Database(tmp_path / "hub.db", HUB_MIGRATIONS)
    await db.open()
    clock, repairs = Fast(), Repairs(bus)
    channels = ChannelRegistry(bus, clock, repairs)
    channels.connect(receive, Cursors(db))
    outbox = Outbox(db, channels, bus, clock, tasks, repairs)
    await outbox.open()
    yield Bench(db, bus, channels, outbox, repairs, clock)
    await outbox.close()
    await tasks.cancel_all()
    await db.close()


async def test_a_long_text_is_sent_in_pieces_in_order_and_marked_delivered(bench: Bench) -> None:
    platform = Platform()
    await bench.channels.add(platform)

    await bench.outbox.send(Address("test", "1"), "one two three " * 30, system_context())
    states = await bench.until(lambda states: set(states) == {"delivered"})

    assert states["delivered"] > 3
    assert " ".join(message.text for message in platform.sent).split() == ["one", "two", "three"] * 30


async def test_what_is_written_while_a_channel_is_away_is_sent_when_it_comes(bench: Bench) -> None:
    platform = Platform()
    await bench.outbox.send(Address("test", "1"), "hello", system_context())
    assert await bench.states() == {"pending": 1}

    await bench.channels.add(platform)
    await bench.until(lambda states: states.get("delivered") == 1)

    assert [message.text for message in platform.sent] == ["hello"]


async def test_a_transient_failure_is_tried_again_not_before_the_platform_asked(bench: Bench) -> None:
    platform = Platform(answers=[Delivery(DeliveryState.TRANSIENT, error="slow down", retry_after_s=30.0)])
    await bench.channels.add(platform)

    await bench.outbox.send(Address("test", "1"), "hello", system_context())
    await bench.until(lambda states: states.get("delivered") == 1)

    assert len(platform.sent) == 2
    assert platform.sent[0].id == platform.sent[1].id
    assert any(wait >= 29 for wait in bench.clock.waits)


async def test_a_permanent_refusal_is_kept_told_and_not_tried_again(bench: Bench) -> None:
    platform = Platform(answers=[Delivery(DeliveryState.PERMANENT, error="bot was blocked")])
    await bench.channels.add(platform)

    await bench.outbox.send(Address("test", "1"), "hello", system_context())
    await bench.until(lambda states: states.get("dead") == 1 and bench.repairs.all() != [])

    assert len(platform.sent) == 1
    assert "bot was blocked" in bench.repairs.all()[0].text


async def test_a_platform_that_never_takes_it_ends_in_a_dead_letter(bench: Bench) -> None:
    platform = Platform(answers=[Delivery(DeliveryState.TRANSIENT, error="down")] * (ATTEMPT_LIMIT + 5))
    await bench.channels.add(platform)

    await bench.outbox.send(Address("test", "1"), "hello", system_context())
    await bench.until(lambda states: states.get("dead") == 1)

    assert len(platform.sent) == ATTEMPT_LIMIT


async def test_an_unknown_delivery_is_never_sent_again_by_itself_and_the_owner_is_told(bench: Bench) -> None:
    platform = Platform(answers=[Delivery(DeliveryState.UNKNOWN, error="connection lost")])
    await bench.channels.add(platform)

    await bench.outbox.send(Address("test", "1"), "hello", system_context())
    await bench.until(lambda states: states.get("unknown") == 1 and bench.repairs.all() != [])

    assert len(platform.sent) == 1
    assert [repair.id for repair in bench.repairs.all()] == ["unknown"]


async def test_a_channel_that_shows_the_same_id_once_gets_an_unknown_delivery_again(bench: Bench) -> None:
    platform = Platform(limits=ChannelLimits(text=100, idempotent=True), answers=[Delivery(DeliveryState.UNKNOWN)])
    await bench.channels.add(platform)

    await bench.outbox.send(Address("test", "1"), "hello", system_context())
    await bench.until(lambda states: states.get("delivered") == 1)

    assert len({message.id for message in platform.sent}) == 1


async def test_one_blocked_chat_blocks_no_other(bench: Bench) -> None:
    gate = asyncio.Event()
    platform = Platform(blocked={"slow": gate})
    await bench.channels.add(platform)

    await bench.outbox.send(Address("test", "slow"), "first", system_context())
    await bench.outbox.send(Address("test", "quick"), "second", system_context())
    await bench.until(lambda states: states.get("delivered") == 1)
    assert [message.text for message in platform.sent] == ["second"]

    gate.set()
    await bench.until(lambda states: states.get("delivered") == 2)


async def test_order_is_kept_within_a_chat_while_one_is_tried_again(bench: Bench) -> None:
    platform = Platform(answers=[Delivery(DeliveryState.TRANSIENT)])
    await bench.channels.add(platform)

    for text in ("first", "second", "third"):
        await bench.outbox.send(Address("test", "1"), text, system_context())
    await bench.until(lambda states: states.get("delivered") == 3)

    assert [message.text for message in platform.sent] == ["first", "first", "second", "third"]


async def test_what_was_being_sent_in_a_crash_is_unknown_at_the_next_start(bench: Bench) -> None:
    await bench.outbox.send(Address("test", "1"), "hello", system_context())
    await bench.db.write(lambda connection: connection.execute("UPDATE outbox SET state = 'sending'"))

    second = Outbox(bench.db, bench.channels, bench.bus, bench.clock, TaskOwner("second"), bench.repairs)
    await second.open()

    assert await bench.states() == {"unknown": 1}
    assert [repair.id for repair in bench.repairs.all()] == ["unknown"]
    await second.close()


async def test_a_channel_that_raises_loses_no_message(bench: Bench) -> None:
    class Broken(Platform):
        async def send(self, message: OutboundMessage) -> Delivery:
            raise RuntimeError("broken")

    await bench.channels.add(Broken())

    await bench.outbox.send(Address("test", "1"), "hello", system_context())

    assert await bench.until(lambda states: states.get("unknown") == 1) == {"unknown": 1}


@given(attempts=st.integers(1, 100), asked=st.none() | st.floats(0, 10_000), jitter=st.floats(0, 1))
def test_waits_grow_are_bounded_and_never_shorter_than_asked(attempts: int, asked: float | None, jitter: float) -> None:
    wait = backoff_s(attempts, asked, jitter)

    assert wait >= (asked or 0)
    assert wait <= max(BACKOFF_LIMIT_S * 1.3, asked or 0)
    assert backoff_s(attempts + 1, asked, jitter) >= wait
