"""Which messages fit into a model's window: pure rules with numbers."""

from __future__ import annotations

from hypothesis import given, strategies as st

from hub.agent.conversation.window import Item, budget_for, estimate_message, estimate_text, fit
from hub.models.contract import Image, Message, ModelInfo, Role, TextBlock, ToolCallBlock, tool_result, user_message
from hub.sessions.repair import pair_results


def turn(number: int, *, steps: int = 0, tokens: int = 100) -> list[Item]:
    """A user's message, so many tool calls with their results, and an answer."""
    items = [Item(user_message(f"question {number}"), tokens)]
    for step in range(steps):
        call = ToolCallBlock(f"c{number}-{step}", "look")
        items += [Item(Message(Role.ASSISTANT, (call,)), tokens), Item(tool_result(call, "seen"), tokens)]
    return [*items, Item(Message(Role.ASSISTANT, (TextBlock(f"answer {number}"),)), tokens)]


def conversation(turns: int, tokens: int = 100) -> list[Item]:
    return [item for number in range(turns) for item in turn(number, tokens=tokens)]


def test_what_fits_is_sent_whole() -> None:
    window = fit(conversation(10), 2_000)

    assert (len(window.messages), window.tokens, window.left_out) == (20, 2_000, 0)


def test_whole_oldest_turns_are_left_out_with_a_mark() -> None:
    window = fit(conversation(10), 1_000)

    assert window.left_out == 12
    assert window.messages[0].text == (
        "[12 earlier messages of this conversation were left out here: no room]question 6"
    )
    assert [message.text for message in window.messages[1:]] == [
        text for number in range(6, 10) for text in (f"question {number}", f"answer {number}")
    ][1:]


def test_the_cut_moves_seldom() -> None:
    cuts = [fit(conversation(turns), 1_000).left_out for turns in range(1, 41)]

    assert cuts == sorted(cuts)
    assert len(set(cuts)) <= 1 + 40 * 200 / 300


def test_the_newest_turn_is_sent_even_when_it_is_too_large() -> None:
    window = fit(conversation(3, tokens=5_000), 1_000)

    assert [message.role for message in window.messages] == [Role.USER, Role.ASSISTANT]
    assert window.messages[0].text.endswith("question 2")


def test_a_turn_that_is_too_large_by_itself_loses_its_oldest_steps() -> None:
    window = fit([*turn(0), *turn(1, steps=20)[:-1]], 1_500)

    assert window.tokens <= 1_500
    assert window.messages[0].text.startswith("[2 earlier messages")
    assert "calls of tools and their results, were left out" in window.messages[0].text
    assert window.messages[0].text.endswith("question 1")
    assert window.messages[-1].tool_call_id == "c1-19"
    assert list(pair_results(window.messages)) == list(window.messages)


def test_each_halving_means_half() -> None:
    items = conversation(10)

    assert fit(items, 2_000, halvings=1) == fit(items, 1_000)
    assert fit(items, 2_000, halvings=2) == fit(items, 500)


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(1, 500)), min_size=1, max_size=30), st.integers(1, 5_000))
def test_every_window_is_whole_ends_with_the_newest_and_fits_when_it_can(
    turns: list[tuple[int, int]], budget: int
) -> None:
    items = [item for at, (steps, tokens) in enumerate(turns) for item in turn(at, steps=steps, tokens=tokens)]
    last = turn(len(turns) - 1, steps=turns[-1][0], tokens=turns[-1][1])

    window = fit(items, budget)

    assert window.messages[0].role is Role.USER
    assert window.messages[-1] == items[-1].message
    assert f"question {len(turns) - 1}" in "".join(message.text for message in window.messages)
    assert list(pair_results(window.messages)) == list(window.messages)
    assert window.tokens <= max(budget, sum(item.tokens for item in last))


@given(st.text())
def test_every_text_has_a_size_that_grows_with_it(text: str) -> None:
    assert estimate_text(text) <= estimate_text(text + "x")


def test_images_and_calls_have_sizes() -> None:
    image = Message(Role.USER, (Image("image/png", "A" * 1_000_000),))
    call = Message(Role.ASSISTANT, (ToolCallBlock("a", "write", {"text": "x" * 7_000}),))

    assert estimate_message(image) < 2_000
    assert 2_000 < estimate_message(call) < 2_100


def test_a_small_model_keeps_room_for_its_answer() -> None:
    assert budget_for(ModelInfo("m", "p", context_window=4_096), 1_000) == 4_096 - 1_024 - 1_000
    assert budget_for(ModelInfo("m", "p", context_window=4_096), 50_000) == 512
