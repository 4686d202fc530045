"""What people read of budgets and limits: in the language of the home, also where a run makes it up."""

from __future__ import annotations

from pathlib import Path

import pytest

from hub.agent.budgets.budgets import BudgetState, budgets_from_config
from hub.agent.budgets.limits import LimitHit
from hub.agent.budgets.repetition import Repetition, RepetitionKind
from hub.agent.budgets.schema import BUDGETS_SCHEMA
from hub.agent.run_request import RunOutcome
from hub.messaging.access.decide import MessagingSettings
from hub.messaging.limit_texts import limit_text, notice_text
from tests.messaging.post import Post
from tests.servers.openai_server import OpenAIServer

DAY, MAINS = budgets_from_config(
    BUDGETS_SCHEMA([{"per": "day", "turns": 2}, {"per": "agent", "only": "main", "cost_usd": 2}])
)


@pytest.mark.parametrize(
    ("hit", "english", "chinese"),
    [
        (
            LimitHit("turns", 2, 3, budget=DAY),
            "The budget per day is used up: 3 model calls of 2 model calls",
            "预算（每天）已用完：3 次模型调用 / 2 次模型调用",
        ),
        (LimitHit("cost_usd", 2, 2.5, budget=MAINS), "of agent main is used up: $2.50 of $2.00", "智能体 main"),
        (LimitHit("tokens", 5_000, 5_001), "after 5,000 tokens, its limit (agents[].limits.tokens)", "5,000 个词元"),
        (
            LimitHit("repeats", 10, 10, Repetition(RepetitionKind.SAME, 10, 10, ("look",))),
            "look was called with the same arguments and the same result, 10 times",
            "用相同的参数调用 look",
        ),
        (
            LimitHit("repeats", 10, 10, Repetition(RepetitionKind.IN_TURN, 10, 10, ("look", "wait"))),
            "look, wait were called in turn",
            "轮流调用 look, wait",
        ),
        (LimitHit("repeats", 20, 20, Repetition(RepetitionKind.FAILING, 20, 20)), "every tool call fails", "都失败"),
        (LimitHit("repeats", 20, 20, Repetition(RepetitionKind.STALE, 20, 20)), "bring nothing new", "没有带来新"),
    ],
)
def test_a_limit_is_said_in_both_languages(hit: LimitHit, english: str, chinese: str) -> None:
    error = RunOutcome.limited(hit).error

    assert error is not None
    assert english in str(limit_text(error, "en"))
    assert chinese in str(limit_text(error, "zh-CN"))


def test_too_long_a_run_is_said_and_other_errors_are_not_limits() -> None:
    late = RunOutcome.timed_out(90, asked_for=False).error
    asked = RunOutcome.timed_out(90, asked_for=True).error

    assert late is not None
    assert asked is not None
    assert "90 秒" in str(limit_text(late, "zh-CN"))
    assert limit_text(asked, "en") is None
    assert limit_text({"code": "MODEL_EMPTY", "message": "x"}, "en") is None


def test_a_notice_names_its_budget_in_the_language() -> None:
    notice = {"kind": "budget_near", **BudgetState(DAY, "turns", 2, 2).as_dict(), "model": ""}
    other = {"kind": "failover", "model": "a/b", "reason": "429", "instead": "c/d"}

    assert notice_text(notice, "en") == "⚠️ 100% of the budget per day is used: 2 model calls of 2 model calls."
    assert notice_text(notice, "zh-CN") == "⚠️ 预算（每天）已用 100%：2 次模型调用 / 2 次模型调用。"
    assert "a/b" in notice_text(other, "zh-CN")


async def test_a_chat_reads_it_in_its_language(tmp_path: Path, openai_server: OpenAIServer) -> None:
    post = Post(
        tmp_path,
        openai_server.base_url,
        settings=MessagingSettings(language="zh-CN"),
        agents=({"id": "main", "limits": {"repeats": 4}},),
    )
    post.tool("look", lambda _: "the same")
    openai_server.set_default({"tool_call": {"name": "look", "arguments": {}}})
    await post.open()
    try:
        await post.said("look")
        await post.until(lambda: len(post.pigeons.sent) >= 1)
    finally:
        await post.close()

    assert post.pigeons.texts()[-1].startswith("我无法回答：这次运行因为在原地打转而停止：用相同的参数调用 look")
