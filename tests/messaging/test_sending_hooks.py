"""The hook `message_sending`: other texts, messages that are stopped, and what a stop in the middle leaves."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any

import pytest

from hub.core.context import system_context
from hub.core.tasks import TaskOwner
from hub.hooks.contract import MessageSending
from hub.messaging.contract import Address, Delivery, DeliveryState, OutboundMessage
from hub.messaging.outbox.outbox import Outbox
from hub.messaging.outbox.outbox_rows import NewMessage, NewReaction, OutboxRow
from tests.messaging.outbox_bench import Bench, Fast, Platform
from tests.until import LIMIT_S

HERE = Address("test", "1")


@dataclass
class Archive(Platform):
    """A platform that can be asked what it has."""

    looked: list[str] = field(default_factory=list)

    async def find(self, message: OutboundMessage, since: float) -> Delivery | None:
        self.looked.append(message.text)
        return None

    async def react(self, address: Address, platform_id: str, emoji: str | None) -> Delivery:
        return Delivery(DeliveryState.DELIVERED)


async def send(bench: Bench, content: str | NewMessage | NewReaction) -> OutboxRow:
    [id] = await bench.outbox.send(HERE, content, system_context())
    [row] = await bench.outbox.outcome([id], LIMIT_S)
    return row


async def test_a_hook_changes_what_is_sent_and_the_outbox_keeps_what_was_sent(bench: Bench) -> None:
    platform = Platform()
    await bench.channels.add(platform)
    asked: list[MessageSending] = []

    async def sign(payload: MessageSending) -> dict[str, str]:
        asked.append(payload)
        return {"text": f"{payload.text}\n– Homarus"}

    bench.on_sending(sign)
    row = await bench.outbox.get((await send(bench, "hello")).id)

    assert [message.text for message in platform.sent] == ["hello\n– Homarus"]
    assert (row.state, row.message().text) == ("sent", "hello\n– Homarus")
    assert [(each.message_kind, each.channel, each.peer, each.text) for each in asked] == [
        ("message", "test", "1", "hello")
    ]


async def test_a_hook_stops_a_message_without_a_repair_and_it_can_be_sent_later(bench: Bench) -> None:
    platform = Platform()
    await bench.channels.add(platform)
    remove = bench.on_sending(lambda payload: {"block": "everybody is asleep"})

    row = await send(bench, "hello")

    assert (row.state, row.error, platform.sent) == ("stopped", "a hook stopped it: everybody is asleep", [])
    assert bench.repairs.all() == []
    remove()
    await bench.outbox.retry(row.id)
    await bench.until(lambda states: states == {"sent": 1})
    assert [message.text for message in platform.sent] == ["hello"]


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ({"text": "x" * 101}, "a hook made its text too long: 101; test takes 100"),
        ({"text": "  "}, "a hook left nothing of its text"),
    ],
)
async def test_a_text_that_cannot_be_sent_stops_the_message(bench: Bench, answer: dict[str, str], why: str) -> None:
    platform = Platform()
    await bench.channels.add(platform)
    bench.on_sending(lambda payload: answer)

    row = await send(bench, "hello")

    assert (row.state, row.error, platform.sent) == ("stopped", why, [])


@pytest.mark.parametrize("answer", [{"peer": "2"}, {"text": 5}, "hello", RuntimeError("broken")])
async def test_a_handler_that_fails_is_skipped(bench: Bench, answer: Any) -> None:
    platform = Platform()
    await bench.channels.add(platform)

    def handler(payload: MessageSending) -> Any:
        if isinstance(answer, Exception):
            raise answer
        return answer

    bench.on_sending(handler)

    assert (await send(bench, "hello")).state == "sent"
    assert [message.text for message in platform.sent] == ["hello"]


async def test_a_message_is_asked_about_once_however_often_it_is_tried(bench: Bench) -> None:
    platform = Archive(answers=[Delivery(DeliveryState.TRANSIENT), Delivery(DeliveryState.UNKNOWN)])
    await bench.channels.add(platform)
    bench.on_sending(lambda payload: {"text": f"{payload.text}!"})

    row = await send(bench, "hello")

    assert [message.text for message in platform.sent] == ["hello!"] * 3
    assert (row.state, platform.looked) == ("sent", ["hello!"])


async def test_what_was_changed_is_not_changed_again_after_a_stop(bench: Bench) -> None:
    platform = Platform(answers=[Delivery(DeliveryState.TRANSIENT)])
    await bench.channels.add(platform)
    bench.on_sending(lambda payload: {"text": f"{payload.text}!"})
    bench.clock.stopped_from = 0.5
    [id] = await bench.outbox.send(HERE, "hello", system_context())
    async with asyncio.timeout(30):
        while (await bench.outbox.get(id)).attempts == 0:  # noqa: ASYNC110  its worker writes it
            await asyncio.sleep(0.005)
    await bench.outbox.close()

    clock, tasks = Fast(), TaskOwner("second")
    second = Outbox(bench.db, bench.channels, bench.bus, clock, tasks, repairs=bench.repairs, hooks=bench.hooks)
    await second.open()
    await bench.until(lambda states: states == {"sent": 1})

    assert [message.text for message in platform.sent] == ["hello!", "hello!"]
    await second.close()


async def test_reactions_are_not_asked_about(bench: Bench) -> None:
    await bench.channels.add(Archive())
    bench.on_sending(lambda payload: {"block": "no"})

    assert (await send(bench, NewReaction("5", "👍"))).state == "sent"


async def test_without_a_hook_nothing_more_is_written(bench: Bench) -> None:
    await bench.channels.add(Platform())

    def begun(connection: Any) -> str:
        [id] = bench.outbox.insert(connection, HERE, "hello", caused_by=None)
        return str(connection.execute("SELECT state FROM outbox WHERE id = ?", (id,)).fetchone()[0])

    assert await bench.db.write(begun) == "sending"
    await bench.db.write(lambda connection: connection.execute("DELETE FROM outbox").rowcount)
    bench.on_sending(lambda payload: None)
    assert await bench.db.write(begun) == "queued"
