"""Old tool results are shortened in what a model is sent: pure rules with numbers, and one real run of each."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, strategies as st

from hub.agent.conversation.old_results import (
    CLEARED,
    GUARD_SHARE,
    KEPT_TURNS,
    REMOVED,
    TRIM_FROM_CHARS,
    PruningSettings,
    guard,
    prune,
)
from hub.agent.conversation.window import Item, estimate_message
from hub.models.contract import Image, Message, Role, ToolCallBlock, tool_result, user_message
from hub.sessions.repair import pair_results
from tests.agent.house import MAIN, AgentHouse
from tests.servers.openai_server import OpenAIServer

ON = PruningSettings(mode="cache_ttl")
LOOK: list[dict[str, Any]] = [{"tool_call": {"name": "look", "arguments": {}}}, {"usage": None}]
LONG = "a" * 2_000 + "b" * 2_000 + "c" * 2_000


def item(message: Message) -> Item:
    return Item(message, estimate_message(message))


def look(at: int, text: str = LONG, tool: str = "look") -> list[Item]:
    call = ToolCallBlock(f"c{at}", tool)
    return [item(Message(Role.ASSISTANT, (call,))), item(tool_result(call, text))]


def looks(count: int, text: str = LONG, tool: str = "look") -> list[Item]:
    return [item(user_message("hello")), *[each for at in range(count) for each in look(at, text, tool)]]


def total(items: list[Item]) -> int:
    return sum(each.tokens for each in items)


def test_nothing_is_pruned_below_a_third_of_the_window() -> None:
    items = looks(10)

    assert prune(items, 29_000, 100_000, ON) == {}
    assert prune(items, 30_000, 100_000, ON) != {}


def test_long_results_keep_head_and_tail_and_the_last_three_answers_keep_theirs() -> None:
    changed = prune(looks(10), 40_000, 100_000, ON)

    assert sorted(changed) == [2, 4, 6, 8, 10, 12, 14]
    text = changed[2].text
    assert text.startswith("a" * 1_500 + "\n...\n" + "c" * 1_500 + "\n...\n[3000 of 6000 characters")
    assert changed[2].tool_call_id == "c0"


def test_short_results_images_and_what_is_before_the_first_user_stay() -> None:
    picture = tool_result(ToolCallBlock("p", "look"), LONG)
    seen = item(Message(Role.TOOL, (*picture.content, Image("image/png", "AA")), tool_call_id="p", tool_name="look"))
    items = [*look(100), *looks(4, "x" * TRIM_FROM_CHARS), item(Message(Role.ASSISTANT, (ToolCallBlock("p", "look"),)))]
    items += [seen, *looks(3)]

    assert prune(items, 40_000, 100_000, ON) == {}


def test_results_are_cleared_oldest_first_from_half_of_the_window_on() -> None:
    items = looks(40)

    changed = prune(items, 99_000, 100_000, ON)

    cleared = [at for at, message in changed.items() if message.text == CLEARED]
    assert cleared == sorted(cleared)
    assert cleared[:2] == [2, 4]
    assert len(cleared) < len(changed)


def test_few_characters_are_not_cleared() -> None:
    changed = prune(looks(10), 90_000, 100_000, ON)

    assert all(message.text != CLEARED for message in changed.values())


@pytest.mark.parametrize(
    ("allow", "deny", "pruned"),
    [
        ((), (), True),
        (("LOOK*",), (), True),
        (("read",), (), False),
        (("*",), ("Look_*",), False),
        ((), ("l*",), False),
    ],
)
def test_tools_are_chosen_by_pattern_and_deny_wins(allow: tuple[str, ...], deny: tuple[str, ...], pruned: bool) -> None:
    settings = PruningSettings("cache_ttl", allow=allow, deny=deny)

    assert bool(prune(looks(10, tool="look_up"), 40_000, 100_000, settings)) is pruned


def test_it_is_on_by_itself_where_a_cache_is_paid_for() -> None:
    auto = PruningSettings()

    assert [
        auto.is_on(each) for each in ("anthropic/claude-opus-5-5", "openrouter/anthropic/claude-x", "mine/qwen")
    ] == [
        True,
        True,
        False,
    ]
    assert not PruningSettings(mode="off").is_on("anthropic/claude-opus-5-5")


def test_the_guard_removes_the_oldest_results_down_to_its_target() -> None:
    items = looks(30)

    assert guard(items, 75_000, 100_000) == {}
    changed = guard(items, 76_000, 100_000)

    assert sorted(changed) == list(range(2, 2 + 2 * len(changed), 2))
    gained = sum(items[at].tokens - estimate_message(message) for at, message in changed.items())
    assert 76_000 - gained <= 60_000 < 76_000 - gained + items[2].tokens
    assert {message.text for message in changed.values()} == {REMOVED}


@given(
    st.lists(st.tuples(st.booleans(), st.integers(0, 3), st.integers(0, 9_000)), max_size=40),
    st.integers(1_000, 200_000),
    st.integers(16_000, 200_000),
)
def test_whatever_is_shortened_every_call_keeps_its_result_and_nothing_grows(
    steps: list[tuple[bool, int, int]], tokens: int, window: int
) -> None:
    items: list[Item] = []
    for at, (asks, calls, size) in enumerate(steps):
        if asks:
            items.append(item(user_message("x" * size)))
        for call in range(calls):
            items += look(at * 10 + call, "y" * size)

    for changed in (prune(items, tokens, window, ON), guard(items, tokens, window)):
        after = [changed.get(at, each.message) for at, each in enumerate(items)]
        answers = [at for at, each in enumerate(items) if each.message.role is Role.ASSISTANT]
        assert pair_results(after) == after
        assert all(items[at].message.role is Role.TOOL for at in changed)
        assert all(estimate_message(message) < items[at].tokens for at, message in changed.items())
        assert all(at < answers[-1] for at in changed)
    assert all(at < answers[-KEPT_TURNS] for at in prune(items, tokens, window, ON))


async def test_a_window_that_is_nearly_full_loses_the_oldest_results_but_the_transcript_none(
    house: AgentHouse, openai_server: OpenAIServer
) -> None:
    house.agents.configure([{"id": "main", "compaction": {"enabled": False}}])
    house.tool("look", lambda _: "word " * 3_000)
    openai_server.queue(*[LOOK] * 7, "done")

    result = await house.runner.run(house.request("look seven times"))

    results = [each["content"] for each in openai_server.requests()[-1]["body"]["messages"] if each["role"] == "tool"]
    assert result.reply == "done"
    assert [each == REMOVED for each in results] == sorted((each == REMOVED for each in results), reverse=True)
    assert results[0] == REMOVED
    assert results[-1] != REMOVED
    assert all(text != REMOVED for _, text in house.transcript())
    assert house.runner.parts.sessions.list()[0].context_tokens < GUARD_SHARE * 32_768


async def test_results_are_pruned_once_the_cache_has_run_out(house: AgentHouse, openai_server: OpenAIServer) -> None:
    house.agents.configure([{"id": "main", "pruning": {"mode": "cache_ttl", "ttl": 300}}])
    house.tool("look", lambda _: LONG)
    openai_server.set_default([{"text": "ok"}, {"usage": None}])
    openai_server.queue(*[LOOK] * 6)
    await house.runner.run(house.request("look six times"))

    await house.runner.run(house.request("soon after"))
    warm = str(openai_server.requests()[-1]["body"])
    session, parts = house.sessions.get(MAIN), house.runner.parts
    assert session is not None
    conversation = parts.conversations.of(
        session.session_id, (await parts.sessions.open_transcript(session)), parts.workspaces.zone()
    )
    assert conversation.called_at is not None
    conversation.called_at -= 301
    await house.runner.run(house.request("much later"))
    cold = str(openai_server.requests()[-1]["body"])

    assert "characters were left out" not in warm
    assert cold.count("[3000 of 6000 characters were left out of this old tool result]") == 4
