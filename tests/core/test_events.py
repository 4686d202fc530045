from __future__ import annotations

import asyncio
import logging
from functools import partial
from typing import Any

import pytest
from hypothesis import given, strategies as st

from hub.core.errors import InvalidRequest, LimitExceeded
from hub.core.events import Event, EventBus
from hub.core.tasks import TaskOwner


@pytest.fixture
def bus() -> EventBus:
    return EventBus(TaskOwner("test"))


def test_a_listener_gets_the_events_of_its_type_and_of_no_other(bus: EventBus) -> None:
    seen: list[str] = []
    bus.listen("door", lambda event: seen.append(event.data["name"]))

    bus.fire("door", {"name": "front"})
    bus.fire("window", {"name": "kitchen"})

    assert seen == ["front"]


def test_what_a_callback_fires_is_handled_before_the_outermost_fire_returns_and_in_order(bus: EventBus) -> None:
    seen: list[str] = []

    def first(event: Event) -> None:
        bus.fire("second")
        bus.fire("third")
        seen.append("first")

    bus.listen("first", first)
    bus.listen("second", lambda event: seen.append("second"))
    bus.listen("third", lambda event: seen.append("third"))

    bus.fire("first")

    assert seen == ["first", "second", "third"]


def test_a_loop_of_events_is_stopped_and_named_by_its_origin(bus: EventBus) -> None:
    bus.listen("ping", lambda event: bus.fire("pong"))
    bus.listen("pong", lambda event: bus.fire("ping"))

    with pytest.raises(LimitExceeded, match="'ping'"):
        bus.fire("ping")

    seen: list[str] = []
    bus.listen("calm", lambda event: seen.append("still works"))
    bus.fire("calm")
    assert seen == ["still works"]


def test_a_listener_that_raises_is_logged_and_stops_no_other(bus: EventBus, caplog: pytest.LogCaptureFixture) -> None:
    seen: list[str] = []

    def broken(event: Event) -> None:
        raise ValueError("broken")

    bus.listen("door", broken)
    bus.listen("door", lambda event: seen.append("other"))

    with caplog.at_level(logging.ERROR):
        bus.fire("door")

    assert seen == ["other"]
    assert "broken" in caplog.text
    assert "test_a_listener_that_raises" in caplog.text


def test_unsubscribing_twice_and_while_firing_does_no_harm(bus: EventBus) -> None:
    seen: list[str] = []

    def first(event: Event) -> None:
        stop_second()
        stop_second()

    bus.listen("door", first)
    stop_second = bus.listen("door", lambda event: seen.append("second"))

    bus.fire("door")

    assert seen == []
    assert bus.listener_counts() == {"door": 1}


def test_listeners_of_everything_cannot_have_a_where(bus: EventBus) -> None:
    with pytest.raises(InvalidRequest):
        bus.listen("*", lambda event: None, {"a": 1})


def test_a_listener_of_everything_hears_everything(bus: EventBus) -> None:
    seen: list[str] = []
    bus.listen("*", lambda event: seen.append(event.type))

    bus.fire("a")
    bus.fire("b")

    assert seen == ["a", "b"]


@pytest.mark.parametrize(
    ("where", "data", "heard"),
    [
        ({"a": 1}, {"a": 1, "b": 2}, True),
        ({"a": 1}, {"a": 2}, False),
        ({"a": 1}, {}, False),
        ({"a": 1, "b": 2}, {"a": 1, "b": 2}, True),
        ({"a": 1, "b": 2}, {"a": 1, "b": 3}, False),
        ({"a": [1, 2]}, {"a": 2}, True),
        ({"a": [1, 2]}, {"a": 3}, False),
        ({"a": [[1], [2]]}, {"a": [1]}, True),
        ({"a": {"x": 1}}, {"a": {"x": 1}}, True),
        ({"a": {"x": 1}}, {"a": {"x": 2}}, False),
        ({"a": 1}, {"a": [1]}, False),
        ({"a": list(range(2_000))}, {"a": 1_999}, True),
    ],
)
def test_where_selects_by_data(bus: EventBus, where: dict[str, Any], data: dict[str, Any], heard: bool) -> None:
    seen: list[Event] = []
    stop = bus.listen("door", seen.append, where)

    bus.fire("door", data)
    stop()
    bus.fire("door", data)

    assert len(seen) == (1 if heard else 0)
    assert bus.listener_counts() == {}


values = st.one_of(st.integers(0, 3), st.sampled_from(["x", "y"]), st.lists(st.integers(0, 2), max_size=2))
mappings = st.dictionaries(st.sampled_from("abc"), values, max_size=3)


@given(wheres=st.lists(mappings, max_size=8), data=mappings)
def test_the_index_finds_exactly_those_that_a_plain_comparison_finds_in_order(
    wheres: list[dict[str, Any]], data: dict[str, Any]
) -> None:
    bus = EventBus(TaskOwner("test"))
    seen: list[int] = []

    def note(number: int, event: Event) -> None:
        seen.append(number)

    for number, where in enumerate(wheres):
        bus.listen("door", partial(note, number), where)

    bus.fire("door", data)

    def fits(where: dict[str, Any]) -> bool:
        return all(
            key in data and (data[key] in wanted if isinstance(wanted, list) else data[key] == wanted)
            for key, wanted in where.items()
        )

    assert seen == [number for number, where in enumerate(wheres) if fits(where)]


async def test_a_coroutine_listener_runs_as_an_owned_task() -> None:
    tasks = TaskOwner("test")
    bus = EventBus(tasks)
    seen: list[str] = []

    async def slow(event: Event) -> None:
        await asyncio.sleep(0)
        seen.append(event.type)

    bus.listen("door", slow)
    bus.fire("door")

    assert len(tasks.names()) == 1
    assert await tasks.drain(timeout_s=30)
    assert seen == ["door"]


async def test_wait_for_returns_the_matching_event_and_leaves_no_listener() -> None:
    bus = EventBus(TaskOwner("test"))
    waiting = asyncio.ensure_future(bus.wait_for("door", {"name": "front"}, timeout_s=30))
    await asyncio.sleep(0)

    bus.fire("door", {"name": "back"})
    bus.fire("door", {"name": "front"})

    assert (await waiting).data == {"name": "front"}
    assert bus.listener_counts() == {}


async def test_wait_for_gives_up_in_time_and_when_cancelled() -> None:
    bus = EventBus(TaskOwner("test"))

    with pytest.raises(TimeoutError):
        await bus.wait_for("door", timeout_s=0.01)
    waiting = asyncio.ensure_future(bus.wait_for("door"))
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)

    assert bus.listener_counts() == {}
