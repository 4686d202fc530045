"""One automation: the outcome of a firing, and the reason when nothing runs."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from hub.automation.contract import NotRun, RunOutcome
from hub.automation.running.run import RunState
from hub.core.context import system_context
from hub.core.errors import NotFound, Unavailable
from tests.automation.engine_rig import Engine

ON_BELL = """
- id: hall
  alias: Hall light
  triggers: [{trigger: event, event_type: bell}]
"""
TURN_ON = "  actions: [{action: light.turn_on, data: {n: 1}}]\n"
TURN_ON_AFTER_TEN = "  actions: [{delay: 10}, {action: light.turn_on, data: {n: 1}}]\n"


async def ring(engine: Engine, times: int = 1, **data: Any) -> None:
    for _ in range(times):
        engine.fire("bell", data)
    await engine.settle()


async def why_not(engine: Engine) -> list[tuple[str, str]]:
    return [(each["reason"], each["text"]) for each in await engine.traces.not_run("hall")]


async def test_a_trigger_runs_the_actions_and_tells_the_result(engine: Engine) -> None:
    engine.write(ON_BELL + TURN_ON)
    await engine.start()

    await ring(engine)

    assert engine.calls == [("light.turn_on", {"n": 1})]
    assert [(each.automation_id, each.outcome) for each in engine.results] == [("hall", RunOutcome.FINISHED)]
    assert engine.parts.states.get("automation.hall_light").attributes["last_triggered"] is not None  # type: ignore[union-attr]


async def test_conditions_that_do_not_hold_are_told_with_their_reason(engine: Engine) -> None:
    engine.write(ON_BELL + "  conditions: [{condition: state, entity_id: sun.sun, state: below_horizon}]\n" + TURN_ON)
    await engine.start()
    engine.parts.states.set("sun.sun", "above_horizon")

    await ring(engine)

    [(reason, text)] = await why_not(engine)
    assert engine.calls == []
    assert reason == NotRun.CONDITIONS
    assert "above_horizon" in text


async def test_a_condition_that_cannot_be_evaluated_is_told_as_an_error(engine: Engine) -> None:
    engine.write(ON_BELL + "  conditions: ['{{ trigger.event.data.nothing.further }}']\n" + TURN_ON)
    await engine.start()

    await ring(engine)

    [(reason, text)] = await why_not(engine)
    assert (reason, engine.calls) == (NotRun.ERROR, [])
    assert "further" in text


async def test_the_time_until_its_turn_does_not_count_for_the_timeout(engine: Engine) -> None:
    engine.write(ON_BELL + "  mode: queued\n  timeout: 15\n" + TURN_ON_AFTER_TEN)
    await engine.start()
    await ring(engine, 3)

    for _ in range(3):
        await engine.advance(10)
        await engine.settle()

    assert [each.outcome for each in engine.results] == [RunOutcome.FINISHED] * 3


async def test_the_time_until_the_owner_says_yes_does_not_count_for_the_timeout(tmp_path: Any) -> None:
    asked = asyncio.Event()

    async def yes(run: RunState) -> bool:
        await asked.wait()
        return True

    engine = Engine(tmp_path, yes)
    engine.write(ON_BELL + "  approval: required\n  timeout: 15\n" + TURN_ON_AFTER_TEN)
    await engine.start()
    await ring(engine)
    await engine.advance(60)

    asked.set()
    await engine.settle()
    await engine.advance(10)
    await engine.settle()

    assert [each.outcome for each in engine.results] == [RunOutcome.FINISHED]
    await engine.stop()


@pytest.mark.parametrize(
    ("mode", "began", "refused"),
    [
        ("single", 1, 2),
        ("restart", 3, 0),
        ("queued\n  max: 2", 2, 1),
        ("parallel\n  max: 2", 2, 1),
    ],
)
async def test_the_mode_decides_what_a_trigger_does_while_it_runs(
    engine: Engine, mode: str, began: int, refused: int
) -> None:
    engine.write(ON_BELL + f"  mode: {mode}\n" + TURN_ON_AFTER_TEN)
    await engine.start()

    await ring(engine, 3)
    await engine.advance(25)

    ended = [each.outcome for each in engine.results]
    assert len(ended) == began
    assert len(engine.calls) == ended.count(RunOutcome.FINISHED) == (1 if mode == "restart" else began)
    assert len(await why_not(engine)) == refused


async def test_a_rate_limit_lets_no_more_runs_begin(engine: Engine) -> None:
    engine.write(ON_BELL + "  rate_limit: {runs: 2, per: 60}\n" + TURN_ON)
    await engine.start()

    for _ in range(3):
        await ring(engine)
    await engine.advance(61)
    await ring(engine)

    assert len(engine.calls) == 3
    assert [reason for reason, _ in await why_not(engine)] == [NotRun.RATE_LIMIT]


async def test_without_anybody_who_counts_a_budget_lets_nothing_run(engine: Engine) -> None:
    engine.write(ON_BELL + "  budget: {cost_usd: 1}\n" + TURN_ON)
    await engine.start()

    await ring(engine)

    assert [reason for reason, _ in await why_not(engine)] == [NotRun.BUDGET]


async def test_failures_in_a_row_pause_it_until_it_is_turned_on(engine: Engine) -> None:
    engine.write(ON_BELL + "  pause_after: 2\n  actions: [{action: test.fail}]\n")
    await engine.start()

    for _ in range(3):
        await ring(engine)
    paused = engine.automations.get("hall").paused_reason
    repairs = [repair.id for repair in engine.parts.repairs.all()]
    await engine.automations.get("hall").turn_on()
    await ring(engine)

    assert paused is not None
    assert "2 times" in paused
    assert "hall:paused" in repairs
    assert [call for call, _ in engine.calls] == ["test.fail"] * 3
    assert [reason for reason, _ in await why_not(engine)] == [NotRun.PAUSED]
    assert engine.parts.repairs.all() == []


async def test_a_run_that_succeeds_forgives_those_that_failed(engine: Engine) -> None:
    engine.write(
        ON_BELL
        + "  pause_after: 2\n"
        + "  actions: [{if: '{{ trigger.event.data.bad }}', then: [{action: test.fail}]}, {action: light.turn_on}]\n"
    )
    await engine.start()

    for bad in (True, False, True, False):
        await ring(engine, bad=bad)

    assert engine.automations.get("hall").paused_reason is None
    assert engine.automations.get("hall").failures == 0


async def test_an_automation_that_sets_itself_off_is_stopped(engine: Engine) -> None:
    engine.write(ON_BELL + "  mode: parallel\n  max: 100\n  actions: [{event: bell}]\n")
    await engine.start()

    await ring(engine)
    for _ in range(10):
        await engine.settle()

    [(reason, text)] = await why_not(engine)
    assert reason == NotRun.ERROR
    assert "itself" in text
    assert len(engine.results) < 20


async def test_it_can_be_run_by_hand_with_variables_and_without_its_conditions(engine: Engine) -> None:
    engine.write(
        ON_BELL + "  conditions: ['{{ false }}']\n" + "  actions: [{action: light.turn_on, data: {n: '{{ level }}'}}]\n"
    )
    await engine.start()

    begun = await engine.automations.trigger("Hall light", {"level": 7}, system_context())
    held_back = await engine.automations.trigger(
        "automation.hall_light", {"level": 8}, system_context(), skip_conditions=False
    )
    await engine.settle()

    assert begun.run_id is not None
    assert held_back.not_run == NotRun.CONDITIONS
    assert engine.calls == [("light.turn_on", {"n": 7})]


async def test_turned_off_it_ends_what_runs_and_stays_off_over_a_restart(engine: Engine) -> None:
    engine.write(ON_BELL + TURN_ON_AFTER_TEN)
    await engine.start()
    await ring(engine)

    await engine.automations.get("hall").turn_off()
    await engine.stop()
    await engine.start()
    await ring(engine)
    await engine.advance(20)

    assert engine.calls == []
    assert engine.automations.status("hall").state == "off"
    assert [each.outcome for each in engine.results] == [RunOutcome.CANCELLED]


async def test_it_removes_itself_once_it_ran_when_it_says_so(engine: Engine) -> None:
    engine.write(ON_BELL + "  delete_after_run: true\n" + TURN_ON)
    await engine.start()

    await ring(engine)

    assert engine.deleted == ["hall"]


async def test_a_refused_approval_ends_the_run_before_anything_is_done(tmp_path: Any) -> None:
    answers = [False, True]

    async def approve(run: RunState) -> bool:
        return answers.pop(0)

    engine = Engine(tmp_path, approve)
    engine.write(ON_BELL + "  approval: required\n" + TURN_ON)
    await engine.start()

    await ring(engine)
    await ring(engine)

    assert [each.outcome for each in engine.results] == [RunOutcome.DENIED, RunOutcome.FINISHED]
    assert len(engine.calls) == 1
    await engine.stop()


async def test_an_approval_that_is_asked_for_is_asked_again_after_a_restart(tmp_path: Any) -> None:
    asked: list[str] = []
    answer = asyncio.Event()

    async def approve(run: RunState) -> bool:
        asked.append(run.id)
        await answer.wait()
        return True

    engine = Engine(tmp_path, approve)
    engine.write(ON_BELL + "  approval: required\n" + TURN_ON)
    await engine.start()
    await ring(engine)

    await engine.kill()
    await engine.start()
    answer.set()
    await engine.settle()

    assert len(asked) == 2
    assert asked[0] == asked[1]
    assert len(engine.calls) == 1
    await engine.stop()


async def test_each_can_be_asked_for_while_others_are_put_into_force(engine: Engine) -> None:
    await engine.start()
    engine.write("".join(f"- {{id: a{number}, triggers: [], actions: [{{delay: 1}}]}}\n" for number in range(2_000)))
    seen = []

    reloading = asyncio.create_task(engine.reload())
    while not reloading.done():
        with suppress(NotFound):
            seen.append(engine.automations.status("a0"))
        await asyncio.sleep(0)
    await reloading

    assert len(engine.automations.all()) == 2_000
    assert seen
    assert all(each.location == {"file": "automations.yaml", "line": 1, "column": 3} for each in seen)


FAILS = "  actions: [{delay: 0}, {action: test.fail}]\n"
ENDLESS = "  timeout: 1\n  actions: [{delay: 60}]\n"
UNDECIDED = "  conditions: ['{{ trigger.event.data.nothing.further }}']\n" + TURN_ON
NO_VALUE = "  variables: {a: '{{ 1 / 0 }}'}\n" + TURN_ON
LOST = "  on_error: [{action: nobody.knows}]\n" + FAILS


@pytest.mark.parametrize(
    ("rest", "error", "told"),
    [
        (FAILS, Unavailable("the bulb is gone"), ["Hall light (hall) failed: action/1: the bulb is gone"]),
        (FAILS, RuntimeError("of ours"), ["Hall light (hall) failed: action/1: RuntimeError: of ours"]),
        (ENDLESS, None, ["Hall light (hall) failed: it took longer than 1 s"]),
        (UNDECIDED, None, ["automation hall was set off and did not run:"]),
        (NO_VALUE, None, ["automation hall was set off and did not run:"]),
        (LOST, Unavailable("gone"), ["on_error: on_error/0: there is no service nobody", "action/1: gone"]),
        ("  on_error: continue\n" + FAILS, Unavailable("gone"), []),
        ("  on_error: continue\n" + FAILS, RuntimeError("of ours"), ["hall: action/1 failed, and the run goes on"]),
        (TURN_ON, None, []),
    ],
)
async def test_a_run_that_fails_is_one_line_of_the_log(
    engine: Engine, rest: str, error: Exception | None, told: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    engine.write(ON_BELL + rest)
    engine.fail_with = error
    await engine.start()

    await ring(engine)
    await engine.advance(2)
    await engine.settle()

    lines = [record for record in caplog.records if record.name.startswith("hub.automation")]
    assert len(lines) == len(told), caplog.text
    for line, part in zip(lines, told, strict=True):
        assert part in line.getMessage()
        assert line.levelname == "WARNING"
        assert bool(line.exc_info) == isinstance(error, RuntimeError)


async def test_a_blueprint_that_cannot_be_used_is_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    class Shelf(Engine):
        def expand(self, item: Mapping[str, Any]) -> dict[str, Any]:
            raise NotFound("there is no blueprint a.yaml")

    engine = Shelf(tmp_path)
    engine.write("[{id: hall, use_blueprint: {path: a.yaml}}]")

    await engine.start()

    assert "The automation hall is unavailable: there is no blueprint a.yaml" in caplog.text
    await engine.stop()


REGISTRY_ID, LIMIT_ID = "3f2a" * 8, "5c6d" * 8


@pytest.mark.parametrize("known_at_once", [True, False])
async def test_an_entity_is_found_by_the_id_of_another_registry(engine: Engine, known_at_once: bool) -> None:
    trigger = f"- id: hall\n  triggers: [{{trigger: state, entity_id: {REGISTRY_ID}, to: 'on'}}]\n"
    engine.write(trigger + f"  conditions: [{{condition: state, entity_id: [{REGISTRY_ID}], state: 'on'}}]\n" + TURN_ON)
    names = {REGISTRY_ID: "light.desk"} if known_at_once else {}
    engine.named = names.get
    await engine.start()

    names[REGISTRY_ID] = "light.desk"
    engine.fire("entity_registry_updated", {"action": "create", "entity_id": "light.desk", "changes": {}})
    await engine.settle()
    engine.parts.states.set("light.desk", "off")
    engine.parts.states.set("light.desk", "on")
    await engine.settle()

    assert engine.calls == [("light.turn_on", {"n": 1})]


async def test_an_entity_is_found_by_its_id_after_a_rename_and_a_return(engine: Engine) -> None:
    trigger = f"- id: hall\n  triggers: [{{trigger: numeric_state, entity_id: {REGISTRY_ID}, above: {LIMIT_ID}}}]\n"
    engine.write(trigger + TURN_ON)
    names = {REGISTRY_ID: "sensor.desk", LIMIT_ID: "sensor.limit"}
    engine.named = names.get
    await engine.start()
    events = []

    async def turn(sensor: str, limit: str, calls: int) -> None:
        engine.parts.states.set(limit, "5")
        for value in ("1", "9"):
            engine.parts.states.set(sensor, value)
        await engine.until(lambda: len(engine.calls) >= calls)
        await engine.settle()
        events.append(len(engine.calls))

    await turn("sensor.desk", "sensor.limit", 1)
    names |= {REGISTRY_ID: "sensor.table", LIMIT_ID: "sensor.bound"}
    for old, new in (("sensor.desk", "sensor.table"), ("sensor.limit", "sensor.bound")):
        engine.fire("entity_registry_updated", {"action": "update", "entity_id": new, "old_entity_id": old})
        await engine.settle()
    await turn("sensor.table", "sensor.bound", 2)
    del names[REGISTRY_ID]
    engine.fire("entity_registry_updated", {"action": "remove", "entity_id": "sensor.table", "changes": {}})
    await engine.settle()
    await turn("sensor.table", "sensor.bound", 2)
    names[REGISTRY_ID] = "sensor.again"
    engine.fire("entity_registry_updated", {"action": "create", "entity_id": "sensor.again", "changes": {}})
    await engine.settle()
    await turn("sensor.again", "sensor.bound", 3)

    assert events == [1, 2, 2, 3]
