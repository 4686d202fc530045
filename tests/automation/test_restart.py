"""What was due while the hub was down, and what it was in the middle of: each exactly once, as it says."""

from __future__ import annotations

import pytest

from hub.automation.contract import NotRun, RunOutcome
from tests.automation.engine_rig import Engine

MINUTE, HOUR, DAY = 60.0, 3_600.0, 86_400.0

HOURLY = """
- id: hourly
  triggers: [{{trigger: cron, expression: 0 * * * *}}]
  {catch_up}
  actions: [{{action: light.turn_on, data: {{n: 1}}}}]
"""


async def down_for(engine: Engine, seconds: float, *, killed: bool = True) -> None:
    await (engine.kill() if killed else engine.stop())
    await engine.start(engine.at + seconds)
    await engine.settle()


@pytest.mark.parametrize("killed", [True, False])
@pytest.mark.parametrize(
    ("catch_up", "down", "made_up"),
    [
        ("catch_up: none", MINUTE, 0),
        ("catch_up: none", 3 * HOUR, 0),
        ("catch_up: last", MINUTE, 0),
        ("catch_up: last", 3 * HOUR, 1),
        ("catch_up: last", 3 * DAY, 1),
        ("catch_up: all", MINUTE, 0),
        ("catch_up: all", 3 * HOUR, 3),
        ("catch_up: all", 3 * DAY, 24),
        ("catch_up: {mode: all, within: 2h}", 3 * DAY, 2),
        ("catch_up: {mode: last, within: 10m}", 3 * HOUR, 0),
    ],
)
async def test_runs_missed_while_the_hub_was_down_are_made_up_as_it_says(
    engine: Engine, catch_up: str, down: float, made_up: int, killed: bool
) -> None:
    mode = "mode: queued\n  max: 100\n  " + catch_up
    engine.write(HOURLY.format(catch_up=mode))
    await engine.start()
    await engine.advance(HOUR + 20 * MINUTE)
    await engine.until(lambda: len(engine.results) == 1)

    await down_for(engine, down, killed=killed)
    await engine.until(lambda: len(engine.calls) > made_up)
    await engine.settle()

    assert len(engine.calls) == 1 + made_up


async def test_what_is_not_made_up_is_told(engine: Engine) -> None:
    engine.write(HOURLY.format(catch_up="catch_up: {mode: last, within: 10m}"))
    await engine.start()

    await down_for(engine, 3 * HOUR + 20 * MINUTE)

    [told] = await engine.traces.not_run("hourly")
    assert (told["reason"], engine.calls) == (NotRun.MISSED, [])


async def test_what_was_made_up_is_not_made_up_again(engine: Engine) -> None:
    engine.write(HOURLY.format(catch_up="catch_up: last"))
    await engine.start()

    for _ in range(3):
        await down_for(engine, 0)
    await down_for(engine, 2 * HOUR)
    for _ in range(3):
        await down_for(engine, MINUTE)

    assert len(engine.calls) == 1


async def test_the_clock_that_jumps_ahead_causes_no_storm(engine: Engine) -> None:
    engine.write(HOURLY.format(catch_up="mode: queued"))
    await engine.start()

    engine.jump(30 * DAY)
    await engine.advance(HOUR)
    engine.jump(-30 * DAY)
    await engine.advance(HOUR)

    assert 1 <= len(engine.calls) <= 3


@pytest.mark.parametrize("down", [MINUTE, 3 * HOUR, 3 * DAY])
async def test_a_reminder_comes_late_rather_than_never(engine: Engine, down: float) -> None:
    engine.write(
        "- {id: tea, delete_after_run: true, triggers: [{trigger: at, at: 30s}], actions: [{action: light.turn_on}]}"
    )
    await engine.start()

    await down_for(engine, down)
    await down_for(engine, MINUTE)

    assert len(engine.calls) == 1
    assert set(engine.deleted) == {"tea"}


STEPS = """
- id: steps
  triggers: [{trigger: event, event_type: bell}]
  actions:
    - {action: light.turn_on, data: {n: 1}}
    - %s
    - {action: light.turn_on, data: {n: 2, seen: "{{ trigger.event.data.door }}"}}
"""


@pytest.mark.parametrize("down", [MINUTE, 3 * HOUR, 3 * DAY])
@pytest.mark.parametrize(
    "step",
    [
        "delay: 10m",
        "{repeat: {count: 2, sequence: [{delay: 5m}]}}",
        "{if: '{{ true }}', then: [{delay: 10m}]}",
        "{parallel: [[{delay: 10m}], [{delay: 2m}]]}",
        "{wait_template: '{{ false }}', timeout: 10m}",
        "{wait_for_trigger: [{trigger: event, event_type: never}], timeout: 10m}",
    ],
)
async def test_a_run_that_waits_goes_on_where_it_was(engine: Engine, step: str, down: float) -> None:
    engine.write(STEPS % step)
    await engine.start()
    engine.fire("bell", {"door": "front"})
    await engine.settle()
    assert engine.calls == [("light.turn_on", {"n": 1})]

    await down_for(engine, down)
    for _ in range(5):
        await engine.advance(5 * MINUTE)
        await engine.settle()
    await down_for(engine, MINUTE)

    assert engine.calls == [("light.turn_on", {"n": 1}), ("light.turn_on", {"n": 2, "seen": "front"})]


async def test_a_run_whose_automation_was_changed_meanwhile_is_told_and_given_up(engine: Engine) -> None:
    engine.write(STEPS % "delay: 10m")
    await engine.start()
    engine.fire("bell", {"door": "front"})
    await engine.settle()

    await engine.kill()
    engine.write(STEPS.replace("n: 2", "n: 3") % "delay: 10m")
    await engine.start(engine.at + HOUR)
    await engine.settle()

    [trace] = await engine.traces.list("steps")
    assert (trace["outcome"], len(engine.calls)) == (RunOutcome.INTERRUPTED, 1)
    assert "changed" in trace["error"]


async def test_what_does_not_persist_ends_with_the_hub(engine: Engine) -> None:
    engine.write((STEPS % "delay: 10m") + "  persist: false\n")
    await engine.start()
    engine.fire("bell", {"door": "front"})
    await engine.settle()

    await down_for(engine, HOUR)

    assert len(engine.calls) == 1


async def test_occurrences_that_wait_for_their_turn_are_not_lost_in_a_crash(engine: Engine) -> None:
    slow = HOURLY.format(catch_up="catch_up: all\n  mode: queued\n  max: 10\n  persist: false").replace(
        "[{action: light.turn_on, data: {n: 1}}]", "[{delay: 30}, {action: light.turn_on, data: {n: 1}}]"
    )
    engine.write(slow)
    await engine.start()
    await down_for(engine, 3 * HOUR)
    await engine.advance(31)
    await engine.until(lambda: len(engine.results) == 1)
    await engine.settle()

    await down_for(engine, MINUTE)
    for _ in range(4):
        await engine.advance(31)
        await engine.settle()

    # The second was cut off in the middle, and says that it does not persist; the third had not begun.
    assert len(engine.calls) == 2


async def test_runs_that_wait_for_their_turn_go_on_in_order(engine: Engine) -> None:
    engine.write(
        "- id: steps\n  mode: queued\n  triggers: [{trigger: event, event_type: bell}]\n"
        "  actions: [{delay: 10m}, {action: light.turn_on, data: {n: '{{ trigger.event.data.n }}'}}]\n"
    )
    await engine.start()
    for number in range(3):
        engine.fire("bell", {"n": number})
    await engine.settle()

    await down_for(engine, MINUTE)
    for _ in range(8):
        await engine.advance(5 * MINUTE)
        await engine.settle()

    assert [data["n"] for _, data in engine.calls] == [0, 1, 2]


async def test_an_automation_may_turn_itself_off(engine: Engine) -> None:
    engine.write(
        "- id: steps\n  triggers: [{trigger: event, event_type: bell}]\n"
        "  actions: [{action: automation.turn_off, target: {entity_id: automation.steps}}, {action: light.turn_on}]\n"
    )
    await engine.start()
    engine.fire("bell")
    await engine.until(lambda: bool(engine.results))

    engine.fire("bell")
    await engine.settle()

    assert engine.automations.status("steps").state == "off"
    assert [each.outcome for each in engine.results] == [RunOutcome.CANCELLED]


async def test_what_was_due_behind_a_stop_is_told_also_when_it_is_never_made_up(engine: Engine) -> None:
    engine.write(HOURLY.format(catch_up="catch_up: none"))
    await engine.start()
    await engine.advance(HOUR + MINUTE)
    await engine.until(lambda: len(engine.results) == 1)

    await down_for(engine, 3 * HOUR + 20 * MINUTE, killed=False)
    [told] = await engine.traces.not_run("hourly")
    await down_for(engine, MINUTE)

    assert told["reason"] == NotRun.MISSED
    assert await engine.traces.not_run("hourly") == []
    assert len(engine.calls) == 1


async def test_a_schedule_that_was_edited_counts_from_then(engine: Engine) -> None:
    engine.write(HOURLY.format(catch_up="catch_up: last"))
    await engine.start()
    await engine.advance(HOUR + MINUTE)
    await engine.until(lambda: len(engine.results) == 1)

    await engine.kill()
    engine.write(HOURLY.format(catch_up="catch_up: last").replace("0 * * * *", "30 * * * *"))
    await engine.start(engine.at + 3 * HOUR)
    await engine.settle()

    assert len(engine.calls) == 1


async def test_what_ran_and_could_not_remove_itself_is_taken_out_at_the_next_start(engine: Engine) -> None:
    engine.write(
        "- {id: tea, delete_after_run: true, triggers: [{trigger: at, at: 30s}], actions: [{action: light.turn_on}]}"
    )
    await engine.start()
    await engine.advance(31)
    await engine.until(lambda: engine.deleted == ["tea"])

    await down_for(engine, MINUTE)

    assert engine.deleted == ["tea", "tea"]
    assert len(engine.calls) == 1
