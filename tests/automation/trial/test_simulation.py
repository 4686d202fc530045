"""Simulation: what an automation would do, with nothing done."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

from hub.automation.definition.grammar import automation
from hub.automation.engine.parts import AutomationParts
from hub.automation.trial.simulation import simulate
from hub.core.errors import InvalidRequest, NotFound
from hub.core.schema import Schema, string
from hub.core.services import ServiceCall
from tests.automation.ground import BERLIN, make_parts

NIGHT = {
    "id": "night",
    "alias": "Night",
    "triggers": [
        {"trigger": "state", "entity_id": "light.hall", "to": "on", "id": "lamp"},
        {"trigger": "event", "event_type": "doorbell", "variables": {"door": "front"}},
    ],
    "conditions": [{"condition": "time", "after": "22:00", "before": "06:00"}],
    "actions": [
        {"delay": "1h"},
        {"action": "light.turn_off", "data": {"name": "{{ trigger.entity_id | default('none') }}"}},
        {"event": "went_dark", "event_data": {"door": "{{ door | default('none') }}"}},
    ],
}


@pytest.fixture
def parts() -> AutomationParts:
    """Noon in Berlin, with a lamp that is on and a service that must not be called."""
    parts = make_parts(start=datetime(2026, 3, 2, 12, tzinfo=BERLIN).timestamp())
    parts.states.set("light.hall", "on")

    async def never(call: ServiceCall) -> None:
        raise AssertionError("a simulation calls nothing")

    parts.services.register("light", "turn_off", never, Schema({"name": string}))
    return parts


def valid(**changes: Any) -> dict[str, Any]:
    found: dict[str, Any] = automation({**NIGHT, **changes})
    return found


def at(hour: int) -> float:
    return datetime(2026, 3, 2, hour, tzinfo=BERLIN).timestamp()


async def test_what_would_not_run_says_why(parts: AutomationParts) -> None:
    found = await simulate(valid(), parts)

    assert (found["would_run"], found["not_run"], found["calls"]) == (False, "conditions", [])
    assert found["reason"] == "it is 12:00, not after 22:00 or before 06:00"
    assert found["steps"]["condition/0"][0]["result"]["holds"] is False


async def test_at_another_time_it_would_run_and_every_call_is_shown(parts: AutomationParts) -> None:
    told: list[Any] = []
    parts.bus.listen("*", told.append)

    found = await simulate(valid(), parts, trigger="lamp", at=at(23))

    assert found["would_run"] is True
    assert found["calls"] == [
        {"path": "action/1", "service": "light.turn_off", "data": {"name": "light.hall"}},
        {"path": "action/2", "service": "event.went_dark", "data": {"door": "none"}},
    ]
    assert [each["path"] for each in found["skipped"]] == ["action/0"]
    assert found["outcome"] == "finished"
    assert told == []


async def test_templates_see_the_time_that_is_asked_for(parts: AutomationParts) -> None:
    config = valid(conditions="{{ now().hour == 23 }}")

    assert (await simulate(config, parts, at=at(23)))["would_run"] is True
    assert (await simulate(config, parts, at=at(22)))["would_run"] is False


async def test_a_trigger_brings_its_variables(parts: AutomationParts) -> None:
    found = await simulate(valid(), parts, trigger="1", at=at(23))

    assert found["calls"][1]["data"] == {"door": "front"}


async def test_variables_may_be_given(parts: AutomationParts) -> None:
    variables = {"door": "back", "trigger": {"entity_id": "light.attic"}}

    found = await simulate(valid(), parts, trigger="lamp", at=at(23), variables=variables)

    assert found["calls"][0]["data"] == {"name": "light.attic"}
    assert found["calls"][1]["data"] == {"door": "back"}


async def test_conditions_may_be_skipped(parts: AutomationParts) -> None:
    found = await simulate(valid(), parts, skip_conditions=True)

    assert found["would_run"] is True


async def test_a_trigger_that_is_not_there_is_told(parts: AutomationParts) -> None:
    with pytest.raises(NotFound, match=r"no trigger 'bell'; there are: lamp, 1"):
        await simulate(valid(), parts, trigger="bell")


async def test_a_trigger_that_is_no_mapping_is_refused(parts: AutomationParts) -> None:
    with pytest.raises(InvalidRequest):
        await simulate(valid(), parts, variables={"trigger": "lamp"})


async def test_a_condition_that_cannot_be_said_is_an_error(parts: AutomationParts) -> None:
    config = valid(conditions={"condition": "state", "entity_id": "light.nowhere", "state": "on"})

    found = await simulate(config, parts)

    assert (found["would_run"], found["not_run"]) == (False, "error")
    assert "light.nowhere" in found["reason"]


async def test_a_variable_that_cannot_be_rendered_is_an_error(parts: AutomationParts) -> None:
    found = await simulate(valid(variables={"x": "{{ 1 / 0 }}"}), parts)

    assert (found["would_run"], found["not_run"]) == (False, "error")


async def test_no_model_is_asked_unless_that_is_wanted(parts: AutomationParts) -> None:
    config = valid(conditions={"condition": "agent", "question": "Is it so?"})

    found = await simulate(config, parts)

    assert found["would_run"] is True
    assert "no model is asked" in found["reason"]


async def test_a_run_that_would_fail_says_how(parts: AutomationParts) -> None:
    found = await simulate(valid(conditions=[], actions=[{"stop": "broken", "error": True}]), parts)

    assert (found["would_run"], found["outcome"], found["error"]) == (True, "failed", "broken")
