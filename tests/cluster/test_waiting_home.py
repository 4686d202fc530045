"""What keeps a home open in a worker, of what runs in it and what it waits for."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from hub.core.clock import ManualClock
from hub.core.context import SYSTEM, Context
from hub.messaging.contract import Address, Delivery, DeliveryState
from hub.storage.homedir import WorkerPlace
from hub.tools.approval import Ask
from hub.worker import RunningHome
from tests.hub_fixture import HubFixture
from tests.messaging.outbox_bench import Platform
from tests.servers.openai_server import OpenAIServer
from tests.until import as_time_passes, until

WAIT_S = 2_400.0
"""Longer than a home that nobody uses is left open."""
SECTIONS = {
    "script": {"water": {"sequence": [{"delay": WAIT_S}]}},
    "automation": [
        {
            "id": "door",
            "triggers": {"trigger": "event", "event_type": "opened"},
            "actions": [{"wait_for_trigger": {"trigger": "event", "event_type": "closed"}, "timeout": WAIT_S}],
        },
        {
            "id": "guest",
            "triggers": {"trigger": "state", "entity_id": "input_boolean.guest", "to": "on", "for": WAIT_S},
            "actions": [],
        },
    ],
    "input_boolean": {"guest": {}},
    "timer": {"tea": {"duration": WAIT_S}, "laundry": {"duration": WAIT_S, "restore": True}},
}


async def _script(hub: HubFixture) -> None:
    await hub.services.call("script", "turn_on", {"entity_id": "script.water"}, context=Context(SYSTEM))


async def _automation(hub: HubFixture) -> None:
    hub.bus.fire("opened")


async def _held(hub: HubFixture) -> None:
    await hub.services.call("input_boolean", "turn_on", {"entity_id": "input_boolean.guest"}, context=Context(SYSTEM))


async def _timer(hub: HubFixture) -> None:
    await hub.services.call("timer", "start", {"entity_id": "timer.tea"}, context=Context(SYSTEM))


async def _question(hub: HubFixture) -> None:
    ask = Ask("tool", "Open the gate", "Somebody rang.", {}, Context(SYSTEM), timeout_s=WAIT_S)
    hub.tasks.spawn(hub.approvals.ask(ask), name="ask")


async def _kept_timer(hub: HubFixture) -> None:
    await hub.services.call("timer", "start", {"entity_id": "timer.laundry"}, context=Context(SYSTEM))


async def _message(hub: HubFixture) -> None:
    await hub.channels.add(Platform(answers=[Delivery(DeliveryState.TRANSIENT, error="down", retry_after_s=WAIT_S)]))
    await hub.outbox.send(Address("test", "ada"), "hello", Context(SYSTEM))


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


def _home(folder: Path, server: OpenAIServer, clock: ManualClock) -> tuple[HubFixture, RunningHome]:
    place = WorkerPlace("elm", folder / "elm.sock", "https://elm.example.org")
    hub = HubFixture(folder / "elm", server.base_url, sections=SECTIONS, clock=clock, in_worker=place)
    return hub, RunningHome(hub, place, ("127.0.0.1", 0), lambda: None)


Act = Callable[[HubFixture], Awaitable[Any]]


@pytest.mark.parametrize("begin", [_script, _automation, _held, _timer, _question])
async def test_a_home_stays_open_while_something_is_under_way_that_a_stop_would_interrupt(
    tmp_path: Path, openai_server: OpenAIServer, clock: ManualClock, begin: Act
) -> None:
    hub, home = _home(tmp_path, openai_server, clock)
    async with hub:
        assert not home.stays

        await begin(hub)

        await until(lambda: home.stays)
        assert home.runs == 0
        await as_time_passes(clock, WAIT_S, lambda: not home.stays)


@pytest.mark.parametrize("begin", [_kept_timer, _message])
async def test_what_waits_for_its_time_is_due_then(
    tmp_path: Path, openai_server: OpenAIServer, clock: ManualClock, begin: Act
) -> None:
    hub, home = _home(tmp_path, openai_server, clock)
    async with hub:
        first, last = clock.time() + WAIT_S, clock.time() + 1.5 * WAIT_S  # a message is tried a little later
        assert home.due is None or home.due > last

        await begin(hub)

        await until(lambda: first <= (home.due or 0.0) <= last)
        assert not home.stays
