"""What was spent lately, by agent and automation: from the bus, and after a restart from history."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from hub.agent.tidy.judge import EVENT_MEMORY_JUDGED
from hub.automation.definition.fields import conditions
from hub.automation.engine.parts import AutomationParts
from hub.automation.running.evaluate import evaluate
from hub.automation.services.judge import EVENT_JUDGED
from hub.automation.tracing.spending import PIECE_S, SpendingLog, _Series
from hub.core.context import SYSTEM, Context
from hub.models.contract import Usage
from hub.storage.history import HistoryStore
from tests.automation.ground import NEW_YEAR, asking, clock_of, make_parts

HOUR = 3_600.0
USAGE = Usage(input_tokens=80, output_tokens=20, cost_usd=0.25)


async def standing(history: HistoryStore | None) -> tuple[AutomationParts, SpendingLog]:
    parts = make_parts(start=NEW_YEAR + 12 * HOUR)
    spending = SpendingLog(parts.bus, history, parts.clock.time)
    await spending.open()
    return parts, spending


def finish(
    parts: AutomationParts, context: Context, *, agent: str = "main", run_id: str = "r1", key: str = "agent:main:main"
) -> None:
    data = {"run_id": run_id, "session_key": key, "agent_id": agent, "usage": USAGE.as_dict()}
    parts.bus.fire("run_finished", data, context)


async def test_what_runs_cost_is_summed_by_agent(history: HistoryStore) -> None:
    parts, spending = await standing(history)

    finish(parts, Context(SYSTEM))
    finish(parts, Context(SYSTEM), agent="other")

    assert spending.cost_usd(since=NEW_YEAR) == 0.5
    assert spending.tokens(since=NEW_YEAR, agent="main") == 100
    assert spending.cost_usd(since=NEW_YEAR, agent="nobody") == 0


async def test_what_an_automation_led_to_counts_as_its_own(history: HistoryStore) -> None:
    parts, spending = await standing(history)
    cause = Context(SYSTEM)
    parts.bus.fire("automation_triggered", {"automation_id": "morning", "run_id": "a1"}, cause)

    finish(parts, cause.child().child().child())
    finish(parts, Context(SYSTEM), run_id="r2")
    finish(parts, Context(SYSTEM), run_id="r3", key="agent:main:cron:nightly")

    assert spending.cost_usd(since=NEW_YEAR, automation="morning") == 0.25
    assert spending.tokens(since=NEW_YEAR, agent="main", automation="morning") == 100
    assert spending.cost_usd(since=NEW_YEAR, automation="nightly") == 0.25


async def test_a_question_to_a_model_counts(history: HistoryStore) -> None:
    parts, spending = await standing(history)

    data = {"run_id": "j1", "agent_id": "main", "automation_id": "morning", "usage": USAGE.as_dict()}
    parts.bus.fire(EVENT_JUDGED, data, Context(SYSTEM))

    assert spending.cost_usd(since=NEW_YEAR, automation="morning") == 0.25


async def test_after_a_restart_it_remembers(history: HistoryStore) -> None:
    parts, spending = await standing(history)
    cause = Context(SYSTEM)
    parts.bus.fire("automation_triggered", {"automation_id": "morning", "run_id": "a1"}, cause)
    finish(parts, cause.child())
    history.record_event("automation_triggered", {"automation_id": "morning"}, cause.id, parts.clock.time())
    history.record_usage("main", "agent:main:main", "r1", "openai/x", USAGE, parts.clock.time())
    history.record_usage("main", "agent:main:main", "r2", "openai/x", USAGE, parts.clock.time())
    spending.close()

    again, remembered = await standing(history)
    finish(again, cause.child(), run_id="r3")

    assert remembered.cost_usd(since=NEW_YEAR) == 0.75
    assert remembered.cost_usd(since=NEW_YEAR, automation="morning") == 0.5


async def test_what_was_spent_before_counts_once_a_history_that_opens_late_is_open(tmp_path: Path) -> None:
    path, noon = tmp_path / "history.db", NEW_YEAR + 12 * HOUR
    before = HistoryStore(path, wall_time=lambda: NEW_YEAR)
    await before.open()
    before.record_usage("main", "agent:main:main", "r1", "openai/x", USAGE, noon - HOUR)
    await before.close()
    late = HistoryStore(path, wall_time=lambda: NEW_YEAR)
    opening = asyncio.create_task(late.open())
    await asyncio.sleep(0)

    parts, spending = await standing(late)
    clock_of(parts).jump(60)  # nobody else gets a turn until the sums are asked for
    late.record_usage("main", "agent:main:main", "r2", "openai/x", USAGE, parts.clock.time())
    finish(parts, Context(SYSTEM), run_id="r2")
    at_first = spending.cost_usd(since=NEW_YEAR)
    await opening

    assert (at_first, spending.cost_usd(since=NEW_YEAR)) == (0.25, 0.5)
    assert spending.cost_usd(since=noon) == 0.25
    await late.close()


async def test_once_closed_it_counts_no_more(history: HistoryStore) -> None:
    parts, spending = await standing(history)
    spending.close()

    finish(parts, Context(SYSTEM))

    assert spending.tokens(since=0) == 0


async def test_without_history_it_counts_from_now_on() -> None:
    parts, spending = await standing(None)

    finish(parts, Context(SYSTEM))

    assert spending.tokens(since=NEW_YEAR) == 100


async def test_runs_that_cost_nothing_are_not_counted() -> None:
    parts, spending = await standing(None)

    parts.bus.fire("run_finished", {"agent_id": "main", "usage": {}}, Context(SYSTEM))

    assert spending._series == {}


@given(
    amounts=st.lists(st.tuples(st.floats(0, 10_000), st.integers(0, 1_000)), max_size=60),
    since=st.floats(0, 500_000),
)
def test_a_sum_is_never_less_than_what_was_spent_and_errs_by_a_minute(
    amounts: list[tuple[float, int]], since: float
) -> None:
    series = _Series()
    now = 0.0
    spent = []
    for step, tokens in amounts:
        now += step
        series.add(now, tokens / 100, tokens)
        spent.append((now, tokens))

    found = series.tokens_since(since)

    assert sum(tokens for when, tokens in spent if when >= since) <= found
    assert found <= sum(tokens for when, tokens in spent if when > since - PIECE_S)


def test_what_is_old_is_forgotten() -> None:
    series = _Series()

    for day in range(100):
        series.add(day * 86_400.0, 1.0, 1)

    assert len(series._times) <= 34
    assert series.tokens_since(98 * 86_400.0) == 2


@pytest.mark.parametrize(
    ("raw", "holds", "reason"),
    [
        ({"cost_usd": 1}, True, "$0.25 of $1.00 were spent today"),
        ({"cost_usd": {"below": 0.25}}, False, "$0.25 of $0.25 were spent today"),
        ({"tokens": 100, "per": "hour"}, False, "100 tokens of 100 tokens were spent in the last hour"),
        (
            {"tokens": 101, "per": "15m", "automation": "this"},
            True,
            "0 tokens of 101 tokens were spent in the last 15 min for the automation morning",
        ),
        ({"cost_usd": 0.1, "agent": "other"}, True, "$0.00 of $0.10 were spent today by the agent other"),
    ],
)
async def test_the_condition(raw: dict[str, Any], holds: bool, reason: str) -> None:
    parts, spending = await standing(None)
    finish(parts, Context(SYSTEM))
    asked = make_parts(start=parts.clock.time(), spending=spending)
    (valid,) = conditions({"condition": "budget", **raw})

    found = evaluate(valid, asking(asked))

    assert (found.holds, found.reason) == (holds, reason)


async def test_a_day_begins_at_the_midnight_of_the_home() -> None:
    parts, spending = await standing(None)
    finish(parts, Context(SYSTEM))
    clock_of(parts).jump(10.9 * HOUR)  # 23:54 in Berlin
    late = make_parts(start=parts.clock.time(), spending=spending)
    next_day = make_parts(start=parts.clock.time() + 600, spending=spending)
    (valid,) = conditions({"condition": "budget", "tokens": 100})

    assert not evaluate(valid, asking(late)).holds
    assert evaluate(valid, asking(next_day)).holds


async def test_what_comparing_notes_costs_counts_for_the_automation_that_asked(history: HistoryStore) -> None:
    parts, spending = await standing(history)
    fired = Context(SYSTEM)
    parts.bus.fire("automation_triggered", {"automation_id": "tidy"}, fired)

    told = {"run_id": "r1", "agent_id": "main", "usage": USAGE.as_dict()}
    parts.bus.fire(EVENT_MEMORY_JUDGED, told, fired.child())

    assert spending.cost_usd(since=NEW_YEAR, automation="tidy") == 0.25
