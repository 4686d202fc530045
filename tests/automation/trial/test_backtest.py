"""Backtest: the past goes by again, through the same triggers, and nothing is done."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from hub.automation.definition.grammar import automation
from hub.automation.engine.own_events import fire_custom
from hub.automation.engine.parts import AutomationParts
from hub.automation.trial.backtest import backtest
from hub.core.context import SYSTEM, Context
from hub.core.errors import InvalidRequest, Unavailable
from hub.gateway.webhooks.webhooks import Webhooks
from hub.storage.history import HistoryStore
from hub.storage.recorder import Recorder
from tests.automation.ground import BERLIN, clock_of, make_parts

MONDAY = datetime(2026, 3, 2, tzinfo=BERLIN)
DAY_S = 86_400.0
CALL = {"action": "test.done", "data": {"at": "{{ now().strftime('%a %H:%M:%S') }}"}}


@dataclass(frozen=True, slots=True)
class Past:
    """A hub that recorded a week, hour by hour as a test likes it."""

    parts: AutomationParts
    history: HistoryStore

    def set(self, when: str, entity: str, state: str, **attributes: Any) -> None:
        """Let an entity change at `<day> <time>`; days count from Monday, which is 0."""
        self._at(when)
        self.parts.states.set(entity, state, attributes)

    def fire(self, when: str, type: str, data: dict[str, Any]) -> None:
        self._at(when)
        self.parts.bus.fire(type, data, Context(SYSTEM))

    def custom(self, when: str, type: str, data: dict[str, Any]) -> None:
        self._at(when)
        fire_custom(self.parts.bus, type, data, Context(SYSTEM))

    async def run(self, *triggers: dict[str, Any], days: float = 7, **more: Any) -> dict[str, Any]:
        """Try an automation on the last `days` before Sunday midnight."""
        self._at("7 00:00")
        config = automation({"id": "tried", "triggers": list(triggers), "actions": [CALL], **more})
        now = self.parts.clock.time()
        return await backtest(config, self.parts, now - days * DAY_S, now)

    def _at(self, when: str) -> None:
        day, _, clock = when.partition(" ")
        moment = MONDAY + timedelta(days=int(day))
        hour, minute, *second = (int(part) for part in clock.split(":"))
        moment = moment.replace(hour=hour, minute=minute, second=second[0] if second else 0)
        clock_of(self.parts).jump(moment.timestamp() - self.parts.clock.time())


def times(found: dict[str, Any]) -> list[str]:
    return [run["calls"][0]["data"]["at"] for run in found["runs"]]


@pytest.fixture
async def past(tmp_path: Path) -> AsyncIterator[Past]:
    start = MONDAY.timestamp() - DAY_S
    history = HistoryStore(tmp_path / "history.db", wall_time=lambda: start)
    await history.open()
    parts = make_parts(start=start, history=history)
    parts = replace(parts, sources={Webhooks: Webhooks(parts.clock)})
    recorder = Recorder(parts.bus, history)
    recorder.start()
    yield Past(parts, history)
    recorder.stop()
    await history.close()


async def test_a_schedule_runs_at_its_times(past: Past) -> None:
    found = await past.run({"trigger": "time", "at": "07:30", "weekday": ["mon", "tue"]})

    assert times(found) == ["Mon 07:30:00", "Tue 07:30:00"]
    assert found["runs"][0]["time"] == "2026-03-02T07:30:00.000+01:00"
    assert found["unknown"] == []


@pytest.mark.parametrize(
    ("trigger", "count"),
    [
        ({"trigger": "cron", "expression": "0 6 * * *"}, 7),
        ({"trigger": "every", "every": "12h"}, 14),
        ({"trigger": "time_pattern", "hours": "/6"}, 28),
    ],
)
async def test_other_schedules_do_too(past: Past, trigger: dict[str, Any], count: int) -> None:
    assert (await past.run(trigger))["run_count"] == count


async def test_states_that_were_recorded_change_again(past: Past) -> None:
    past.set("0 06:00", "light.hall", "off")
    past.set("1 20:00", "light.hall", "on")
    past.set("1 23:00", "light.hall", "off")
    past.set("2 20:15", "light.hall", "on")

    found = await past.run({"trigger": "state", "entity_id": "light.hall", "from": "off", "to": "on"})

    assert times(found) == ["Tue 20:00:00", "Wed 20:15:00"]
    assert found["runs"][0]["trigger"] == {
        "platform": "state",
        "id": "0",
        "idx": "0",
        "description": "state of light.hall",
    }


async def test_what_must_last_is_waited_for_in_the_time_of_then(past: Past) -> None:
    past.set("0 06:00", "light.hall", "off")
    past.set("1 20:00", "light.hall", "on")
    past.set("1 20:05", "light.hall", "off")
    past.set("1 21:00", "light.hall", "on")
    past.set("1 23:00", "light.hall", "off")

    found = await past.run({"trigger": "state", "entity_id": "light.hall", "to": "on", "for": "10m"})

    assert times(found) == ["Tue 21:10:00"]


async def test_a_template_is_looked_at_again_when_what_it_sees_changes(past: Past) -> None:
    past.set("0 06:00", "sensor.hall", "18")
    past.set("1 06:00", "sensor.hall", "23")
    past.set("2 06:00", "sensor.hall", "24")
    past.set("3 06:00", "sensor.hall", "18")
    past.set("4 06:00", "sensor.hall", "25")

    found = await past.run({"trigger": "template", "value_template": "{{ states('sensor.hall') | float(0) > 20 }}"})

    assert times(found) == ["Tue 06:00:00", "Fri 06:00:00"]


async def test_a_number_that_crosses_a_limit_is_seen(past: Past) -> None:
    for day, value in enumerate(["18", "23", "24", "18", "25"]):
        past.set(f"{day} 06:00", "sensor.hall", value)

    found = await past.run({"trigger": "numeric_state", "entity_id": "sensor.hall", "above": 20})

    assert times(found) == ["Tue 06:00:00", "Fri 06:00:00"]


async def test_conditions_see_the_states_of_then(past: Past) -> None:
    past.set("0 00:00", "input_boolean.away", "off")
    past.set("2 12:00", "input_boolean.away", "on")
    past.set("4 12:00", "input_boolean.away", "off")

    found = await past.run(
        {"trigger": "time", "at": "18:00"},
        conditions={"condition": "state", "entity_id": "input_boolean.away", "state": "on"},
    )

    assert times(found) == ["Wed 18:00:00", "Thu 18:00:00"]
    assert [each["text"] for each in found["not_run"]] == ["input_boolean.away is off, not on"] * 5
    assert found["not_run"][0]["reason"] == "conditions"


async def test_what_did_not_change_for_long_is_as_it_is_now(past: Past) -> None:
    past.set("-1 06:00", "input_boolean.away", "on")

    found = await past.run(
        {"trigger": "time", "at": "18:00"},
        conditions={"condition": "state", "entity_id": "input_boolean.away", "state": "on", "for": "1d"},
    )

    assert found["run_count"] == 7


async def test_messages_are_told_apart_by_where_they_came_from(past: Past) -> None:
    facts = {"account": "default", "chat_type": "direct", "from_owner": True, "text": "hello", "sender": "x:user:1"}
    past.fire("1 10:00", "message_received", {**facts, "channel": "telegram", "peer": "1"})
    past.fire("2 10:00", "message_received", {**facts, "channel": "webchat", "peer": "1"})
    past.fire("3 10:00", "message_received", {**facts, "channel": "telegram", "peer": "2"})

    found = await past.run({"trigger": "message", "channel": "telegram", "peer": "1", "from_owner": True})

    assert times(found) == ["Tue 10:00:00"]


async def test_custom_events_happen_again_with_their_data(past: Past) -> None:
    past.custom("1 10:00", "doorbell", {"door": "front"})
    past.custom("2 10:00", "doorbell", {"door": "back"})

    found = await past.run({"trigger": "event", "event_type": "doorbell", "event_data": {"door": "back"}})

    assert times(found) == ["Wed 10:00:00"]
    assert found["unknown"] == []


async def test_webhooks_are_told_by_their_ids(past: Past) -> None:
    past.fire("1 10:00", "webhook_received", {"webhook_id": "bell", "method": "POST", "json": {"x": 1}})
    past.fire("2 10:00", "webhook_received", {"webhook_id": "other", "method": "POST"})

    found = await past.run({"trigger": "webhook", "webhook_id": "bell"})

    assert times(found) == ["Tue 10:00:00"]
    assert "their data is empty here" in found["unknown"][0]["text"]


@pytest.mark.parametrize(
    ("trigger", "said"),
    [
        ({"trigger": "message", "text": "hello"}, "what messages say is not recorded"),
        ({"trigger": "event", "event_type": "nothing_of_the_kind"}, "no event nothing_of_the_kind is on record"),
        ({"trigger": "event", "event_type": "run_finished", "event_data": {"reply": "x"}}, "not recorded: reply"),
        ({"trigger": "node", "on": "event"}, "the event node_event is not recorded"),
    ],
)
async def test_what_is_not_recorded_is_told(past: Past, trigger: dict[str, Any], said: str) -> None:
    found = await past.run(trigger)

    assert found["runs"] == []
    assert any(said in each["text"] for each in found["unknown"])


async def test_a_trigger_that_is_not_enabled_does_not_fire(past: Past) -> None:
    found = await past.run({"trigger": "time", "at": "07:30", "enabled": False})

    assert found["run_count"] == 0


async def test_only_the_time_that_is_asked_for_goes_by(past: Past) -> None:
    found = await past.run({"trigger": "time", "at": "07:30"}, days=2)

    assert times(found) == ["Sat 07:30:00", "Sun 07:30:00"]


async def test_rate_limits_count_in_the_time_of_then(past: Past) -> None:
    found = await past.run({"trigger": "time_pattern", "hours": "/1"}, rate_limit={"runs": 1, "per": "12h"}, days=1)

    assert found["run_count"] == 2
    assert {each["reason"] for each in found["not_run"]} == {"rate_limit"}


async def test_what_fires_without_end_has_a_bound(past: Past, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hub.automation.trial.backtest.FIRINGS_LIMIT", 1_000)

    found = await past.run({"trigger": "time_pattern", "seconds": "/1"}, conditions="{{ false }}", days=1)

    assert found["truncated"] == "its triggers fired more than 1000 times"
    assert len(found["not_run"]) == 500
    assert found["not_run_count"] == 1_000


async def test_nothing_of_the_hub_is_changed(past: Past) -> None:
    past.set("0 06:00", "light.hall", "off")
    past.set("1 20:00", "light.hall", "on")
    told: list[Any] = []
    past._at("7 00:00")
    past.parts.bus.listen("*", told.append)
    before = past.parts.states.get("light.hall")

    await past.run({"trigger": "state", "entity_id": "light.hall"}, {"trigger": "time", "at": "07:30"})

    assert told == []
    assert past.parts.states.get("light.hall") is before
    assert len(past.parts.timetable) == 0


async def test_whoever_stops_waiting_ends_it(past: Past) -> None:
    before = asyncio.all_tasks()
    trying = asyncio.create_task(past.run({"trigger": "time_pattern", "seconds": "/1"}, conditions="{{ false }}"))
    await asyncio.sleep(0)

    trying.cancel()
    with pytest.raises(asyncio.CancelledError):
        await trying

    assert asyncio.all_tasks() == before


async def test_a_span_that_is_none_is_refused(past: Past) -> None:
    now = past.parts.clock.time()
    config = automation({"id": "tried", "triggers": [], "actions": [CALL]})

    for since, until in ((now, now), (now - 60 * DAY_S, now), (now + 1, now + 2)):
        with pytest.raises(InvalidRequest):
            await backtest(config, past.parts, since, until)


async def test_without_history_there_is_nothing_to_try_it_on() -> None:
    parts = make_parts()
    config = automation({"id": "tried", "triggers": [], "actions": [CALL]})

    with pytest.raises(Unavailable, match="no history is recorded"):
        await backtest(config, parts, parts.clock.time() - 60, parts.clock.time())
