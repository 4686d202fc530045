"""`action`: calls of services, with each of its keys."""

from __future__ import annotations

from typing import Any

import pytest

from hub.automation.contract import RunOutcome
from hub.automation.definition.fields import sequence
from hub.automation.running.dry_run import DryRun
from hub.core.schema import Invalid
from tests.automation.actions.bench import Bench, results, steps_of


async def test_target_is_merged_into_data(bench: Bench) -> None:
    step = {"action": "light.turn_on", "target": {"entity_id": "light.a, light.b"}, "data": {"brightness": 5}}

    ended, _ = await bench.ended([step])

    assert ended.outcome is RunOutcome.FINISHED
    assert bench.calls == [("light.turn_on", {"brightness": 5, "entity_id": ["light.a", "light.b"]})]


@pytest.mark.parametrize(
    ("step", "call"),
    [
        ({"service": "light.turn_on"}, ("light.turn_on", {})),
        ({"action": "light.turn_on", "metadata": {"x": 1}, "data": {}}, ("light.turn_on", {})),
        ({"action": "light.{{ which }}"}, ("light.turn_off", {})),
        ({"action": "light.turn_on", "data": {"level": "{{ 1 + 1 }}"}}, ("light.turn_on", {"level": 2})),
        ({"action": "light.turn_on", "data": "{{ {'a': 1} }}"}, ("light.turn_on", {"a": 1})),
        ({"action": "light.turn_on", "data_template": {"a": "{{ which }}"}}, ("light.turn_on", {"a": "turn_off"})),
        (
            {"action": "light.turn_on", "target": {"entity_id": "{{ ['light.a', 'light.b'] }}"}},
            ("light.turn_on", {"entity_id": ["light.a", "light.b"]}),
        ),
        (
            {"action": "light.turn_on", "target": "{{ {'entity_id': 'light.a'} }}"},
            ("light.turn_on", {"entity_id": "light.a"}),
        ),
    ],
)
async def test_each_form_calls(bench: Bench, step: dict[str, Any], call: tuple[str, dict[str, Any]]) -> None:
    await bench.ended([step], variables={"which": "turn_off"})

    assert bench.calls == [call]


async def test_a_response_becomes_a_variable(bench: Bench) -> None:
    steps = [
        {"action": "test.ask", "response_variable": "answer"},
        {"action": "light.turn_on", "data": {"level": "{{ answer.value }}"}},
    ]

    _, run = await bench.ended(steps)

    assert bench.calls[1] == ("light.turn_on", {"level": 42})
    assert steps_of(run)["action/0"][0]["changed_variables"] == {"answer": {"value": 42}}


async def test_a_response_from_outside_taints_what_follows(bench: Bench) -> None:
    steps = [
        {"action": "light.turn_on"},
        {"action": "test.outside", "response_variable": "text"},
        {"action": "light.turn_on"},
    ]

    await bench.ended(steps)

    assert [context.authority.tainted for context in bench.contexts] == [False, False, True]


@pytest.mark.parametrize(
    ("step", "text"),
    [
        ({"action": "no.such"}, "action/0: there is no service no.such"),
        ({"action": "test.fail"}, "action/0: it is out of order"),
        ({"action": "test.mistake"}, "action/0: ValueError: a mistake"),
        ({"action": "light.turn_on", "response_variable": "x"}, "action/0: service light.turn_on returns no response"),
        ({"action": "{{ 'nonsense' }}"}, "action/0: 'nonsense' is not the name of a service"),
        ({"action": "light.turn_on", "data": "{{ 5 }}"}, "action/0: data is not a mapping, but 5"),
        ({"action": "light.turn_on", "data": {"a": "{{ 1 / 0 }}"}}, "division by zero"),
    ],
)
async def test_an_error_ends_the_run_and_names_the_step(bench: Bench, step: dict[str, Any], text: str) -> None:
    ended, run = await bench.ended([step, {"action": "light.turn_off"}])

    assert ended.outcome is RunOutcome.FAILED
    assert text in (ended.error or "")
    assert "error" in steps_of(run)["action/0"][0]
    assert "light.turn_off" not in bench.called


async def test_continue_on_error_goes_on(bench: Bench) -> None:
    steps = [{"action": "test.fail", "continue_on_error": True}, {"action": "light.turn_on"}]

    ended, run = await bench.ended(steps)

    assert ended.outcome is RunOutcome.FINISHED
    assert bench.called == ["test.fail", "light.turn_on"]
    assert steps_of(run)["action/0"][0]["error"] == "it is out of order"


@pytest.mark.parametrize(
    ("enabled", "called"), [(True, 1), (False, 0), ("{{ yes }}", 1), ("{{ not yes }}", 0), ("off", 0), ("yes", 1)]
)
async def test_a_step_that_is_not_enabled_is_left_out(bench: Bench, enabled: Any, called: int) -> None:
    await bench.ended([{"action": "light.turn_on", "enabled": enabled}], variables={"yes": True})

    assert len(bench.calls) == called


async def test_a_dry_call_is_recorded_and_answers_with_nothing(bench: Bench) -> None:
    dry = DryRun()
    steps = [
        {"action": "test.ask", "response_variable": "answer"},
        {"action": "no.such", "data": {"n": "{{ answer | length }}"}},
    ]

    ended, _ = await bench.ended(steps, dry=dry)

    assert ended.outcome is RunOutcome.FINISHED
    assert bench.calls == []
    assert dry.calls == [
        {"path": "action/0", "service": "test.ask", "data": {}},
        {"path": "action/1", "service": "no.such", "data": {"n": 0}},
    ]


async def test_what_a_service_began_is_told_in_the_trace(bench: Bench) -> None:
    bench.offer("agent.run", answer={"run_id": "r1"})

    _, run = await bench.ended([{"action": "agent.run"}])

    assert steps_of(run)["action/0"][0]["child"] == {"run_id": "r1"}
    assert results(run, "action/0") == [{"service": "agent.run", "data": {}}]


async def test_without_templates_text_is_text(bench: Bench) -> None:
    await bench.ended([{"action": "light.turn_on", "data": {"text": "{{ 1 + 1 }}"}}], templates=False)

    assert bench.calls == [("light.turn_on", {"text": "{{ 1 + 1 }}"})]


@pytest.mark.parametrize(
    ("step", "path", "text"),
    [
        ({"action": "nonsense"}, ["action"], "expected the name of a service"),
        ({"action": "light.turn_on", "target": {"room": "kitchen"}}, ["target", "room"], "extra keys"),
        ({"action": "light.turn_on", "data": 5}, ["data"], "expected"),
        ({"action": "light.turn_on", "dta": {}}, ["dta"], "extra keys"),
        ({"action": "light.turn_on", "data": {"a": "{{ 1 +"}}, ["data", "a"], "template is not valid"),
    ],
)
def test_bad_calls_are_told_with_their_path(step: dict[str, Any], path: list[str], text: str) -> None:
    with pytest.raises(Invalid) as caught:
        sequence([step])

    error = caught.value.errors[0]  # type: ignore[attr-defined]
    assert error.path == [0, *path]
    assert text in str(error)
