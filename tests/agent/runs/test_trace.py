"""The trace of a run: each model call and tool call with its times, what failed before, and what was steered in."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from hub.agent.run_request import RunStatus, SteeredMessage, Steering
from hub.agent.runs.trace import STEPS_LIMIT, RunTrace
from hub.core.clock import ManualClock
from hub.models.contract import Overloaded, Usage, user_message
from tests.agent.house import TEXT, AgentHouse, standing
from tests.servers.openai_server import OpenAIServer

LOOK = {"tool_call": {"name": "look", "arguments": {"text": "it"}}}


async def steps(house: AgentHouse, run_id: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = (await house.trace(run_id))["steps"]
    return found


async def test_a_run_is_traced_from_its_first_model_call_to_its_last(
    house: AgentHouse, openai_server: OpenAIServer
) -> None:
    house.tool("look", lambda call: "seen", parameters=TEXT)
    openai_server.queue(LOOK, "I looked.")

    await house.runner.run(house.request("look at it", run_id="r1"))

    asked, looked, answered = await steps(house, "r1")
    assert [each["kind"] for each in (asked, looked, answered)] == ["model", "tool", "model"]
    assert (looked["name"], looked["is_error"]) == ("look", False)
    assert (answered["model"], answered["failed"], answered["error"]) == ("test/model", [], None)
    assert asked["first_ms"] is None  # it called a tool, and said nothing
    assert 0 <= answered["first_ms"] <= answered["duration_ms"]
    assert asked["at_ms"] + asked["duration_ms"] <= looked["at_ms"] + 2  # each is rounded
    assert answered["usage"]["total_tokens"] > 0
    assert answered["prompt_tokens"] > asked["prompt_tokens"] > (await house.trace("r1"))["prompt"]["tokens"] > 0
    offered = openai_server.requests()[0]["body"]["tools"]
    assert (await house.trace("r1"))["prompt"]["tools"] == len(offered)


async def test_a_model_that_failed_is_named_with_the_one_that_answered_instead(
    tmp_path: Path, openai_server: OpenAIServer
) -> None:
    provider = {"api": "openai", "base_url": openai_server.base_url, "api_key": "sk-test-not-a-secret"}
    models = {
        "fallbacks": ["other/model"],
        "providers": {name: {**provider, "models": ["model"]} for name in ("test", "other")},
    }
    openai_server.queue({"status": 529, "body": {"error": {"message": "Overloaded"}}}, "ok")
    async with standing(AgentHouse(tmp_path / "home", openai_server.base_url, models=models)) as house:
        await house.runner.run(house.request(run_id="r1"))
        (call,) = await steps(house, "r1")

    assert call["model"] == "other/model"
    assert [(each["model"], each["code"]) for each in call["failed"]] == [("test/model", "MODEL_OVERLOADED")]


async def test_a_call_that_failed_for_good_has_its_error(house: AgentHouse, openai_server: OpenAIServer) -> None:
    openai_server.queue({"status": 401, "body": {"error": {"message": "Invalid API key"}}})

    await house.runner.run(house.request(run_id="r1"))

    (call,) = await steps(house, "r1")
    assert (call["error"], call["usage"]) == ("MODEL_AUTH", None)
    assert call["duration_ms"] is not None


async def test_a_call_that_was_too_long_is_followed_by_a_shorter_one(
    house: AgentHouse, openai_server: OpenAIServer
) -> None:
    openai_server.queue({"status": 400, "body": {"error": {"message": "maximum context length is 10"}}}, "ok")

    await house.runner.run(house.request(run_id="r1"))

    assert [(each["kind"], each["error"]) for each in await steps(house, "r1")] == [
        ("model", "CONTEXT_OVERFLOW"),
        ("model", None),
    ]


async def test_what_is_steered_in_is_a_step(house: AgentHouse, openai_server: OpenAIServer) -> None:
    waiting = [SteeredMessage("in-2", user_message("and the boiler"))]

    async def take() -> Sequence[SteeredMessage]:
        taken = tuple(waiting)
        waiting.clear()
        return taken

    await house.runner.run(house.request(run_id="r1", steering=Steering(lambda: bool(waiting), take)))

    assert [(each["kind"], each.get("inbox_id")) for each in await steps(house, "r1")] == [
        ("steered", "in-2"),
        ("model", None),
    ]


async def test_a_run_that_goes_on_shows_how_far_it_has_come(house: AgentHouse, openai_server: OpenAIServer) -> None:
    openai_server.queue([{"text": "one"}, {"hold": "never"}])
    running = house.tasks.spawn(house.runner.run(house.request(run_id="r1")), name="run")
    await house.until(lambda: house.told("run_delta"))

    trace = house.runner.trace("r1")
    house.runner.abort("r1")
    result = await running

    assert trace is not None
    assert (trace["steps"][0]["duration_ms"], trace["steps"][0]["first_ms"] is not None) == (None, True)
    assert result.status is RunStatus.ABORTED
    assert (await steps(house, "r1"))[0]["error"] == "ABORTED"
    assert house.runner.trace("r1") is None


def test_steps_beyond_the_limit_are_counted_and_not_kept() -> None:
    clock = ManualClock()
    trace = RunTrace(clock)

    trace.model_started("a/b")
    for _ in range(STEPS_LIMIT + 5):
        trace.model_retried("a/b", Overloaded("busy " * 1_000), 0.5, "c/d")
    trace.record_usage(Usage(1, 2))
    trace.model_ended()
    tool = trace.tool_begun("look", "1")

    assert trace.tool_ended(tool, is_error=False) == 0
    (call,) = trace.as_dict()["steps"]
    assert (len(call["failed"]), trace.dropped) == (STEPS_LIMIT - 1, 7)
    assert len(call["failed"][0]["message"]) == 300
    assert call["usage"]["total_tokens"] == 3


@pytest.mark.parametrize("named", [None, "test/model"])
async def test_each_answer_of_a_fallback_says_so_and_the_trace_agrees(
    tmp_path: Path, openai_server: OpenAIServer, named: str | None
) -> None:
    provider = {"api": "openai", "base_url": openai_server.base_url, "api_key": "sk-test-not-a-secret"}
    models = {
        "fallbacks": ["other/model"],
        "providers": {name: {**provider, "models": ["model"]} for name in ("test", "other")},
    }
    refused = {"status": 401, "body": {"error": {"message": "Invalid API key"}}}
    openai_server.queue(refused, "first", *([refused, "second"] if named else ["second"]), "third")
    clock = ManualClock()
    async with standing(AgentHouse(tmp_path / "home", openai_server.base_url, models=models, clock=clock)) as house:
        results = [await house.runner.run(house.request(run_id=id, model=named)) for id in ("r1", "r2")]
        await clock.advance(61)
        asked = [(await steps(house, each.run_id))[0]["model"] for each in results]
        mended = await house.runner.run(house.request(run_id="r3", model=named))

    assert [each.reply for each in results] == ["first", "second"]
    kinds = [each["kind"] for result in results for each in result.notices]
    assert kinds == ["failover", "failover" if named else "resting"]
    for result, model in zip(results, asked, strict=True):
        assert (result.notices[0]["model"], result.notices[0]["instead"]) == ("test/model", "other/model")
        assert result.model == model == "other/model"
    kept = [entry.data for entry in house.entries() if entry.data.get("final")]
    assert all("failed_models" in each or "notices" in each for each in kept[:2])
    assert (mended.reply, mended.model, mended.notices) == ("third", "test/model", ())
