"""Sums of usage: by what they are asked for, an unknown price is not zero."""

from __future__ import annotations

from typing import Any

import pytest

from hub.sessions.usage_sums import sum_usage, total_of

GROUP = "agent:cook:telegram:group:-100"


def row(
    model: str = "a/b", *, session: str | None = "agent:main:main", cost: float | None = None, tokens: int = 10
) -> Any:
    agent = "cook" if session == GROUP else "main"
    counts = {"input_tokens": tokens, "output_tokens": 1, "cache_read_tokens": 2, "cache_write_tokens": 3}
    return {
        "day": "d",
        "agent_id": agent,
        "model": model,
        "session_key": session,
        "calls": 1,
        **counts,
        "cost_usd": cost,
    }


def test_models_come_by_cost_and_then_by_tokens_and_an_unknown_price_is_not_zero() -> None:
    rows = [row("free/x", tokens=99), row("dear/y", cost=2.0), row("dear/y"), row("free/z")]

    found = sum_usage(rows, "model")

    assert [(each["model"], each["calls"], each["tokens"], each["cost_usd"]) for each in found] == [
        ("dear/y", 2, 32, 2.0),
        ("free/x", 1, 105, None),
        ("free/z", 1, 16, None),
    ]
    assert (total_of(found)["calls"], total_of(found)["cost_usd"]) == (4, 2.0)
    assert total_of([])["cost_usd"] is None


@pytest.mark.parametrize(
    ("by", "names"),
    [
        ("agent", ["cook", "main"]),
        ("session", [GROUP, "-", "agent:main:cron:tea", "agent:main:main"]),
        ("channel", ["telegram", "-", "cron", "main"]),
    ],
)
def test_sums_are_by_agent_session_and_channel(by: str, names: list[str]) -> None:
    rows = [row(session=None), row(), row(session="agent:main:cron:tea"), row(session=GROUP, cost=0.5)]

    assert [each[by] for each in sum_usage(rows, by)] == names


def test_days_come_with_the_latest_first() -> None:
    rows = [row(cost=9.0) | {"day": "2026-03-01"}, row() | {"day": "2026-03-02"}]

    assert [each["day"] for each in sum_usage(rows, "day")] == ["2026-03-02", "2026-03-01"]
