"""Conditions among the actions, `if`, `choose`, `sequence`, `stop`, `variables`, `event`, and what is answered."""

from __future__ import annotations

from typing import Any

import pytest

from hub.automation.contract import RunOutcome
from hub.automation.definition.fields import sequence
from hub.automation.running.dry_run import DryRun
from hub.core.events import Event
from hub.core.schema import Invalid, each_error
from tests.automation.actions.bench import Bench, results, steps_of

ON = {"action": "light.turn_on"}
OFF = {"action": "light.turn_off"}
YES = "{{ true }}"
NO = "{{ false }}"
BROKEN = "{{ 1 / 0 }}"


@pytest.mark.parametrize(
    "condition",
    [
        NO,
        {"condition": "template", "value_template": NO},
        {"not": [YES]},
        {"and": [YES, NO]},
        {"or": [NO]},
        {"condition": "state", "entity_id": "light.a", "state": "on"},
        BROKEN,
    ],
)
async def test_a_condition_that_does_not_hold_stops_the_run(bench: Bench, condition: Any) -> None:
    ended, run = await bench.ended([ON, condition, OFF])

    assert ended.outcome is RunOutcome.STOPPED
    assert ended.error is None
    assert bench.called == ["light.turn_on"]
    assert results(run, "action/1")[0]["holds"] is False


async def test_a_condition_that_holds_lets_the_run_go_on(bench: Bench) -> None:
    bench.parts.states.set("light.a", "on")

    ended, _ = await bench.ended([{"condition": "state", "entity_id": "light.a", "state": "on"}, OFF])

    assert ended.outcome is RunOutcome.FINISHED
    assert bench.called == ["light.turn_off"]


@pytest.mark.parametrize(
    "block",
    [
        {"sequence": [NO, ON]},
        {"if": YES, "then": [NO, ON]},
        {"if": NO, "then": [], "else": [NO, ON]},
        {"choose": [{"conditions": YES, "sequence": [NO, ON]}]},
        {"choose": [], "default": [NO, ON]},
        {"repeat": {"count": 2, "sequence": [NO, ON]}},
        {"parallel": [[NO, ON]]},
    ],
)
async def test_a_condition_inside_of_a_block_ends_only_that_block(bench: Bench, block: dict[str, Any]) -> None:
    ended, _ = await bench.ended([block, OFF])

    assert ended.outcome is RunOutcome.FINISHED
    assert bench.called == ["light.turn_off"]


@pytest.mark.parametrize(
    ("condition", "called"), [(YES, ["light.turn_on"]), (NO, ["light.turn_off"]), (BROKEN, ["light.turn_off"])]
)
async def test_if_takes_one_of_two_ways(bench: Bench, condition: str, called: list[str]) -> None:
    _, run = await bench.ended([{"if": condition, "then": ON, "else": OFF}])

    assert bench.called == called
    assert results(run, "action/0") == [{"choice": "then" if called == ["light.turn_on"] else "else"}]
    assert "action/0/if/condition/0" in steps_of(run)
    assert ("action/0/then/0" in steps_of(run)) is (called == ["light.turn_on"])


@pytest.mark.parametrize(
    ("conditions", "choice", "called"),
    [
        ((YES, YES), 0, ["light.turn_on"]),
        ((NO, YES), 1, ["light.turn_off"]),
        ((BROKEN, YES), 1, ["light.turn_off"]),
        ((NO, NO), "default", ["test.ask"]),
    ],
)
async def test_choose_takes_the_first_that_holds(
    bench: Bench, conditions: tuple[str, str], choice: Any, called: list[str]
) -> None:
    options = [
        {"alias": "first", "conditions": conditions[0], "sequence": [ON]},
        {"conditions": [{"condition": "template", "value_template": conditions[1]}], "sequence": OFF},
    ]

    _, run = await bench.ended([{"choose": options, "default": {"action": "test.ask"}}])

    assert bench.called == called
    assert results(run, "action/0") == [{"choice": choice}]
    assert "action/0/choose/0/conditions/0" in steps_of(run)


async def test_choose_without_default_does_nothing(bench: Bench) -> None:
    ended, _ = await bench.ended([{"choose": {"conditions": NO, "sequence": ON}}])

    assert ended.outcome is RunOutcome.FINISHED
    assert bench.calls == []


@pytest.mark.parametrize(
    ("stop", "outcome", "reason", "error"),
    [
        ({"stop": "enough"}, RunOutcome.STOPPED, "enough", None),
        ({"stop": None}, RunOutcome.STOPPED, "", None),
        ({"stop": "because {{ 1 + 1 }}"}, RunOutcome.STOPPED, "because 2", None),
        ({"stop": "bad", "error": True}, RunOutcome.FAILED, "", "bad"),
    ],
)
async def test_stop_ends_the_run_from_any_depth(
    bench: Bench, stop: dict[str, Any], outcome: RunOutcome, reason: str, error: str | None
) -> None:
    deep = {"repeat": {"count": 2, "sequence": [{"if": YES, "then": [{"parallel": [[ON, stop, ON]]}]}]}}

    ended, _ = await bench.ended([deep, OFF])

    assert (ended.outcome, ended.reason, ended.error) == (outcome, reason, error)
    assert bench.called == ["light.turn_on"]


async def test_stop_answers_with_a_variable(bench: Bench) -> None:
    ended, _ = await bench.ended([{"variables": {"a": {"b": 1}}}, {"stop": "done", "response_variable": "a"}])

    assert ended.response == {"b": 1}


async def test_stop_with_an_unknown_variable_fails(bench: Bench) -> None:
    ended, _ = await bench.ended([{"stop": "done", "response_variable": "nothing"}])

    assert ended.error == "action/0: response_variable: there is no variable nothing"


async def test_variables_see_those_before_them(bench: Bench) -> None:
    steps = [{"variables": {"a": 1, "b": "{{ a + 1 }}"}}, {**ON, "data": {"sum": "{{ a + b }}"}}]

    _, run = await bench.ended(steps)

    assert bench.calls == [("light.turn_on", {"sum": 3})]
    assert steps_of(run)["action/0"][0]["changed_variables"] == {"a": 1, "b": 2}


async def test_an_assignment_in_a_block_changes_the_variable_outside(bench: Bench) -> None:
    steps = [
        {"variables": {"people": 0}},
        {"if": YES, "then": [{"variables": {"people": "{{ people + 1 }}", "anna": True}}]},
        {**ON, "data": {"people": "{{ people }}", "anna": "{{ anna is defined }}"}},
    ]

    await bench.ended(steps)

    assert bench.calls == [("light.turn_on", {"people": 1, "anna": True})]


async def test_the_variables_of_the_automation_are_rendered_in_order(bench: Bench) -> None:
    await bench.ended(
        [{**ON, "data": {"n": "{{ b }}", "from": "{{ trigger.platform }}"}}],
        variables=None,
        trigger={"platform": "event"},
    )

    assert bench.calls[0][1]["from"] == "event"


async def test_the_conversation_response_is_the_last_one(bench: Bench) -> None:
    steps = [{"set_conversation_response": "no"}, {"set_conversation_response": "{{ 'yes' }}"}]

    ended, _ = await bench.ended(steps)

    assert ended.conversation_response == "yes"


async def test_the_conversation_response_can_be_taken_back(bench: Bench) -> None:
    ended, _ = await bench.ended([{"set_conversation_response": "no"}, {"set_conversation_response": None}])

    assert ended.conversation_response is None


@pytest.mark.parametrize(
    ("step", "data"),
    [
        ({"event": "my_event"}, {}),
        ({"event": "my_{{ 'event' }}", "event_data": {"a": "{{ 1 }}", "b": "x"}}, {"a": 1, "b": "x"}),
        ({"event": "my_event", "event_data_template": {"a": "{{ 2 }}"}}, {"a": 2}),
        ({"event": "my_event", "event_data": "{{ {'a': 3} }}"}, {"a": 3}),
    ],
)
async def test_an_event_is_fired(bench: Bench, step: dict[str, Any], data: dict[str, Any]) -> None:
    heard: list[Event] = []
    bench.parts.bus.listen("my_event", heard.append)

    _, run = await bench.ended([step])

    assert [event.data for event in heard] == [data]
    assert heard[0].context.id == run.context.id


async def test_a_dry_event_is_not_fired(bench: Bench) -> None:
    heard: list[Event] = []
    bench.parts.bus.listen("my_event", heard.append)
    dry = DryRun()

    await bench.ended([{"event": "my_event", "event_data": {"a": 1}}], dry=dry)

    assert heard == []
    assert dry.calls == [{"path": "action/0", "service": "event.my_event", "data": {"a": 1}}]


@pytest.mark.parametrize(
    ("step", "path"),
    [
        ({"if": YES}, ["then"]),
        ({"if": YES, "then": [{"nonsense": 1}]}, ["then", 0]),
        ({"choose": [{"conditions": YES}]}, ["choose", 0, "sequence"]),
        ({"choose": [{"conditions": YES, "sequence": [], "x": 1}]}, ["choose", 0, "x"]),
        ({"stop": "x", "error": True, "response_variable": "y"}, ["response_variable"]),
        ({"variables": [1]}, ["variables"]),
        ({"event": "x", "event_data": [1]}, ["event_data"]),
        ({"repeat": {"sequence": []}}, ["repeat"]),
        ({"repeat": {"count": 1, "while": [], "sequence": []}}, ["repeat"]),
        ({"repeat": {"count": -1, "sequence": []}}, ["repeat", "count"]),
        ({"parallel": [{"nonsense": 1}]}, ["parallel", 0]),
        ({"parallel": [[ON, {"nonsense": 1}]]}, ["parallel", 0, 1]),
        ({"delay": "soon"}, ["delay"]),
        ({"delay": {"weeks": 1}}, ["delay", "weeks"]),
        ({"wait_template": YES, "timeout": "soon"}, ["timeout"]),
        ({"wait_for_trigger": {"trigger": "nonsense"}}, ["wait_for_trigger", "trigger"]),
    ],
)
def test_bad_steps_are_told_with_their_path(step: dict[str, Any], path: list[Any]) -> None:
    with pytest.raises(Invalid) as caught:
        sequence([step])

    assert next(iter(each_error(caught.value))).path == [0, *path]
