from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from hub.core.context import system_context
from hub.core.errors import Forbidden, InvalidRequest, NotFound, TimedOut
from hub.core.events import Event, EventBus
from hub.core.repairs import Repairs, Severity
from hub.core.schema import Required, Schema, string
from hub.core.services import AgentRule, ResponseMode, ServiceCall, ServiceRegistry
from hub.core.states import StateMachine
from hub.core.tasks import TaskOwner


@pytest.fixture
def bus() -> EventBus:
    return EventBus(TaskOwner("test"))


def test_a_state_fires_only_when_something_differs(bus: EventBus) -> None:
    events: list[Event] = []
    bus.listen("state_changed", events.append)
    states = StateMachine(bus, wall_time=lambda: 5.0)

    states.set("light.kitchen", "on", {"brightness": 3})
    states.set("light.kitchen", "on", {"brightness": 3})
    states.set("light.kitchen", "on", {"brightness": 4})
    states.remove("light.kitchen")

    assert [(e.data["old_state"] is None, e.data["new_state"] is None) for e in events] == [
        (True, False),
        (False, False),
        (False, True),
    ]


def test_last_changed_moves_with_the_state_and_last_updated_with_the_attributes(bus: EventBus) -> None:
    now = [1.0]
    states = StateMachine(bus, wall_time=lambda: now[0])
    states.set("light.kitchen", "on")
    now[0] = 2.0

    state = states.set("light.kitchen", "on", {"brightness": 3})

    assert (state.last_changed, state.last_updated) == (1.0, 2.0)


@pytest.mark.parametrize("bad", ["", "light", "Light.kitchen", "light.", ".x", "light.a b", "a.b.c"])
def test_a_malformed_entity_id_is_refused(bus: EventBus, bad: str) -> None:
    with pytest.raises(InvalidRequest, match="entity id"):
        StateMachine(bus).set(bad, "on")


async def answer(call: ServiceCall) -> Mapping[str, Any]:
    return {"echo": call.data["text"]}


async def test_a_service_validates_its_data_and_names_the_field(bus: EventBus) -> None:
    services = ServiceRegistry(bus)
    services.register("test", "echo", answer, Schema({Required("text"): string}), ResponseMode.OPTIONAL)

    with pytest.raises(InvalidRequest, match=r"test\.echo: text"):
        await services.call("test", "echo", {"text": []}, context=system_context())

    response = await services.call("test", "echo", {"text": "hi"}, context=system_context(), wants_response=True)
    assert response == {"echo": "hi"}


async def test_a_service_that_hangs_is_cancelled_and_named(bus: EventBus) -> None:
    services = ServiceRegistry(bus)
    cancelled = asyncio.Event()

    async def hang(call: ServiceCall) -> None:
        try:
            await asyncio.sleep(60)
        finally:
            cancelled.set()

    services.register("test", "hang", hang)

    with pytest.raises(TimedOut, match=r"test\.hang"):
        await services.call("test", "hang", context=system_context(), timeout_s=0.01)
    assert cancelled.is_set()


async def test_a_model_sees_and_calls_only_what_its_rule_allows(bus: EventBus) -> None:
    services = ServiceRegistry(bus)
    schema = Schema({Required("text"): string})
    for name, rule in (("never", AgentRule.NEVER), ("ask", AgentRule.ASK), ("allow", AgentRule.ALLOW)):
        services.register("test", name, answer, schema, ResponseMode.OPTIONAL, rule)
    context = system_context()

    assert [service.name for service in services.all(for_agent=True)] == ["allow", "ask"]
    assert await services.call_for_agent("test", "allow", {"text": "x"}, context=context) == {"echo": "x"}
    with pytest.raises(Forbidden):
        await services.call_for_agent("test", "ask", {"text": "x"}, context=context)
    with pytest.raises(NotFound):
        await services.call_for_agent("test", "never", {"text": "x"}, context=context)
    with pytest.raises(NotFound):
        await services.call_for_agent("test", "nothing", {"text": "x"}, context=context)


async def test_a_removed_service_is_gone_but_its_successor_stays(bus: EventBus) -> None:
    services = ServiceRegistry(bus)
    remove_first = services.register("test", "echo", answer)
    services.register("test", "echo", answer)

    remove_first()

    assert services.get("test", "echo") is not None


def test_repairs_are_replaced_cleared_and_sorted(bus: EventBus) -> None:
    events: list[Event] = []
    bus.listen("repairs_changed", events.append)
    repairs = Repairs(bus, wall_time=lambda: 1.0)

    repairs.raise_("mqtt", "down", "Broker is down", severity=Severity.WARNING)
    repairs.raise_("mqtt", "down", "Broker is down", severity=Severity.WARNING)
    repairs.raise_("config", "http", "http is invalid", severity=Severity.CRITICAL)

    assert [repair.source for repair in repairs.all()] == ["config", "mqtt"]
    assert len(events) == 2
    assert repairs.clear("mqtt") == 1
    assert repairs.clear("mqtt") == 0


@pytest.mark.parametrize("listens", [True, False])
async def test_a_call_is_told_as_home_assistant_tells_it_where_one_listens(listens: bool) -> None:
    tasks = TaskOwner("test")
    bus = EventBus(tasks)
    services = ServiceRegistry(bus)
    heard: list[Event] = []
    told: list[Event] = []
    if listens:
        bus.listen("call_service", told.append)
    bus.listen("*", heard.append)

    async def handler(call: ServiceCall) -> None:
        return None

    services.register("light", "turn_on", handler, Schema({}, extra=True))
    await services.call("light", "turn_on", {"entity_id": "light.a"}, context=system_context())

    expected = {"domain": "light", "service": "turn_on", "service_data": {"entity_id": "light.a"}}
    assert [event.data for event in told] == ([expected] if listens else [])
    assert [event.type for event in heard].count("call_service") == len(told)
    await tasks.cancel_all()
