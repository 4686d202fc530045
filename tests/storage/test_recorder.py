"""What of the bus goes into history: what tells happenings apart, never what was said."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from hub.core.context import system_context
from hub.core.events import EventBus
from hub.core.repairs import Repairs
from hub.core.states import StateMachine
from hub.core.tasks import TaskOwner
from hub.storage.history import HistoryStore
from hub.storage.recorder import CUSTOM_BYTES_LIMIT, CUT, EVENT_CUSTOM, Recorder, history_stage

NOON = 1_767_268_800.0


@pytest.fixture
def bus(history: HistoryStore) -> EventBus:
    bus = EventBus(TaskOwner("test"), lambda: NOON)
    Recorder(bus, history).start()
    return bus


async def test_a_message_is_told_apart_and_its_words_are_not_kept(bus: EventBus, history: HistoryStore) -> None:
    told = {
        "inbox_id": "i1",
        "channel": "telegram",
        "account": "default",
        "peer": "123",
        "chat_type": "direct",
        "sender": "telegram:user:123",
        "from_owner": True,
        "session_key": "agent:main:main",
        "text_chars": 5,
    }

    bus.fire("message_received", {**told, "text": "hello", "sender_name": "Anna"})

    (found,) = await history.recent_events(10)
    assert found["data"] == told


async def test_of_a_webhook_only_its_id_is_kept(bus: EventBus, history: HistoryStore) -> None:
    bus.fire("webhook_received", {"webhook_id": "door", "method": "POST", "json": {"code": "1234"}})

    (found,) = await history.recent_events(10)
    assert found["data"] == {"webhook_id": "door", "method": "POST"}


async def test_a_custom_event_is_kept_with_its_data(bus: EventBus, history: HistoryStore) -> None:
    bus.fire(EVENT_CUSTOM, {"event_type": "doorbell", "event_data": {"door": "front"}})

    (found,) = await history.recent_events(10)
    assert (found["type"], found["data"]) == ("doorbell", {"door": "front"})


@pytest.mark.parametrize("data", [{"text": "x" * CUSTOM_BYTES_LIMIT}, {"n": 1 << 70}])
async def test_of_a_large_custom_event_only_that_it_was_is_kept(
    bus: EventBus, history: HistoryStore, data: dict[str, Any]
) -> None:
    bus.fire(EVENT_CUSTOM, {"event_type": "doorbell", "event_data": data})

    (found,) = await history.recent_events(10)
    assert found["data"] == {CUT: True}


async def test_nobody_gets_words_into_history_under_the_name_of_a_kept_event(
    bus: EventBus, history: HistoryStore
) -> None:
    bus.fire(EVENT_CUSTOM, {"event_type": "message_received", "event_data": {"text": "hello"}})

    assert await history.recent_events(10) == []


async def test_an_event_that_nobody_asked_for_is_not_kept(bus: EventBus, history: HistoryStore) -> None:
    bus.fire("run_delta", {"text": "hello"})

    assert await history.recent_events(10) == []


async def test_history_is_paged_through_from_the_oldest_on(history: HistoryStore) -> None:
    for number in range(5):
        history.record_event("tick", {"n": number}, None, NOON + number)
        history.record_state("light.hall", "on" if number % 2 else "off", {"n": number}, None, NOON + number)

    events = await history.events_between(["tick"], NOON + 1, NOON + 4, limit=2)
    more = await history.events_between(["tick"], NOON + 1, NOON + 4, after_id=events[-1]["id"])
    states = await history.states_between(NOON + 1, NOON + 3)
    before = await history.states_at(NOON + 2)

    assert [each["data"]["n"] for each in events + more] == [1, 2, 3, 4]
    assert [each["attributes"]["n"] for each in states] == [1, 2, 3]
    assert [(each["entity_id"], each["attributes"]["n"]) for each in before] == [("light.hall", 1)]


async def test_what_was_removed_is_not_among_the_states(bus: EventBus, history: HistoryStore) -> None:
    states = StateMachine(bus, lambda: NOON)
    states.set("light.hall", "on", {}, system_context())
    states.remove("light.hall")

    assert await history.states_at(NOON + 1) == []


async def test_the_start_goes_on_while_a_history_takes_long_to_open(tmp_path: Path) -> None:
    tasks = TaskOwner("test")
    bus, history = EventBus(tasks, lambda: NOON), HistoryStore(tmp_path / "history.db", wall_time=lambda: NOON)
    stage = history_stage(history, bus, Repairs(bus), tasks, wait_s=0)
    opened = asyncio.Event()

    async def note() -> None:
        opened.set()

    assert stage.start is not None
    assert stage.stop is not None
    await stage.start()
    assert history.off is not None
    await history.when_open(note)
    bus.fire("hub_started", {"version": "1"})
    await opened.wait()

    assert [event["type"] for event in await history.recent_events(10)] == ["hub_started"]
    assert (history.status()["recording"], history.dropped) == (True, 0)
    await stage.stop()
