"""`delay`, `wait_template`, `wait_for_trigger`: how long, until when, and what `wait` tells."""

from __future__ import annotations

from typing import Any

import pytest

from hub.automation.contract import RunOutcome
from hub.automation.running.dry_run import DryRun
from hub.integration.mqtt_topics import EVENT_MESSAGE
from tests.automation.actions.bench import Bench, results
from tests.automation.ground import clock_of

ON = {"action": "light.turn_on"}
TOLD = {"action": "light.turn_on", "data": {"wait": "{{ wait }}"}}
LIGHT_ON = "{{ is_state('light.a', 'on') }}"


@pytest.mark.parametrize(
    ("delay", "seconds"),
    [
        (5, 5),
        ("00:01:30", 90),
        ("01:00", 3_600),
        ("1h 30m", 5_400),
        ({"minutes": 1, "seconds": 2, "milliseconds": 500}, 62.5),
        ({"minutes": "{{ 1 + 1 }}"}, 120),
        ("{{ 7 }}", 7),
        ("{{ '00:00:07' }}", 7),
        ("00:00:{{ '07' }}", 7),
    ],
)
async def test_a_delay_lasts_as_long_as_it_says(bench: Bench, delay: Any, seconds: float) -> None:
    task = bench.start(bench.run([{"delay": delay}, ON]))

    await bench.advance(seconds - 0.25)
    assert bench.calls == []
    await bench.advance(0.25)

    assert (await task).outcome is RunOutcome.FINISHED
    assert bench.called == ["light.turn_on"]


async def test_a_delay_that_is_no_duration_fails(bench: Bench) -> None:
    ended, _ = await bench.ended([{"delay": "{{ 'soon' }}"}])

    assert ended.outcome is RunOutcome.FAILED
    assert (ended.error or "").startswith("action/0: delay: expected a duration")


async def test_a_clock_that_goes_back_prolongs_no_delay(bench: Bench) -> None:
    task = bench.start(bench.run([{"delay": 60}, ON]))
    await bench.advance(10)

    clock_of(bench.parts).jump(-3_600)
    await bench.advance(50)

    assert task.done()


async def test_a_machine_that_slept_ends_its_delay_soon_after(bench: Bench) -> None:
    task = bench.start(bench.run([{"delay": 3_600}, ON]))
    await bench.advance(10)

    clock_of(bench.parts).jump(7_200)
    await bench.advance(30)

    assert task.done()


async def test_a_wait_for_what_is_so_already_ends_at_once(bench: Bench) -> None:
    bench.parts.states.set("light.a", "on")

    await bench.ended([{"wait_template": LIGHT_ON}, TOLD])

    assert bench.calls == [("light.turn_on", {"wait": {"completed": True, "remaining": None}})]


async def test_a_wait_ends_when_the_template_comes_true(bench: Bench) -> None:
    task = bench.start(bench.run([{"wait_template": LIGHT_ON, "timeout": 60}, TOLD]))
    await bench.advance(20)

    bench.parts.states.set("light.a", "on")
    bench.parts.states.set("light.a", "off")
    await bench.advance()

    assert task.done()
    assert bench.calls == [("light.turn_on", {"wait": {"completed": True, "remaining": 40.0}})]


@pytest.mark.parametrize("where", ["{{ states.light | selectattr('state', 'eq', 'on') | list | count > 0 }}", LIGHT_ON])
async def test_a_wait_hears_of_entities_that_come_later(bench: Bench, where: str) -> None:
    task = bench.start(bench.run([{"wait_template": where}]))
    await bench.advance()

    bench.parts.states.set("light.b", "off")
    bench.parts.states.set("light.a", "on")
    await bench.advance()

    assert task.done()


async def test_a_template_about_the_time_is_looked_at_each_minute(bench: Bench) -> None:
    task = bench.start(bench.run([{"wait_template": "{{ now().minute == 2 }}"}]))

    await bench.advance(119)
    assert not task.done()
    await bench.advance(1)

    assert task.done()


async def test_a_timeout_goes_on_and_tells(bench: Bench) -> None:
    task = bench.start(bench.run([{"wait_template": LIGHT_ON, "timeout": "{{ 5 }}"}, TOLD]))

    await bench.advance(5)

    assert (await task).outcome is RunOutcome.FINISHED
    assert bench.calls == [("light.turn_on", {"wait": {"completed": False, "remaining": 0.0}})]


@pytest.mark.parametrize(
    "wait",
    [
        {"wait_template": LIGHT_ON},
        {"wait_template": "false"},
        {"wait_for_trigger": [{"trigger": "event", "event_type": "x"}]},
    ],
)
async def test_a_timeout_ends_the_run_when_it_says_so(bench: Bench, wait: dict[str, Any]) -> None:
    task = bench.start(
        bench.run([{"if": "{{ true }}", "then": [{**wait, "timeout": 5, "continue_on_timeout": False}]}, ON])
    )

    await bench.advance(5)

    ended = await task
    assert (ended.outcome, ended.reason) == (RunOutcome.STOPPED, "a wait timed out")
    assert bench.calls == []


async def test_a_wait_template_that_breaks_fails(bench: Bench) -> None:
    ended, _ = await bench.ended([{"wait_template": "{{ 1 / 0 }}"}])

    assert "division by zero" in (ended.error or "")


async def test_a_wait_ends_with_any_of_its_triggers(bench: Bench) -> None:
    triggers = [
        {"trigger": "event", "event_type": "other"},
        {"trigger": "event", "event_type": "mine", "id": "me", "event_data": {"who": "{{ who }}"}},
    ]
    told = {"action": "light.turn_on", "data": {"id": "{{ wait.trigger.id }}", "n": "{{ wait.trigger.event.data.n }}"}}
    task = bench.start(bench.run([{"wait_for_trigger": triggers}, told], variables={"who": "anna"}))
    await bench.advance()

    bench.parts.bus.fire("mine", {"who": "ben", "n": 1})
    bench.parts.bus.fire("mine", {"who": "anna", "n": 2})
    await bench.advance()

    assert (await task).outcome is RunOutcome.FINISHED
    assert bench.calls == [("light.turn_on", {"id": "me", "n": 2})]
    assert bench.parts.bus.listener_counts() == {}


async def test_a_wait_without_its_trigger_tells_none(bench: Bench) -> None:
    task = bench.start(bench.run([{"wait_for_trigger": {"trigger": "event", "event_type": "x"}, "timeout": 1}, TOLD]))

    await bench.advance(1)

    await task
    assert bench.calls[0][1]["wait"] == {"completed": False, "remaining": 0.0, "trigger": None}


async def test_a_wait_for_time_ends_then(bench: Bench) -> None:
    task = bench.start(bench.run([{"wait_for_trigger": {"trigger": "at", "at": "20m"}}, ON]))

    await bench.advance(1_199)
    assert not task.done()
    await bench.advance(1)

    assert task.done()


@pytest.mark.parametrize("enabled", [False, "{{ false }}"])
async def test_a_wait_with_no_trigger_enabled_fails(bench: Bench, enabled: Any) -> None:
    ended, _ = await bench.ended([{"wait_for_trigger": {"trigger": "event", "event_type": "x", "enabled": enabled}}])

    assert ended.error == "action/0: wait_for_trigger: none of its triggers is enabled"


async def test_a_wait_whose_triggers_cannot_watch_fails(bench: Bench) -> None:
    trigger = {"trigger": "event", "event_type": "x", "event_data": {"a": "{{ 1 / 0 }}"}}

    ended, _ = await bench.ended([{"wait_for_trigger": trigger}])

    assert "division by zero" in (ended.error or "")


async def test_two_waits_share_a_timeout(bench: Bench) -> None:
    steps = [
        {"wait_template": LIGHT_ON, "timeout": 10},
        {"wait_template": "{{ is_state('light.b', 'on') }}", "timeout": "{{ wait.remaining }}"},
        ON,
    ]
    task = bench.start(bench.run(steps))
    await bench.advance(4)

    bench.parts.states.set("light.a", "on")
    await bench.advance(5.5)
    assert not task.done()
    await bench.advance(0.5)

    assert task.done()


async def test_a_dry_run_waits_for_nothing(bench: Bench) -> None:
    dry = DryRun()
    steps = [
        {"delay": 60},
        {"wait_template": LIGHT_ON},
        {"wait_for_trigger": {"trigger": "event", "event_type": "x"}},
        TOLD,
    ]

    ended, run = await bench.ended(steps, dry=dry)

    assert ended.outcome is RunOutcome.FINISHED
    assert [each["path"] for each in dry.skipped] == ["action/0", "action/1", "action/2"]
    assert dry.calls[0]["data"] == {"wait": {"completed": True, "remaining": None, "trigger": None}}
    assert results(run, "action/0") == [{"delay": 60.0}]


async def test_what_came_from_outside_taints_what_follows(bench: Bench) -> None:
    task = bench.start(bench.run([ON, {"wait_for_trigger": {"trigger": "mqtt", "topic": "door/bell"}}, ON]))
    await bench.advance()

    bench.parts.bus.fire(EVENT_MESSAGE, {"topic": "door/bell", "payload": b"ring", "qos": 0, "retain": False})
    await bench.advance()

    assert (await task).outcome is RunOutcome.FINISHED
    assert [context.authority.tainted for context in bench.contexts] == [False, True]
