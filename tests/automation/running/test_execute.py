"""A run as a whole: timeout, retry, `on_error`, cancelling, and what its trace tells."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from hub.automation.contract import RunOutcome
from hub.automation.running.dry_run import DryRun
from hub.automation.running.execute import execute
from hub.automation.running.waiting import WaitingRuns
from hub.core.errors import Unavailable
from tests.automation.actions.bench import Bench, results, steps_of
from tests.automation.dying import Mortal, memory_database

ON = {"action": "light.turn_on"}
FAIL = {"action": "test.fail"}


@pytest.fixture
def bench() -> Bench:
    return Bench()


async def test_a_run_ends_at_its_timeout(bench: Bench) -> None:
    task = bench.start(bench.run([{"delay": 60}, ON], timeout=30))

    await bench.advance(30)

    ended = await task
    assert (ended.outcome, ended.error) == (RunOutcome.TIMED_OUT, "it took longer than 30 s")
    assert bench.calls == []


async def test_a_timeout_cancels_the_service_that_is_called(bench: Bench) -> None:
    cancelled: list[bool] = []

    async def hang(call: Any) -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.append(True)
            raise

    bench.parts.services.register("test", "hang", hang)
    task = bench.start(bench.run([{"action": "test.hang"}], timeout=30))
    await bench.advance(30)

    assert (await task).outcome is RunOutcome.TIMED_OUT
    assert cancelled == [True]


async def test_a_run_that_is_quick_enough_does_not_time_out(bench: Bench) -> None:
    task = bench.start(bench.run([{"delay": 10}, ON], timeout=30))
    await bench.advance(60)

    assert (await task).outcome is RunOutcome.FINISHED
    assert bench.parts.tasks.names() == []


async def test_a_failed_run_is_begun_again(bench: Bench) -> None:
    run = bench.run([ON, FAIL], retry={"attempts": 3, "delay": 10, "backoff": 3})
    task = bench.start(run)

    await bench.advance(9)
    assert bench.called.count("light.turn_on") == 1
    await bench.advance(1)
    assert bench.called.count("light.turn_on") == 2
    await bench.advance(29)
    assert bench.called.count("light.turn_on") == 2
    await bench.advance(1)

    ended = await task
    assert (ended.outcome, ended.error) == (RunOutcome.FAILED, "action/1: it is out of order")
    assert bench.called.count("light.turn_on") == 3
    assert [told["attempt"] for told in results(run, "retry")] == [2, 3]


@pytest.mark.parametrize(
    ("trigger", "retry_after_s", "attempts"),
    [
        ({"trigger": "every", "every": "1d"}, 30.0, [2, 3, 4, 5, 6]),
        ({"trigger": "every", "every": "1d"}, None, []),
        ({"trigger": "state", "entity_id": "binary_sensor.door"}, 30.0, []),
    ],
)
async def test_what_asks_an_agent_at_a_time_is_asked_again_when_no_model_could_be(
    bench: Bench, trigger: dict[str, Any], retry_after_s: float | None, attempts: list[int]
) -> None:
    bench.offer("agent.run", error=Unavailable("the model is overloaded", retry_after_s=retry_after_s), idempotent=True)
    run = bench.run([{"action": "agent.run", "data": {"message": "brief me"}}], triggers=[trigger])
    task = bench.start(run)

    for delay_s in (0, 30, 60, 300, 900, 3_600):
        await bench.advance(delay_s)

    assert (await task).outcome is RunOutcome.FAILED
    assert [each["result"]["attempt"] for each in steps_of(run).get("retry", ())] == attempts
    assert len(bench.calls) == len(attempts) + 1
    assert len({*bench.keys}) == len(bench.keys)


async def test_a_stated_retry_takes_the_place_of_the_usual_one(bench: Bench) -> None:
    bench.offer("agent.run", error=Unavailable("the model is overloaded", retry_after_s=30))
    step = {"action": "agent.run", "data": {"message": "brief me"}}
    every_day = [{"trigger": "every", "every": "1d"}]

    await bench.ended([step], triggers=every_day, retry={"attempts": 1})

    assert len(bench.calls) == 1


async def test_each_attempt_begins_with_the_same_variables(bench: Bench) -> None:
    steps = [{**ON, "data": {"n": "{{ n }}"}}, {"variables": {"n": "{{ n + 1 }}"}}, FAIL]
    task = bench.start(bench.run(steps, variables={"n": 1}, retry={"attempts": 2, "delay": 1}))

    await bench.advance(1)

    await task
    assert [data["n"] for name, data in bench.calls if name == "light.turn_on"] == [1, 1]


async def test_what_stopped_is_not_begun_again(bench: Bench) -> None:
    ended, _ = await bench.ended([ON, {"stop": "enough"}], retry={"attempts": 3, "delay": 1})

    assert ended.outcome is RunOutcome.STOPPED
    assert bench.called == ["light.turn_on"]


async def test_a_dry_run_waits_for_no_retry(bench: Bench) -> None:
    ended, _ = await bench.ended([{"stop": "bad", "error": True}], retry={"attempts": 3, "delay": 1}, dry=DryRun())

    assert ended.outcome is RunOutcome.FAILED


async def test_on_error_continue_goes_on_behind_every_error(bench: Bench) -> None:
    ended, run = await bench.ended([FAIL, {"if": "{{ true }}", "then": [FAIL, ON]}], on_error="continue")

    assert ended.outcome is RunOutcome.FINISHED
    assert bench.called == ["test.fail", "test.fail", "light.turn_on"]
    assert steps_of(run)["action/1/then/0"][0]["error"] == "it is out of order"


async def test_the_steps_of_on_error_see_the_error(bench: Bench) -> None:
    handler = [{**ON, "data": {"error": "{{ error }}"}}]

    ended, run = await bench.ended([{"sequence": [FAIL]}, ON], on_error=handler)

    assert ended.outcome is RunOutcome.FAILED
    assert bench.calls[1:] == [
        (
            "light.turn_on",
            {
                "error": {
                    "message": "action/0/sequence/0: it is out of order",
                    "code": "UNAVAILABLE",
                    "path": "action/0/sequence/0",
                    "outcome": "failed",
                }
            },
        )
    ]
    assert "on_error/0" in steps_of(run)


@pytest.mark.parametrize("handler", [[FAIL], [{"stop": "x", "error": True}], ["{{ false }}"]])
async def test_what_goes_wrong_in_on_error_changes_nothing(bench: Bench, handler: list[Any]) -> None:
    ended, _ = await bench.ended([{"action": "no.such"}], on_error=handler)

    assert (ended.outcome, ended.error) == (RunOutcome.FAILED, "action/0: there is no service no.such")


async def test_a_timeout_runs_on_error(bench: Bench) -> None:
    task = bench.start(bench.run([{"delay": 60}], timeout=5, on_error=[{**ON, "data": {"code": "{{ error.code }}"}}]))
    await bench.advance(5)

    assert (await task).outcome is RunOutcome.TIMED_OUT
    assert bench.calls == [("light.turn_on", {"code": "TIMEOUT"})]


@pytest.mark.parametrize(
    "steps",
    [
        [{"delay": 60}],
        [{"parallel": [[{"delay": 60}], [{"wait_template": "{{ false }}"}]]}],
        [{"wait_for_trigger": {"trigger": "event", "event_type": "x"}}],
        [{"repeat": {"while": "true", "sequence": [{"delay": 1}]}}],
    ],
)
async def test_a_cancelled_run_ends_and_leaves_nothing(bench: Bench, steps: Any) -> None:
    run = bench.run([*steps, ON], timeout=1_000)
    task = bench.start(run)
    await bench.advance(5)

    run.cancel("it was set off again")

    ended = await task
    assert (ended.outcome, ended.reason) == (RunOutcome.CANCELLED, "it was set off again")
    await bench.advance()
    assert bench.calls == []
    assert bench.parts.tasks.names() == []
    assert bench.parts.bus.listener_counts() == {}


async def test_a_run_cancelled_before_it_began_does_nothing(bench: Bench) -> None:
    run = bench.run([ON])
    run.cancel("too late")

    assert (await execute(run)).outcome is RunOutcome.CANCELLED
    assert bench.calls == []


async def test_being_cancelled_by_the_stopping_hub_is_told_apart(bench: Bench) -> None:
    run = bench.run([{"delay": 60}])
    task = bench.start(run)
    await bench.advance()

    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task
    assert run.trace.as_dict()["outcome"] == "interrupted"


async def test_variables_that_break_fail_the_run(bench: Bench) -> None:
    ended, _ = await bench.ended([ON], variables={})
    assert ended.outcome is RunOutcome.FINISHED

    run = bench.run([ON])
    run.plan.variables = {"a": "{{ 1 / 0 }}"}

    ended = await execute(run)

    assert ended.outcome is RunOutcome.FAILED
    assert "division by zero" in (ended.error or "")


async def test_the_trace_tells_how_it_ended(bench: Bench) -> None:
    _, run = await bench.ended([ON, {"stop": "enough"}], trigger={"platform": "event"})

    trace = run.trace.as_dict()

    assert (trace["run_id"], trace["automation_id"], trace["outcome"]) == (run.id, "test", "stopped")
    assert trace["error"] == "enough"
    assert trace["trigger"] == {"platform": "event"}
    assert trace["finished"] is not None


async def test_a_run_is_shown_as_finished_once_it_may_be_set_off_again(bench: Bench) -> None:
    class Watched(Mortal):
        async def forget(self, run_id: str) -> None:
            assert not run.trace.finished  # in mode `single` there is no other run before the disk has it
            await super().forget(run_id)

    runs = WaitingRuns(memory_database(), bench.parts.clock.time)
    run = bench.run([ON], keeper=Watched(runs, None))
    ended = await bench.start(run)

    assert (ended.outcome, run.trace.finished) == (RunOutcome.FINISHED, True)
