"""The loop at its edges: a model that overflows, breaks off, or asks for too much."""

from __future__ import annotations

from typing import Any

import pytest

from hub.agent.loop import CALLS_LIMIT, AnswerDraft
from hub.agent.run_request import RunStatus
from hub.models.contract import (
    Message,
    Role,
    StopEvent,
    StopReason,
    TextBlock,
    TextDelta,
    Thinking,
    ThinkingDelta,
    ToolCallBlock,
    ToolCallEvent,
    Usage,
    UsageEvent,
)
from hub.sessions.repair import pending_calls
from tests.agent.house import AgentHouse
from tests.servers.openai_server import OpenAIServer

OVERFLOW = {
    "status": 400,
    "body": {"error": {"message": "This model's maximum context length is 10", "code": "context_length_exceeded"}},
}


async def test_a_conversation_that_is_too_long_is_shortened_until_it_fits(
    house: AgentHouse, openai_server: OpenAIServer
) -> None:
    for number in range(6):
        await house.runner.run(house.request(f"{number} " + "word " * 1_500))
    openai_server.queue(OVERFLOW, OVERFLOW, OVERFLOW, "that fits")

    result = await house.runner.run(house.request("the newest"))

    assert result.reply == "that fits"
    too_long, _summary, still_too_long, shorter = openai_server.requests()[-4:]
    lengths = [len(each["body"]["messages"]) for each in (too_long, still_too_long, shorter)]
    assert lengths == sorted(lengths, reverse=True)
    assert lengths[0] > lengths[1] > lengths[2]
    assert "earlier messages of this conversation were left out" in shorter["body"]["messages"][1]["content"]
    assert shorter["body"]["messages"][-1]["content"].endswith("the newest")
    assert house.transcript()[-1] == ("assistant", "that fits")


async def test_a_conversation_that_stays_too_long_is_an_error(house: AgentHouse, openai_server: OpenAIServer) -> None:
    openai_server.queue(OVERFLOW, OVERFLOW)

    result = await house.runner.run(house.request("x"))

    assert result.error is not None
    assert result.error["code"] == "MODEL_CONTEXT_OVERFLOW"
    assert len(openai_server.requests()) == 2


@pytest.mark.parametrize("ending", [{"disconnect": True}, {"truncate": True}, {"error": {"message": "overloaded"}}])
async def test_an_answer_that_breaks_off_is_kept_and_marked(
    house: AgentHouse, openai_server: OpenAIServer, ending: dict[str, Any]
) -> None:
    openai_server.queue([{"text": "It began well"}, ending], "ok")

    result = await house.runner.run(house.request())
    await house.runner.run(house.request("go on"))

    assert result.status is RunStatus.ERROR
    assert result.reply == "It began well"
    partial = next(entry for entry in house.entries() if entry.message and entry.message.role is Role.ASSISTANT)
    assert partial.data["status"] == "error"
    assert openai_server.requests()[1]["body"]["messages"][2]["content"] == "It began well\n[broken off here]"


async def test_calls_beyond_the_bound_are_told_so_and_have_results(
    house: AgentHouse, openai_server: OpenAIServer
) -> None:
    done: list[str] = []
    house.tool("look", lambda call: done.append(call.id))
    calls = [{"tool_call": {"name": "look", "arguments": {}, "id": f"c{at}"}} for at in range(CALLS_LIMIT + 3)]
    openai_server.queue(calls, "ok")

    result = await house.runner.run(house.request())

    assert result.status is RunStatus.OK
    assert len(done) == CALLS_LIMIT
    messages = [entry.message for entry in house.entries() if entry.message is not None]
    assert pending_calls(messages) == []
    assert sum(f"only {CALLS_LIMIT} calls" in message.text for message in messages) == 3


async def test_calls_with_the_same_id_each_have_their_own_result(
    house: AgentHouse, openai_server: OpenAIServer
) -> None:
    answers = iter(["first", "second"])
    house.tool("look", lambda _: next(answers))
    openai_server.queue([{"tool_call": {"name": "look", "arguments": {}, "id": "same"}}] * 2, "ok")

    result = await house.runner.run(house.request())

    assert result.status is RunStatus.OK
    assert [text for role, text in house.transcript() if role == "toolResult"] == ["first", "second"]


async def test_a_tool_with_a_defect_does_not_end_the_run(house: AgentHouse, openai_server: OpenAIServer) -> None:
    def broken(_: object) -> str:
        raise KeyError("oops")

    house.tool("look", broken)
    openai_server.queue([{"tool_call": {"name": "look", "arguments": {}, "id": "a"}}], "I see")

    result = await house.runner.run(house.request())

    assert result.reply == "I see"
    assert house.told("run_tool_finished")[0]["is_error"] is True


def drafted(*events: Any) -> AnswerDraft:
    draft = AnswerDraft()
    for event in events:
        draft.add(event)
    return draft


def test_a_draft_keeps_blocks_in_their_order() -> None:
    call = ToolCallBlock("a", "look")

    turn = drafted(
        ThinkingDelta("hm"),
        ThinkingDelta("m", "signed"),
        TextDelta("He"),
        TextDelta("llo"),
        ToolCallEvent(call),
        TextDelta("!"),
        UsageEvent(Usage(1, 1)),
        UsageEvent(Usage(2, 3)),
        StopEvent(StopReason.TOOL_CALLS),
    ).turn()

    assert turn.message.content == (Thinking("hmm", "signed"), TextBlock("Hello"), call, TextBlock("!"))
    assert (turn.usage, turn.stop, turn.calls) == (Usage(2, 3), StopReason.TOOL_CALLS, (call,))


def test_what_was_broken_off_has_no_calls_and_no_unsigned_thinking() -> None:
    draft = drafted(ThinkingDelta("hm"), TextDelta("Hello"), ToolCallEvent(ToolCallBlock("a", "look")))

    assert draft.partial() == Message(Role.ASSISTANT, (TextBlock("Hello"),))
    assert drafted(ThinkingDelta("hm")).partial() is None
    assert drafted().partial() is None
