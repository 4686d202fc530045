"""The tools of the home: states as they are, and only such services as say that a model may call them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from hub.core.schema import Required, Schema, entity_id
from hub.core.services import AgentRule, ResponseMode, ServiceCall
from integrations.tools import home
from tests.integrations.tools.standing import Standing


@pytest.fixture
async def place(standing: Standing) -> Standing:
    await standing.set_up(home)
    standing.states.set("light.kitchen", "on", {"friendly_name": "Kitchen light", "brightness": 80})
    standing.states.set("light.hall", "off")
    standing.states.set("sensor.boiler", "62")
    return standing


async def test_one_entity_is_told(place: Standing) -> None:
    result = await place.call("get_state", {"entity_id": "light.kitchen"})

    assert json.loads(result.output)["states"] == [
        {
            "entity_id": "light.kitchen",
            "name": "Kitchen light",
            "state": "on",
            "attributes": {"friendly_name": "Kitchen light", "brightness": 80},
        }
    ]


@pytest.mark.parametrize(
    ("arguments", "found", "more"),
    [
        ({}, ["light.hall", "light.kitchen", "sensor.boiler"], 0),
        ({"domain": "light"}, ["light.hall", "light.kitchen"], 0),
        ({"search": "kitchen LIGHT"}, ["light.kitchen"], 0),
        ({"search": "cellar"}, [], 0),
        ({"limit": 1}, ["light.hall"], 2),
    ],
)
async def test_several_are_found(place: Standing, arguments: dict[str, Any], found: list[str], more: int) -> None:
    answer = json.loads((await place.call("get_state", arguments)).output)

    assert [each["entity_id"] for each in answer["states"]] == found
    assert answer.get("more", 0) == more


async def test_an_unknown_entity_is_told_its_neighbours(place: Standing) -> None:
    assert "did you mean light.kitchen" in (await place.call("get_state", {"entity_id": "light.kichen"})).output


async def test_a_service_is_called_with_the_callers_authority(place: Standing) -> None:
    calls: list[ServiceCall] = []

    async def turn_on(call: ServiceCall) -> Mapping[str, Any] | None:
        calls.append(call)
        return {"was": "off"}

    schema = Schema({Required("entity_id"): entity_id})
    place.services.register("light", "turn_on", turn_on, schema, agent=AgentRule.ALLOW)
    place.services.register("light", "look", turn_on, schema, ResponseMode.ONLY, AgentRule.ALLOW)
    data = {"entity_id": "light.hall"}

    done = await place.call("call_service", {"domain": "light", "service": "turn_on", "data": data})
    answered = await place.call("call_service", {"domain": "light", "service": "look", "data": data})
    wrong = await place.call("call_service", {"domain": "light", "service": "turn_on", "data": {"entity_id": "x"}})

    assert done.output == "light.turn_on was done"
    assert json.loads(answered.output) == {"was": "off"}
    assert calls[0].context.authority == place.owner
    assert "entity_id: expected an entity id" in wrong.output
    assert len(calls) == 2


@pytest.mark.parametrize(
    ("rule", "code", "words"),
    [
        (AgentRule.NEVER, "NOT_FOUND", "there are: light.blink (Blink once)"),
        (AgentRule.ASK, "FORBIDDEN", "needs the owner's approval"),
    ],
)
async def test_a_service_that_does_not_let_models_in_is_not_called(
    place: Standing, rule: AgentRule, code: str, words: str
) -> None:
    calls: list[ServiceCall] = []

    async def handler(call: ServiceCall) -> None:
        calls.append(call)

    place.services.register("hub", "stop", handler, agent=rule)
    place.services.register("light", "blink", handler, agent=AgentRule.ALLOW, description="Blink once")

    result = await place.call("call_service", {"domain": "hub", "service": "stop"})

    assert (result.is_error, result.details["code"]) == (True, code)
    assert words in result.output
    assert calls == []


async def test_strangers_neither_look_nor_act(place: Standing) -> None:
    look = await place.call("get_state", {}, authority=place.stranger)
    act = await place.call("call_service", {"domain": "a", "service": "b"}, authority=place.stranger)

    assert look.is_error
    assert act.is_error
    assert "kitchen" not in look.output
