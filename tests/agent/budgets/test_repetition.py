"""Loop detection: what counts as going round in circles, what does not, and what happens to the run."""

from __future__ import annotations

from itertools import count, cycle

import pytest
from hypothesis import given, strategies as st

from hub.agent.budgets.repetition import Repetition, RepetitionKind, ToolCallMade, digest_call, repetition
from hub.agent.run_request import RunStatus
from hub.models.contract import ToolCallBlock
from hub.tools.contract import ToolResult
from tests.agent.house import CHANGING, AgentHouse
from tests.servers.openai_server import OpenAIServer


def made(asked: str, got: str = "same", *, is_error: bool = False, read_only: bool = True) -> ToolCallMade:
    return ToolCallMade(asked[0], asked, got, is_error, read_only)


def first_over(calls: list[ToolCallMade], limit: int = 10) -> int | None:
    """How many calls it takes until the run ends."""
    for length in range(1, len(calls) + 1):
        found = repetition(calls[:length], limit)
        if found is not None and found.is_over:
            return length
    return None


def test_the_same_call_with_the_same_result_is_warned_of_and_then_ended() -> None:
    calls = [made("a", read_only=False)] * 10

    assert repetition(calls[:4], 10) is None
    warned = repetition(calls[:5], 10)
    assert warned is not None
    assert "5 times" in warned.warning
    assert not warned.is_over
    assert first_over(calls) == 10


@pytest.mark.parametrize("period", [2, 3, 4])
def test_calls_in_turn_are_found(period: int) -> None:
    turn = [made(name, name, read_only=False) for name in "abcd"[:period]]

    assert first_over([call for call, _ in zip(cycle(turn), range(60), strict=False)]) == 10 * period


def test_a_poll_whose_result_changes_is_progress() -> None:
    assert first_over([made("a", str(number)) for number in range(100)]) is None


def test_reading_that_brings_nothing_new_is_found_and_changing_is_not() -> None:
    looking = [made(f"a{number}", "nothing found") for number in range(40)]
    doing = [made(f"a{number}", "done", read_only=False) for number in range(40)]

    assert first_over(looking) == 21
    assert first_over(doing) is None


def test_calls_that_all_fail_are_found() -> None:
    failing = [made(f"a{number}", f"{number}", is_error=True, read_only=False) for number in range(40)]

    assert first_over(failing) == 20
    assert first_over([*failing[:15], made("b", "fine"), *failing[15:30]]) is None


def test_zero_finds_nothing() -> None:
    assert repetition([made("a")] * 500, 0) is None


@given(st.lists(st.sampled_from("abcdef"), max_size=40), st.integers(4, 20))
def test_nothing_is_found_while_every_result_is_new(names: list[str], limit: int) -> None:
    fresh = count()
    calls = [made(name, f"{next(fresh)}") for name in names]

    assert repetition(calls, limit) is None


@given(st.lists(st.sampled_from("ab"), max_size=60), st.integers(4, 10))
def test_what_is_over_was_warned_of_before(names: list[str], limit: int) -> None:
    calls = [made(name, name, read_only=False) for name in names]
    found = [repetition(calls[:length], limit) for length in range(len(calls) + 1)]

    for at, each in enumerate(found):
        assert each is None or not each.is_over or any(found[:at])


def test_the_order_of_arguments_makes_no_other_call() -> None:
    one = digest_call(ToolCallBlock("1", "look", {"a": 1, "b": 2}), ToolResult("x"), read_only=True)
    other = digest_call(ToolCallBlock("2", "look", {"b": 2, "a": 1}), ToolResult("x"), read_only=True)

    assert one == other
    assert one.asked != digest_call(ToolCallBlock("1", "look", {}, "{"), ToolResult("x"), read_only=True).asked


def test_the_warning_names_the_bound() -> None:
    assert "after 10 this run ends" in Repetition(RepetitionKind.SAME, 5, 10, ("look",)).warning


async def test_a_run_that_calls_the_same_tool_for_ever_is_warned_and_ended(
    house: AgentHouse, openai_server: OpenAIServer
) -> None:
    house.tool("look", lambda _: "seen", CHANGING)
    openai_server.set_default({"tool_call": {"name": "look", "arguments": {"at": "it"}}})

    result = await house.runner.run(house.request("look at it"))

    assert (result.status, result.stop) == (RunStatus.ERROR, "limit")
    assert result.error is not None
    assert "went round in circles: look was called with the same arguments" in result.error["message"]
    assert len(openai_server.requests()) == 10
    results = [text for role, text in house.transcript() if role == "toolResult"]
    assert [("Note of the hub" in text) for text in results] == [False] * 4 + [True] * 6

    openai_server.set_default("fine")
    assert (await house.runner.run(house.request("never mind"))).reply == "fine"
