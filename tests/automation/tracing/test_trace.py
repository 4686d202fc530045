"""A trace: what happened by path, bounded, and plain data in the end."""

from __future__ import annotations

import json
from typing import Any
from zoneinfo import ZoneInfo

import orjson
import pytest
from hypothesis import given, strategies as st

from hub.automation.contract import ConditionVerdict, RunOutcome
from hub.automation.tracing.trace import (
    ENTRIES_LIMIT,
    REPEATS_KEPT,
    TEXT_LIMIT,
    VALUES_LIMIT,
    StepTrace,
    TraceWriter,
    plain_value,
    verdict_steps,
)
from hub.core.clock import ManualClock
from hub.core.context import SYSTEM, Context
from hub.core.errors import InvalidRequest
from hub.core.secret import Secret, SecretMask

BERLIN = ZoneInfo("Europe/Berlin")


def writer(clock: ManualClock) -> TraceWriter:
    context = Context(SYSTEM, id="c2", parent_id="c1")
    trigger = {"platform": "state", "id": "0", "entity_id": "light.hall"}
    return TraceWriter(
        "r1",
        "morning",
        "Good morning",
        trigger,
        context,
        clock=clock,
        zone=BERLIN,
        config=SecretMask({"id": "morning"}),
    )


async def test_a_finished_run_is_told_with_times_in_the_zone_of_the_home() -> None:
    clock = ManualClock(1_767_225_600.0)  # 2026-01-01 00:00 UTC
    trace = writer(clock)

    step = trace.step("action/0").result(service="light.turn_on").record_variables({"answer": 42}).child(run_id="r9")
    await clock.advance(1.5)
    step.end()
    trace.end(RunOutcome.FINISHED, variables={"answer": 42})

    assert trace.as_dict() == {
        "run_id": "r1",
        "automation_id": "morning",
        "alias": "Good morning",
        "trigger": {"platform": "state", "id": "0", "entity_id": "light.hall"},
        "started": "2026-01-01T01:00:00.000+01:00",
        "finished": "2026-01-01T01:00:01.500+01:00",
        "outcome": "finished",
        "error": None,
        "context": {"id": "c2", "parent_id": "c1"},
        "steps": {
            "action/0": [
                {
                    "started": "2026-01-01T01:00:00.000+01:00",
                    "duration_ms": 1500.0,
                    "result": {"service": "light.turn_on"},
                    "changed_variables": {"answer": 42},
                    "child": {"run_id": "r9"},
                }
            ]
        },
        "variables": {"answer": 42},
        "config": {"id": "morning"},
    }


def test_a_run_that_goes_on_has_no_end() -> None:
    trace = writer(ManualClock())
    trace.step("action/0")

    shown = trace.as_dict()

    assert (shown["finished"], shown["outcome"]) == (None, None)
    assert shown["steps"]["action/0"][0]["duration_ms"] is None


async def test_a_wall_clock_that_jumps_changes_no_duration() -> None:
    clock = ManualClock()
    trace = writer(clock)

    with trace.step("action/0"):
        clock.jump(-86_400)
        await clock.advance(2)

    assert trace.as_dict()["steps"]["action/0"][0]["duration_ms"] == 2_000


def test_a_step_keeps_the_error_that_came_through() -> None:
    trace = writer(ManualClock())

    with pytest.raises(InvalidRequest), trace.step("action/0"):
        raise InvalidRequest("the lamp is gone")

    assert trace.as_dict()["steps"]["action/0"][0]["error"] == "the lamp is gone"


def test_only_the_first_end_counts() -> None:
    trace = writer(ManualClock())

    trace.end(RunOutcome.FAILED, "it broke")
    trace.end(RunOutcome.FINISHED)

    assert (trace.as_dict()["outcome"], trace.as_dict()["error"]) == ("failed", "it broke")


@given(repeats=st.integers(1, 200))
def test_of_many_repeats_the_first_and_the_last_are_kept_and_the_rest_is_counted(repeats: int) -> None:
    trace = writer(ManualClock())
    for number in range(repeats):
        trace.step("action/0/repeat/sequence/0").result(n=number).end()

    entries = trace.as_dict()["steps"]["action/0/repeat/sequence/0"]

    assert len(entries) == min(repeats, REPEATS_KEPT)
    assert sum(1 + entry.get("skipped", 0) for entry in entries) == repeats
    assert entries[0]["result"]["n"] == 0
    assert entries[-1]["result"]["n"] == repeats - 1


def test_a_trace_has_a_bound() -> None:
    trace = writer(ManualClock())
    for number in range(ENTRIES_LIMIT + 5):
        trace.step(f"action/{number}").end()

    shown = trace.as_dict()

    assert len(shown["steps"]) == ENTRIES_LIMIT
    assert shown["dropped"] == 5


def test_verdicts_have_entries_by_path() -> None:
    inner = ConditionVerdict(False, "light.hall is off, not on", {"state": "off"})
    outer = ConditionVerdict(False, inner.reason, children={"conditions/0": inner})
    trace = writer(ManualClock())

    trace.verdict("condition/1", outer)

    steps = trace.as_dict()["steps"]
    assert steps["condition/1"][0]["result"] == {"holds": False, "reason": "light.hall is off, not on"}
    assert steps["condition/1/conditions/0"][0]["result"]["state"] == "off"
    assert list(verdict_steps({"condition/1": outer})) == ["condition/1", "condition/1/conditions/0"]


def test_what_is_shown_is_bounded_and_holds_no_secret() -> None:
    endless: dict[str, Any] = {}
    endless["self"] = endless

    shown = plain_value(
        {"long": "x" * (TEXT_LIMIT + 1), "many": list(range(1_000)), "key": Secret("hush"), "deep": endless, "odd": {1}}
    )

    assert len(shown["long"]) < TEXT_LIMIT + 50
    assert len(shown["many"]) == 101
    assert shown["key"] == "[redacted]"
    assert shown["odd"] == [1]
    assert "hush" not in json.dumps(shown)


@given(
    value=st.recursive(
        st.none() | st.integers(-(2**63), 2**63 - 1) | st.text(max_size=20),
        lambda below: st.lists(below, max_size=20) | st.dictionaries(st.text(max_size=4), below, max_size=20),
        max_leaves=60,
    )
)
def test_small_values_are_shown_as_they_are(value: Any) -> None:
    shown = plain_value(value)

    assert shown == value or "…" in json.dumps(shown, ensure_ascii=False)


def test_many_values_within_each_other_have_one_bound() -> None:
    wide: Any = "leaf"
    for _ in range(6):
        wide = [wide] * 50

    assert len(json.dumps(plain_value(wide))) < 20 * VALUES_LIMIT


def test_a_step_alone_costs_no_wall_time_look_up() -> None:
    step = StepTrace(ManualClock())

    step.end()

    assert step.as_dict(0.0, BERLIN)["duration_ms"] == 0


@pytest.mark.parametrize("value", ["\ud800", {"\ud800": 1}, 10**90, [-(2**63) - 1], Exception("\ud800")])
def test_what_no_file_can_hold_hides_nothing_else(value: Any) -> None:
    shown = plain_value({"value": value, "beside": "seen"})

    assert orjson.loads(orjson.dumps(shown))["beside"] == "seen"
