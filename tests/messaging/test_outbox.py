from __future__ import annotations

import asyncio
import threading
from dataclasses import dataclass, field

import pytest
from hypothesis import given, strategies as st

from hub.cluster.lease import WorkerLease
from hub.core.clock import ManualClock
from hub.core.context import system_context
from hub.core.errors import Conflict, HubError, NotFound, Unavailable
from hub.core.sql import SqlConnection
from hub.core.tasks import TaskOwner
from hub.messaging.contract import (
    Address,
    ChannelLimits,
    Delivery,
    DeliveryState,
    OutboundMessage,
    Receiver,
)
from hub.messaging.outbox import outbox_rows
from hub.messaging.outbox.outbound_policy import ATTEMPTS, DeliveryRetry
from hub.messaging.outbox.outbox import Outbox
from hub.messaging.outbox.outbox_repairs import STUCK_S
from hub.messaging.outbox.sending import EVENT_MESSAGE_DEAD
from hub.storage.readers import THREADS
from tests.messaging.outbox_bench import DELIVERED, Bench, Connected, Platform
from tests.until import LIMIT_S, until


async def test_a_long_text_is_sent_in_pieces_in_order_and_marked_sent(bench: Bench) -> None:
    platform = Platform()
    await bench.channels.add(platform)

    await bench.outbox.send(Address("test", "1"), "one two three " * 30, system_context())
    states = await bench.until(lambda states: set(states) == {"sent"})

    assert states["sent"] > 3
    assert " ".join(message.text for message in platform.sent).split() == ["one", "two", "three"] * 30


async def test_what_is_written_while_a_channel_is_away_is_sent_when_it_comes(bench: Bench) -> None:
    platform = Platform()
    await bench.outbox.send(Address("test", "1"), "hello", system_context())
    assert await bench.states() == {"queued": 1}

    await bench.channels.add(platform)
    await bench.until(lambda states: states.get("sent") == 1)

    assert [message.text for message in platform.sent] == ["hello"]


async def test_what_was_written_as_begun_is_sent_when_its_channel_comes_back(bench: Bench) -> None:
    platform, address = Platform(), Address("test", "1")
    await bench.channels.add(platform)
    await bench.tasks.drain(timeout_s=LIMIT_S)
    await bench.db.write(lambda connection: bench.outbox.insert(connection, address, "hello", caused_by=None))
    begun = await bench.states()
    await bench.channels.remove("test")
    bench.outbox.notify(address)

    await bench.channels.add(platform)
    await bench.until(lambda states: states == {"sent": 1})

    assert begun == {"sending": 1}
    assert [message.text for message in platform.sent] == ["hello"]


async def test_what_was_written_as_begun_and_not_sent_before_a_stop_is_queued(bench: Bench) -> None:
    await bench.channels.add(Platform())
    await bench.tasks.drain(timeout_s=LIMIT_S)
    await bench.db.write(lambda connection: bench.outbox.insert(connection, Address("test", "1"), "hi", caused_by=None))

    await bench.outbox.close()

    assert await bench.states() == {"queued": 1}


async def test_what_is_on_its_way_at_a_stop_arrives_and_what_waits_behind_it_stays(bench: Bench) -> None:
    platform, address, let_go = Platform(), Address("test", "1"), asyncio.Event()
    platform.blocked["1"] = let_go
    await bench.channels.add(platform)
    for text in ("first", "second"):
        await bench.outbox.send(address, text, system_context())
    await bench.until(lambda states: states == {"sending": 1, "queued": 1})

    closing = asyncio.create_task(bench.outbox.close(LIMIT_S))
    await asyncio.sleep(0)  # it waits from here on
    let_go.set()
    await closing

    assert await bench.states() == {"sent": 1, "queued": 1}
    assert [message.text for message in platform.sent] == ["first"]


async def test_what_was_written_in_a_transaction_that_is_undone_is_not_sent(bench: Bench) -> None:
    platform, address = Platform(), Address("test", "1")
    await bench.channels.add(platform)

    def write(connection: SqlConnection) -> None:
        bench.outbox.insert(connection, address, "undone", caused_by=None)
        raise NotFound("it was not meant")

    with pytest.raises(NotFound):
        await bench.db.write(write)
    await bench.outbox.send(address, "hello", system_context())
    await bench.until(lambda states: states == {"sent": 1})

    assert [message.text for message in platform.sent] == ["hello"]


async def test_a_transient_failure_is_tried_again_not_before_the_platform_asked(bench: Bench) -> None:
    platform = Platform(answers=[Delivery(DeliveryState.TRANSIENT, error="slow down", retry_after_s=30.0)])
    await bench.channels.add(platform)

    await bench.outbox.send(Address("test", "1"), "hello", system_context())
    await bench.until(lambda states: states.get("sent") == 1)

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
    platform = Platform(answers=[Delivery(DeliveryState.TRANSIENT, error="down")] * (ATTEMPTS + 5))
    await bench.channels.add(platform)

    await bench.outbox.send(Address("test", "1"), "hello", system_context())
    await bench.until(lambda states: states.get("dead") == 1)

    assert len(platform.sent) == ATTEMPTS


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
    await bench.until(lambda states: states.get("sent") == 1)

    assert len({message.id for message in platform.sent}) == 1


async def test_one_blocked_chat_blocks_no_other(bench: Bench) -> None:
    gate = asyncio.Event()
    platform = Platform(blocked={"slow": gate})
    await bench.channels.add(platform)

    await bench.outbox.send(Address("test", "slow"), "first", system_context())
    await bench.outbox.send(Address("test", "quick"), "second", system_context())
    await bench.until(lambda states: states.get("sent") == 1)
    assert [message.text for message in platform.sent] == ["second"]

    gate.set()
    await bench.until(lambda states: states.get("sent") == 2)


async def test_order_is_kept_within_a_chat_while_one_is_tried_again(bench: Bench) -> None:
    platform = Platform(answers=[Delivery(DeliveryState.TRANSIENT)])
    await bench.channels.add(platform)

    for text in ("first", "second", "third"):
        await bench.outbox.send(Address("test", "1"), text, system_context())
    await bench.until(lambda states: states.get("sent") == 3)

    assert [message.text for message in platform.sent] == ["first", "first", "second", "third"]


async def test_what_was_being_sent_in_a_crash_is_unknown_at_the_next_start(bench: Bench) -> None:
    await bench.outbox.send(Address("test", "1"), "hello", system_context())
    await bench.db.write(lambda connection: connection.execute("UPDATE outbox SET state = 'sending'"))

    second = Outbox(bench.db, bench.channels, bench.bus, bench.clock, TaskOwner("second"), repairs=bench.repairs)
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


@dataclass
class Archive(Platform):
    """A platform that has no keys, but a history."""

    history: list[Delivery | HubError | None] = field(default_factory=list)
    looked_up: list[OutboundMessage] = field(default_factory=list)

    async def find(self, message: OutboundMessage, since: float) -> Delivery | None:
        self.looked_up.append(message)
        found = self.history.pop(0) if self.history else None
        if isinstance(found, HubError):
            raise found
        return found


async def test_an_unknown_delivery_is_looked_up_where_there_is_a_history(bench: Bench) -> None:
    archive = Archive(answers=[Delivery(DeliveryState.UNKNOWN)], history=[Unavailable("busy"), DELIVERED])
    await bench.channels.add(archive)

    ids = await bench.outbox.send(Address("test", "1"), "hello", system_context())
    await bench.until(lambda states: states.get("sent") == 1)

    assert (len(archive.sent), len(archive.looked_up)) == (1, 2)
    assert (await bench.outbox.get(ids[0])).platform_ids == ("1",)


async def test_what_the_history_does_not_have_is_sent_again(bench: Bench) -> None:
    archive = Archive(answers=[Delivery(DeliveryState.UNKNOWN)])
    await bench.channels.add(archive)

    await bench.outbox.send(Address("test", "1"), "hello", system_context())
    await bench.until(lambda states: states.get("sent") == 1)

    assert (len(archive.sent), len(archive.looked_up)) == (2, 1)


async def test_a_history_that_cannot_be_read_leaves_the_message_unknown(bench: Bench) -> None:
    archive = Archive(answers=[Delivery(DeliveryState.UNKNOWN)], history=[Unavailable("down")] * (ATTEMPTS + 1))
    await bench.channels.add(archive)

    await bench.outbox.send(Address("test", "1"), "hello", system_context())
    await bench.until(lambda states: states.get("unknown") == 1)

    assert len(archive.sent) == 1


async def _interrupted(bench: Bench, *texts: str) -> None:
    """Leave the first message as a crash leaves one that was being sent."""
    first, *_ = [await bench.outbox.send(Address("test", "1"), text, system_context()) for text in texts]
    await bench.db.write(
        lambda connection: connection.execute("UPDATE outbox SET state = 'sending' WHERE id = ?", (first[0],))
    )
    await bench.outbox.close()


async def test_after_a_crash_a_history_is_looked_into_before_anything_else_is_sent(bench: Bench) -> None:
    await _interrupted(bench, "first", "second")
    archive = Archive()

    await bench.outbox.open()
    await bench.channels.add(archive)
    await bench.until(lambda states: states.get("sent") == 2)

    assert [message.text for message in archive.looked_up] == ["first"]
    assert [message.text for message in archive.sent] == ["first", "second"]


async def test_after_a_crash_a_platform_without_keys_and_history_gets_only_what_follows(bench: Bench) -> None:
    await _interrupted(bench, "first", "second")
    platform = Platform()

    await bench.outbox.open()
    await bench.channels.add(platform)
    states = await bench.until(lambda states: states.get("sent") == 1)

    assert states == {"sent": 1, "unknown": 1}
    assert [message.text for message in platform.sent] == ["second"]


async def test_while_a_channel_is_cut_off_no_number_of_attempts_ends_a_message(bench: Bench) -> None:
    class CutOff(Platform):
        async def start(self, receive: Receiver) -> None:
            receive.disconnected("no network")

    down = Delivery(DeliveryState.TRANSIENT, error="no network")
    platform = CutOff(answers=[down] * (ATTEMPTS * 3))
    await bench.channels.add(platform)

    await bench.outbox.send(Address("test", "1"), "hello", system_context())
    await bench.until(lambda states: states.get("sent") == 1)

    assert len(platform.sent) == ATTEMPTS * 3 + 1
    assert max(bench.clock.waits) <= 61


async def test_what_waited_for_three_days_is_not_sent_any_more(bench: Bench) -> None:
    await bench.outbox.send(Address("test", "1"), "old", system_context())
    await bench.db.write(lambda connection: connection.execute("UPDATE outbox SET created_ms = 1"))
    platform = Platform()

    await bench.channels.add(platform)
    await bench.until(lambda states: states.get("dead") == 1 and bench.repairs.all() != [])

    assert platform.sent == []
    assert "72 hours" in bench.repairs.all()[0].text


async def test_a_dead_message_is_tried_again_by_hand_and_the_repair_goes(bench: Bench) -> None:
    platform = Platform(answers=[Delivery(DeliveryState.PERMANENT, error="blocked")])
    await bench.channels.add(platform)
    [id] = await bench.outbox.send(Address("test", "1"), "hello", system_context())
    [row] = await bench.outbox.outcome([id], timeout_s=LIMIT_S)
    assert (row.state, row.error) == ("dead", "blocked")

    await bench.outbox.retry(id)
    [row] = await bench.outbox.outcome([id], timeout_s=LIMIT_S)

    assert row.state == "sent"
    assert bench.repairs.all() == []
    with pytest.raises(Conflict, match="sent"):
        await bench.outbox.retry(id)


async def test_a_message_that_is_queued_again_while_its_worker_ends_is_sent(bench: Bench) -> None:
    read_again, dead = threading.Event(), asyncio.Event()

    class HoldsReaders(Platform):
        async def send(self, message: OutboundMessage) -> Delivery:
            if not held:
                held.extend(asyncio.ensure_future(bench.db.read(lambda _: read_again.wait())) for _ in range(THREADS))
                await asyncio.sleep(0)
            return await super().send(message)

    held: list[asyncio.Future[bool]] = []
    bench.bus.listen(EVENT_MESSAGE_DEAD, lambda _: dead.set())
    address = Address("test", "1")
    await bench.channels.add(HoldsReaders(answers=[Delivery(DeliveryState.PERMANENT, error="blocked")]))
    [id] = await bench.outbox.send(address, "hello", system_context())
    await dead.wait()

    now_ms = int(bench.clock.time() * 1000)
    await bench.db.write(lambda connection: outbox_rows.retry(connection, id, now_ms))
    bench.outbox.notify(address)
    read_again.set()

    assert await bench.until(lambda states: "sent" in states) == {"sent": 1}
    await asyncio.gather(*held)


async def test_what_is_announced_before_a_begun_message_was_looked_at_is_sent_after_it(bench: Bench) -> None:
    platform, address = Platform(), Address("test", "1")
    await bench.channels.add(platform)
    await bench.tasks.drain(timeout_s=LIMIT_S)
    first = await bench.db.write(lambda connection: bench.outbox.insert(connection, address, "one", caused_by=None))
    second = await bench.db.write(lambda connection: bench.outbox.insert(connection, address, "two", caused_by=None))

    bench.outbox.notify(address, first)
    bench.outbox.notify(address, second)

    await bench.until(lambda states: states == {"sent": 2})
    assert [message.text for message in platform.sent] == ["one", "two"]


async def test_a_dropped_message_is_not_sent_and_gone(bench: Bench) -> None:
    [id] = await bench.outbox.send(Address("test", "1"), "hello", system_context())
    await bench.outbox.drop(id)
    platform = Platform()

    await bench.channels.add(platform)

    assert await bench.states() == {}
    with pytest.raises(NotFound, match="no message"):
        await bench.outbox.drop(id)


async def test_five_thousand_messages_to_a_hundred_chats_drain_in_order_past_one_that_fails(bench: Bench) -> None:
    class Failing(Platform):
        async def send(self, message: OutboundMessage) -> Delivery:
            if message.address.peer == "0":
                return Delivery(DeliveryState.TRANSIENT, error="down", retry_after_s=1_000.0)
            return await super().send(message)

    bench.clock.stopped_from = 500.0
    platform = Failing()

    def fill(connection: SqlConnection) -> None:
        for number in range(5_000):
            bench.outbox.insert(connection, Address("test", str(number % 100)), str(number), caused_by=None)

    await bench.db.write(fill)
    await bench.channels.add(platform)
    await bench.until(lambda states: states == {"sent": 4_950, "queued": 50})

    for peer in range(1, 100):
        mine = [int(message.text) for message in platform.sent if message.address.peer == str(peer)]
        assert mine == list(range(peer, 5_000, 100))


@given(attempts=st.integers(1, 100), asked=st.none() | st.floats(0, 10_000), jitter=st.floats(0, 1))
def test_waits_grow_are_bounded_and_never_shorter_than_asked(attempts: int, asked: float | None, jitter: float) -> None:
    retry = DeliveryRetry()
    wait = retry.delay_s(attempts, asked, jitter)

    assert wait >= (asked or 0)
    assert wait <= max(retry.max_delay_s * 1.3, asked or 0)
    assert retry.delay_s(attempts + 1, asked, jitter) >= wait


def repaired(bench: Bench) -> list[tuple[str, str]]:
    return [(repair.id, str(repair.text)) for repair in bench.repairs.all() if repair.id.startswith("waiting:")]


async def look(bench: Bench, after_s: float = 0.0) -> None:
    bench.clock.ahead_s += after_s
    await bench.outbox.look()


@pytest.mark.parametrize(
    ("channel", "account", "why"),
    [
        ("tset", "default", "there is no channel tset; did you mean test?"),
        ("test", "4242", "test has no account 4242; it has: default"),
    ],
)
async def test_what_waits_for_nothing_is_a_repair_that_goes_when_it_does(
    bench: Bench, channel: str, account: str, why: str
) -> None:
    await bench.channels.add(Platform())
    (id,) = await bench.outbox.send(Address(channel, "7", account), "hello", system_context())

    await look(bench)
    soon = repaired(bench)
    await look(bench, STUCK_S + 1)
    late = repaired(bench)
    await bench.outbox.drop(id)
    await look(bench)

    assert (soon, repaired(bench)) == ([], [])
    ((repair, text),) = late
    assert repair == f"waiting:{channel}:{account}"
    assert why in text


async def test_what_waits_for_a_channel_that_is_connected_is_a_repair(bench: Bench) -> None:
    platform = Connected(blocked={"7": asyncio.Event()})
    await bench.channels.add(platform)
    await bench.outbox.send(Address("test", "7"), "hello", system_context())
    await bench.until(lambda states: states == {"sending": 1})

    await look(bench, STUCK_S + 1)
    stuck = repaired(bench)
    platform.blocked["7"].set()
    await bench.until(lambda states: states == {"sent": 1})
    await look(bench)

    assert [id for id, _ in stuck] == ["waiting:test:default"]
    assert "it is connected" in stuck[0][1]
    assert repaired(bench) == []


async def test_what_waits_for_a_channel_that_is_cut_off_is_told_and_no_repair(bench: Bench) -> None:
    platform = Connected(answers=[Delivery(DeliveryState.TRANSIENT, error="no route")])
    await bench.channels.add(platform)
    assert platform.receive is not None
    platform.receive.disconnected("no route to the platform")
    bench.clock.stopped_from = 0.5
    await bench.outbox.send(Address("test", "7"), "hello", system_context())
    await until(lambda: platform.sent)
    await bench.until(lambda states: states == {"queued": 1})

    await look(bench, STUCK_S + 1)
    (waiting,) = await bench.outbox.waiting()

    assert (waiting.count, waiting.why) == (1, "it is not connected: no route to the platform")
    assert repaired(bench) == []


async def test_a_channel_that_comes_back_has_a_minute(bench: Bench) -> None:
    await bench.outbox.send(Address("test", "7"), "hello", system_context())
    bench.clock.ahead_s += 3_600
    platform = Connected(blocked={"7": asyncio.Event()})
    await bench.channels.add(platform)

    await look(bench)
    assert repaired(bench) == []
    assert platform.receive is not None
    platform.receive.connected()  # as some say again and again
    await look(bench, STUCK_S + 1)

    assert [id for id, _ in repaired(bench)] == ["waiting:test:default"]


async def test_nothing_is_sent_while_the_lease_is_not_held_and_it_waits_as_it_was(bench: Bench) -> None:
    clock = ManualClock()
    bench.channels.lease = lease = WorkerLease(clock.monotonic, clock.sleep)
    platform = Platform()
    await bench.channels.add(platform)

    await bench.outbox.send(Address("test", "1"), "hello", system_context())
    await until(lambda: clock.sleepers)
    await clock.advance(60)
    assert platform.sent == []
    lease.renew(begun=60.0)
    await clock.advance(1)

    await bench.until(lambda states: states == {"sent": 1})
    assert [message.text for message in platform.sent] == ["hello"]
