"""Budgets: what counts for which, when they warn, degrade and stop, and that a restart forgets nothing."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, strategies as st

from hub.agent.budgets.budgets import BudgetAction, BudgetPer, RunBudget, Spending, budgets_from_config, decide
from hub.agent.budgets.ledger import BudgetLedger, Spender
from hub.agent.budgets.schema import BUDGETS_SCHEMA
from hub.agent.run_request import RunStatus
from hub.core.clock import ManualClock
from hub.core.schema import Invalid
from hub.messaging.texts import say
from hub.storage.database import Database
from tests.agent.house import AgentHouse, standing
from tests.databases import make_database
from tests.servers.openai_server import OpenAIServer

ANNA = Spender("r1", "agent:main:main", "s1", "main", "telegram")
BOB = Spender("r2", "agent:office:main", "s2", "office", "matrix")


def ledger(*budgets: Mapping[str, Any], clock: ManualClock | None = None, db: Database | None = None) -> BudgetLedger:
    made = BudgetLedger(clock or ManualClock(), lambda: UTC, db)
    made.configure(BUDGETS_SCHEMA([dict(each) for each in budgets]))
    return made


@pytest.mark.parametrize(
    ("budget", "anna", "bob"),
    [
        ({"per": "day", "tokens": 100}, True, True),
        ({"per": "session", "tokens": 100}, True, False),
        ({"per": "run", "tokens": 100}, True, False),
        ({"per": "agent", "tokens": 100}, True, False),
        ({"per": "agent", "only": "office", "tokens": 100}, False, False),
        ({"per": "channel", "tokens": 100}, True, False),
        ({"per": "channel", "only": "telegram", "tokens": 100}, True, False),
        ({"per": "day", "tokens": 101}, False, False),
        ({"per": "day", "turns": 3}, False, False),
        ({"per": "day", "turns": 2, "tokens": 1_000}, True, True),
        ({"per": "day", "cost_usd": 0.5}, True, True),
        ({"per": "day", "calls": 4}, True, True),
        ({"per": "day", "seconds": 9}, True, True),
    ],
)
def test_what_one_spends_counts_for_what_it_is_about(budget: dict[str, Any], anna: bool, bob: bool) -> None:
    counted = ledger(budget)

    counted.charge(ANNA, Spending(2, 100, 0.5, 9.0, 4))

    assert (counted.judge(ANNA).stop is not None, counted.judge(BOB).stop is not None) == (anna, bob)


def test_a_run_without_a_channel_counts_for_none() -> None:
    counted = ledger({"per": "channel", "tokens": 1})
    program = Spender("r", "agent:main:x", "s", "main", None)

    counted.charge(program, Spending(tokens=5))

    assert counted.judge(program).stop is None


async def test_a_day_begins_at_midnight_of_the_home() -> None:
    clock = ManualClock(1_767_225_600.0 - 3_600)  # 23:00 UTC, 08:00 in Tokyo
    counted = BudgetLedger(clock, lambda: ZoneInfo("Asia/Tokyo"))
    counted.configure(BUDGETS_SCHEMA([{"per": "day", "turns": 1}]))
    counted.charge(ANNA, Spending(turns=1))

    await clock.advance(15 * 3_600)
    assert counted.judge(ANNA).stop is not None
    await clock.advance(3_600)

    assert counted.judge(ANNA).stop is None


def test_a_warning_comes_once_in_a_conversation_and_again_when_it_is_used_up() -> None:
    counted = ledger({"per": "day", "tokens": 100, "then": "warn"})

    def told(spender: Spender) -> list[str]:
        return [each.as_dict()["used"] for each in counted.judge(spender).told]

    assert told(ANNA) == []
    counted.charge(ANNA, Spending(tokens=80))
    assert (told(ANNA), told(ANNA), told(BOB)) == (["80%"], [], ["80%"])
    counted.charge(ANNA, Spending(tokens=40))
    assert (told(ANNA), told(ANNA)) == (["120%"], [])


def test_the_most_used_of_several_cheaper_models_counts() -> None:
    counted = ledger(
        {"per": "day", "tokens": 100, "then": "degrade", "model": "a/small"},
        {"per": "session", "tokens": 10, "then": "degrade", "model": "a/tiny"},
    )
    counted.charge(ANNA, Spending(tokens=100))

    wanted = counted.judge(ANNA).degrade

    assert wanted is not None
    assert wanted.budget.model == "a/tiny"


@given(
    st.lists(
        st.builds(
            RunBudget,
            st.sampled_from(list(BudgetPer)),
            st.dictionaries(st.sampled_from(["tokens", "turns", "cost_usd"]), st.floats(1, 100), min_size=1),
            warn_at=st.floats(0.1, 1),
            then=st.sampled_from(list(BudgetAction)),
            model=st.just("a/b"),
        ),
        max_size=5,
    ),
    st.builds(Spending, turns=st.integers(0, 120), tokens=st.integers(0, 120), cost_usd=st.floats(0, 120)),
)
def test_a_run_is_stopped_exactly_when_a_budget_that_stops_is_used_up(
    budgets: list[RunBudget], spending: Spending
) -> None:
    verdict = decide(budgets, lambda _: spending)

    over = [each for each in budgets if any(getattr(spending, name) >= limit for name, limit in each.limits.items())]
    assert (verdict.stop is not None) == any(each.then is BudgetAction.STOP for each in over)
    assert (verdict.degrade is not None) == any(each.then is BudgetAction.DEGRADE for each in over)


async def test_counts_survive_a_restart_and_old_ones_go(tmp_path: Path) -> None:
    clock = ManualClock()
    budgets = ({"per": "day", "tokens": 100}, {"per": "session", "calls": 5}, {"per": "run", "turns": 9})
    db = make_database(tmp_path / "hub.db")
    await db.open()
    before = ledger(*budgets, clock=clock, db=db)
    before.charge(ANNA, Spending(1, 60, 0.25, 2.0, 2))
    before.charge(ANNA, Spending(1, 60, 0.25, 2.0, 2))
    await db.write(lambda connection: None)

    after = ledger(*budgets, clock=clock, db=db)
    await after.load()

    assert after.judge(ANNA).stop is not None
    spent = {each["per"]: each["spent"] for each in after.status()}
    assert spent["session"] == [{"name": "s1", "turns": 2, "tokens": 120, "cost_usd": 0.5, "seconds": 4.0, "calls": 4}]
    assert spent["run"] == []
    await clock.advance(86_400)
    tomorrow = ledger(*budgets, clock=clock, db=db)
    await tomorrow.load()
    assert tomorrow.judge(ANNA).stop is None
    assert await db.read(lambda connection: connection.execute("SELECT per FROM budget_spending").fetchall()) == [
        ("session",)
    ]
    await db.close()


@pytest.mark.parametrize(
    ("budget", "words"),
    [
        ({"per": "day"}, "needs a measure"),
        ({"per": "week", "tokens": 1}, "per"),
        ({"per": "day", "only": "main", "tokens": 1}, "goes with per: agent"),
        ({"per": "day", "tokens": 1, "then": "degrade"}, "go together"),
        ({"per": "day", "tokens": 1, "model": "a/b"}, "go together"),
        ({"per": "day", "tokens": 0}, "tokens"),
        ({"per": "day", "tokens": 1, "warn_at": 80}, "warn_at"),
    ],
)
def test_a_wrong_budget_says_what_is_wrong(budget: dict[str, Any], words: str) -> None:
    with pytest.raises(Invalid, match=words):
        BUDGETS_SCHEMA([budget])


def test_what_is_configured_is_what_counts() -> None:
    (budget,) = budgets_from_config(BUDGETS_SCHEMA({"per": "agent", "only": "main", "cost_usd": 2}))

    assert (budget.per, budget.limits, budget.then, budget.label) == ("agent", {"cost_usd": 2}, "stop", "of agent main")


async def test_a_conversation_whose_budget_is_used_up_says_so_and_another_goes_on(
    tmp_path: Path, openai_server: OpenAIServer
) -> None:
    house = AgentHouse(tmp_path / "home", openai_server.base_url, budgets=[{"per": "session", "turns": 2}])

    async with standing(house):
        results = [await house.runner.run(house.request()) for _ in range(3)]
        elsewhere = await house.runner.run(house.request(session="agent:main:direct:anna"))

    assert [each.status for each in results] == [RunStatus.OK, RunStatus.OK, RunStatus.ERROR]
    assert results[2].error is not None
    assert "The budget per session is used up: 2 model calls of 2 model calls" in results[2].error["message"]
    assert results[2].error["details"]["limit"] == "budgets"
    assert elsewhere.status is RunStatus.OK
    assert len(openai_server.requests()) == 3


async def test_a_budget_of_a_run_ends_it_in_the_middle(tmp_path: Path, openai_server: OpenAIServer) -> None:
    house = AgentHouse(tmp_path / "home", openai_server.base_url, budgets=[{"per": "run", "calls": 2}])
    house.tool("look", lambda _: "seen")
    openai_server.set_default({"tool_call": {"name": "look", "arguments": {}}})

    async with standing(house):
        result = await house.runner.run(house.request())
        again = await house.runner.run(house.request())

    assert (result.stop, again.stop) == ("limit", "limit")
    assert len(openai_server.requests()) == 4
    assert house.entries()[-1].data["code"] == "LIMIT_EXCEEDED"


async def test_a_cheaper_model_answers_when_the_budget_is_used_up_and_the_person_reads_why(
    tmp_path: Path, openai_server: OpenAIServer
) -> None:
    budget = {"per": "day", "tokens": 100, "then": "degrade", "model": "test/other"}
    house = AgentHouse(tmp_path / "home", openai_server.base_url, budgets=[budget])
    openai_server.set_default([{"text": "ok"}, {"usage": {"prompt_tokens": 90, "completion_tokens": 5}}])

    async with standing(house):
        first, second, third, fourth = [await house.runner.run(house.request()) for _ in range(4)]

    results = (first, second, third, fourth)
    assert [each.model for each in results] == ["test/model", "test/model", "test/other", "test/other"]
    kinds = [each.notices[0]["kind"] if each.notices else None for each in results]
    assert kinds == [None, "budget_near", "budget_degraded", None]
    line = say("notice.budget_degraded", "en", **third.notices[0])
    assert line == "⚠️ The budget per day is used up (190 tokens of 100 tokens); test/other answers from now on."
    assert "95%" in say("notice.budget_near", "zh-CN", **second.notices[0])
    answers = [entry.data.get("notices") for entry in house.entries() if entry.data.get("final")]
    assert [bool(each) for each in answers] == [False, True, True, False]
