"""Traces are kept by how the run ended, in the database or in memory, bounded, and shown without secrets."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given, strategies as st

from hub.automation.contract import ConditionVerdict, NotRun, RunOutcome
from hub.automation.tracing.trace import TraceWriter
from hub.automation.tracing.trace_store import MEMORY_BYTES_LIMIT, NOT_RUN_KEPT, TraceStore, encode_trace
from hub.core.clock import ManualClock
from hub.core.context import SYSTEM, Context
from hub.core.errors import InvalidRequest, NotFound
from hub.core.secret import SecretMask
from hub.security.redaction import Redactor
from hub.storage.history import HistoryStore
from hub.storage.history_retention import Retention
from hub.storage.trace_rows import TRACE_BYTES_LIMIT
from tests.automation.ground import BERLIN, NEW_YEAR

TRIGGER = {"platform": "state", "id": "0", "description": "light.hall turns on"}


class Kept:
    """A store over a real database, or over none."""

    def __init__(self, history: HistoryStore | None, redactor: Redactor | None = None) -> None:
        self.clock = ManualClock(NEW_YEAR)
        self.store = TraceStore(history, redactor or Redactor(), self.clock.time, lambda: BERLIN)

    def writer(
        self, run_id: str, automation_id: str = "morning", config: Mapping[str, Any] | None = None
    ) -> TraceWriter:
        self.clock.jump(1)
        return TraceWriter(
            run_id,
            automation_id,
            "Morning",
            TRIGGER,
            Context(SYSTEM),
            clock=self.clock,
            zone=BERLIN,
            config=SecretMask(config),
        )

    def run(
        self, run_id: str, outcome: RunOutcome = RunOutcome.FINISHED, automation_id: str = "morning", kept: int = 5
    ) -> None:
        writer = self.writer(run_id, automation_id)
        writer.step("action/0").result(done=True).end()
        writer.end(outcome)
        self.store.add(writer, kept)

    async def ids(self, automation_id: str = "morning") -> list[str]:
        return [trace["run_id"] for trace in await self.store.list(automation_id)]


@pytest.fixture(params=["database", "memory"])
async def kept(request: pytest.FixtureRequest, history: HistoryStore) -> Kept:
    return Kept(history if request.param == "database" else None)


async def test_traces_are_told_newest_first_in_the_fixed_shape(kept: Kept) -> None:
    kept.run("r1")
    kept.run("r2", RunOutcome.FAILED)

    found = await kept.store.list("morning")

    assert [trace["run_id"] for trace in found] == ["r2", "r1"]
    assert {"run_id", "trigger", "started", "finished", "outcome", "steps"} <= found[0].keys()
    assert found[1]["steps"]["action/0"][0]["result"] == {"done": True}


async def test_dull_runs_do_not_evict_interesting_ones(kept: Kept) -> None:
    kept.run("bad", RunOutcome.FAILED)
    for number in range(20):
        kept.run(f"r{number}")

    assert await kept.ids() == ["r19", "r18", "r17", "r16", "r15", "bad"]


async def test_one_automation_evicts_nothing_of_another(kept: Kept) -> None:
    kept.run("other", automation_id="evening")
    for number in range(20):
        kept.run(f"r{number}")

    assert await kept.ids("evening") == ["other"]


async def test_stored_traces_says_how_many_and_none_is_a_number(kept: Kept) -> None:
    for number in range(4):
        kept.run(f"r{number}", kept=2)
    kept.run("unseen", kept=0)

    assert await kept.ids() == ["r3", "r2"]


class _Unshown:
    def as_dict(self) -> dict[str, Any]:
        raise OSError("it cannot be shown")


async def test_a_trace_that_cannot_be_written_stops_neither_its_run_nor_other_traces(history: HistoryStore) -> None:
    kept = Kept(history)
    kept.run("before")
    writer = kept.writer("bad", "evening")
    writer.end(RunOutcome.FINISHED, variables={"odd": _Unshown()})
    kept.store.add(writer)
    kept.run("after")

    assert await kept.ids() == ["after", "before"]
    assert "cannot be shown" in (await kept.store.get("bad"))["unreadable"]


async def test_the_traces_of_many_runs_at_once_are_all_kept(history: HistoryStore) -> None:
    kept = Kept(history)
    for number in range(1_200):
        kept.run(f"r{number}", automation_id=f"rule_{number}")

    assert history.dropped == 0
    assert [await kept.ids(f"rule_{number}") for number in (0, 600, 1_199)] == [["r0"], ["r600"], ["r1199"]]


async def test_a_run_that_goes_on_is_shown(kept: Kept) -> None:
    kept.run("r1")
    writer = kept.writer("r2")
    kept.store.begin(writer)
    writer.step("action/0")

    found = await kept.store.list("morning")
    live = await kept.store.get("r2")

    assert (found[0]["run_id"], found[0]["finished"]) == ("r2", None)
    assert live["outcome"] is None


async def test_what_did_not_run_is_kept_by_reason_with_the_verdicts(kept: Kept) -> None:
    verdict = ConditionVerdict(False, "light.hall is off, not on")
    kept.store.add_not_run("morning", "Morning", TRIGGER, NotRun.CONDITIONS, verdict.reason, {"0": verdict})
    for _ in range(NOT_RUN_KEPT + 10):
        kept.clock.jump(1)
        kept.store.add_not_run("morning", "Morning", TRIGGER, NotRun.MODE, "it runs already", {})

    found = await kept.store.not_run("morning")

    assert len(found) == NOT_RUN_KEPT + 1
    assert found[-1]["reason"] == "conditions"
    assert found[-1]["time"] == "2026-01-01T01:00:00.000+01:00"
    assert found[-1]["steps"]["condition/0"][0]["result"]["reason"] == "light.hall is off, not on"
    assert await kept.store.not_run("evening") == []


async def test_what_ran_lately_is_told_for_all_without_steps(kept: Kept) -> None:
    kept.run("r1")
    kept.run("r2", automation_id="evening")

    found = await kept.store.recent(10)

    assert [(trace["run_id"], trace["automation_id"]) for trace in found] == [("r2", "evening"), ("r1", "morning")]
    assert "steps" not in found[0]


async def test_a_trace_that_is_not_there_is_told(kept: Kept) -> None:
    with pytest.raises(NotFound, match="no trace of the run"):
        await kept.store.get("r99")


async def test_a_run_that_was_taken_up_again_after_a_restart_has_one_trace(history: HistoryStore) -> None:
    kept = Kept(history)
    writer = kept.writer("r1")
    writer.end(RunOutcome.INTERRUPTED)
    kept.store.add(writer)
    again = kept.writer("r1")
    again.end(RunOutcome.FINISHED)
    kept.store.add(again)

    found = await kept.store.get("r1")

    assert found["outcome"] == "finished"


async def test_a_trace_that_was_exported_is_imported_under_an_id_of_its_own(kept: Kept) -> None:
    kept.run("r1", RunOutcome.FAILED)

    run_id = kept.store.import_(orjson.loads(orjson.dumps(await kept.store.export("r1"))))

    imported = await kept.store.get(run_id)
    assert run_id != "r1"
    assert imported["imported"] is True
    assert imported["steps"] == (await kept.store.get("r1"))["steps"]
    assert set(await kept.ids()) == {"r1", run_id}


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (None, "expected"),
        ({"homarus_trace": 2, "trace": {}}, "expected"),
        ({"homarus_trace": 1, "trace": {}}, "trace.automation_id"),
        ({"homarus_trace": 1, "trace": {"automation_id": "a", "started": "x", "outcome": "odd"}}, "trace.outcome"),
        ({"homarus_trace": 1, "trace": {"automation_id": "a", "started": "now", "outcome": "failed"}}, "trace.started"),
        (
            {
                "homarus_trace": 1,
                "trace": {"automation_id": "a", "started": "2026-01-01T00:00:00Z", "outcome": "failed", "steps": [1]},
            },
            "trace.steps",
        ),
        (
            {
                "homarus_trace": 1,
                "trace": {
                    "automation_id": "a",
                    "started": "2026-01-01T00:00:00Z",
                    "outcome": "failed",
                    "steps": {"action/0": [{"result": "x" * TRACE_BYTES_LIMIT}]},
                },
            },
            "larger",
        ),
    ],
)
async def test_what_is_no_trace_is_not_imported(kept: Kept, data: Any, said: str) -> None:
    with pytest.raises(InvalidRequest, match=said):
        kept.store.import_(data)


async def test_secrets_are_taken_out_on_the_way_out(tmp_path: Path) -> None:
    redactor = Redactor()
    redactor.register("correct-horse-battery")
    history = HistoryStore(tmp_path / "history.db", redact=redactor.redact)
    await history.open()
    stored, held = Kept(history, redactor), Kept(None, redactor)
    for each in (stored, held):
        writer = each.writer("r1", config={"secret": "correct-horse-battery"})
        writer.step("action/0").result(token="correct-horse-battery")
        writer.end(RunOutcome.FINISHED)
        each.store.add(writer)

    shown = orjson.dumps([await stored.store.get("r1"), await held.store.get("r1")])
    await history.close()

    assert b"correct-horse" not in shown
    assert b"correct-horse" not in (tmp_path / "history.db").read_bytes()


async def test_traces_outlive_the_hub(tmp_path: Path) -> None:
    for number in range(2):
        history = HistoryStore(tmp_path / "history.db", wall_time=lambda: NEW_YEAR)
        await history.open()
        kept = Kept(history)
        if number == 0:
            kept.run("r1")
        found = await kept.ids()
        await history.close()

    assert found == ["r1"]


async def test_old_traces_go(tmp_path: Path) -> None:
    history = HistoryStore(tmp_path / "history.db", wall_time=lambda: NEW_YEAR)
    await history.open()
    Kept(history).run("r1")
    await history.close()
    later = HistoryStore(tmp_path / "history.db", retention=Retention(traces_s=60), wall_time=lambda: NEW_YEAR + 3_600)
    await later.open()
    await later.close()
    again = HistoryStore(tmp_path / "history.db", wall_time=lambda: NEW_YEAR)
    await again.open()

    found = await Kept(again).ids()

    await again.close()
    assert found == []


def test_memory_has_a_bound() -> None:
    kept = Kept(None)
    for number in range(400):
        writer = kept.writer(f"r{number}", f"automation_{number}")
        for step in range(20):
            writer.step(f"action/{step}").result(text="x" * 2_000)
        writer.end(RunOutcome.FINISHED)
        kept.store.add(writer)

    memory = kept.store._memory
    total = sum(len(data) for bucket in memory._buckets.values() for _, data in bucket)

    assert total == memory._bytes <= MEMORY_BYTES_LIMIT


@given(
    steps=st.integers(0, 40), length=st.integers(0, 3_000), config=st.integers(0, 100_000), variables=st.integers(0, 50)
)
def test_a_trace_is_cut_until_it_fits(steps: int, length: int, config: int, variables: int) -> None:
    trace = {
        "run_id": "r1",
        "automation_id": "morning",
        "steps": {f"action/{n}": [{"started": "x", "result": {"text": "x" * length}}] for n in range(steps)},
        "variables": {f"v{n}": "x" * 2_000 for n in range(variables)},
        "config": {"text": "x" * config},
    }

    data = encode_trace(trace)

    shown = orjson.loads(data)
    assert len(data) <= TRACE_BYTES_LIMIT
    assert shown["run_id"] == "r1"
    assert shown == trace or shown["truncated"] is True


def test_what_is_not_plain_is_shown_as_text() -> None:
    shown = orjson.loads(encode_trace({"run_id": "r1", "config": {1: object(), "set": {1}}}))

    assert shown["config"]["set"] == [1]
    assert "object" in shown["config"]["1"]
