"""Bounds on a run: each ends it with words that say which limit it was and where it is changed."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from hub.agent.budgets.limits import RunLimits, RunSpent, limit_reached
from hub.agent.run_request import RunResult, RunStatus
from hub.models.contract import Usage
from tests.agent.house import AgentHouse, standing
from tests.servers.openai_server import OpenAIServer
from tests.until import skip_time

CALL = {"tool_call": {"name": "look", "arguments": {}, "id": "a"}}


def house_with(folder: Path, server: OpenAIServer, limits: Mapping[str, Any]) -> AgentHouse:
    models = None
    if "cost_usd" in limits:
        provider = {"api": "openai", "base_url": server.base_url, "api_key": "sk-test-not-a-secret"}
        priced = {"id": "model", "cost": {"input": 1_000, "output": 1_000}}
        models = {"providers": {"test": {**provider, "models": [priced]}}}
    house = AgentHouse(folder / "home", server.base_url, [{"id": "main", "limits": dict(limits)}], models)
    house.tool("look", lambda _: "seen")
    return house


async def run_with(
    folder: Path, server: OpenAIServer, limits: Mapping[str, Any], **fields: Any
) -> tuple[RunResult, AgentHouse]:
    async with standing(house_with(folder, server, limits)) as house:
        return await house.runner.run(house.request(run_id="r1", **fields)), house


@pytest.mark.parametrize(
    ("limits", "words"),
    [({"turns": 3}, "3 model calls"), ({"tokens": 1_000}, "1,000 tokens"), ({"cost_usd": 0.25}, "0.25 US dollars")],
)
async def test_a_run_that_goes_on_and_on_is_ended(
    tmp_path: Path, openai_server: OpenAIServer, limits: dict[str, Any], words: str
) -> None:
    usage = {"prompt_tokens": 300, "completion_tokens": 100, "total_tokens": 400}
    openai_server.set_default([{"text": "Still looking."}, CALL, {"usage": usage}])

    result, house = await run_with(tmp_path, openai_server, limits)

    assert result.status is RunStatus.ERROR
    assert result.stop == "limit"
    assert result.reply == "Still looking."
    assert result.error is not None
    assert result.error["code"] == "LIMIT_EXCEEDED"
    assert words in result.error["message"]
    assert f"agents[].limits.{next(iter(limits))}" in result.error["message"]
    assert house.entries()[-1].data["code"] == "LIMIT_EXCEEDED"
    assert len(openai_server.requests()) == (1 if "cost_usd" in limits else 3)


async def test_tokens_are_estimated_when_the_provider_tells_none(tmp_path: Path, openai_server: OpenAIServer) -> None:
    openai_server.set_default([CALL, {"usage": None}])

    result, _ = await run_with(tmp_path, openai_server, {"tokens": 1_000, "turns": 40})

    assert result.error is not None
    assert "1,000 tokens" in result.error["message"]


async def test_a_run_that_takes_too_long_is_ended(tmp_path: Path, openai_server: OpenAIServer) -> None:
    openai_server.queue([{"text": "I am "}, {"hold": "never"}])

    async with standing(house_with(tmp_path, openai_server, {"seconds": 100})) as house:
        running = asyncio.ensure_future(house.runner.run(house.request()))
        await house.until(lambda: house.told("run_delta"))
        skip_time(100)
        result = await running

    assert result.status is RunStatus.TIMEOUT
    assert result.reply == "I am"
    assert result.error is not None
    assert "agents[].limits.seconds" in result.error["message"]
    assert house.entries()[-1].data["status"] == "timeout"


async def test_a_request_can_ask_for_less_time_but_not_for_more(tmp_path: Path, openai_server: OpenAIServer) -> None:
    openai_server.set_default([{"hold": "never"}])

    shorter, _ = await run_with(tmp_path / "a", openai_server, {}, timeout_s=0.2)
    longer, _ = await run_with(tmp_path / "b", openai_server, {"seconds": 0.2}, timeout_s=3_600)

    assert shorter.error is not None
    assert longer.error is not None
    assert "as was asked for" in shorter.error["message"]
    assert "agents[].limits.seconds" in longer.error["message"]


@given(
    st.builds(RunLimits, turns=st.integers(1, 50), tokens=st.integers(1, 10**6), cost_usd=st.floats(0.01, 100)),
    st.integers(0, 100),
    st.integers(0, 10**7),
    st.none() | st.floats(0, 1_000),
)
def test_nothing_is_forbidden_below_every_limit_and_something_above_one(
    limits: RunLimits, turns: int, tokens: int, cost: float | None
) -> None:
    hit = limit_reached(limits, RunSpent(turns, tokens, Usage(cost_usd=cost)))

    over = {
        "turns": turns >= limits.turns,
        "tokens": tokens >= limits.tokens,
        "cost_usd": cost is not None and cost >= limits.cost_usd,
    }
    assert (hit is not None) == any(over.values())
    assert hit is None or over[hit.name]
