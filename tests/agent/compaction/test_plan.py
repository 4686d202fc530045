"""Where a conversation is cut and how the part before is cut into pieces: pure rules with numbers."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from hub.agent.compaction.compact import startup_sections
from hub.agent.compaction.plan import RESULT_CHARS, Cut, chunk_tokens, chunks, find_cut, serialise
from hub.agent.compaction.settings import CompactionSettings
from hub.agent.compaction.summarise import HEADINGS, PoorSummary, check_summary
from hub.agent.conversation.window import Item
from hub.models.contract import Image, Message, Role, TextBlock, Thinking, ToolCallBlock, tool_result, user_message
from hub.sessions.repair import pair_results


def said(text: str, tokens: int = 100) -> Item:
    return Item(user_message(text), tokens)


def answered(text: str, tokens: int = 200) -> Item:
    return Item(Message(Role.ASSISTANT, (TextBlock(text),)), tokens)


def called(*ids: str, tokens: int = 100) -> list[Item]:
    """Calls of one turn, with their results."""
    calls = tuple(ToolCallBlock(id, "look", {"id": id}) for id in ids)
    return [Item(Message(Role.ASSISTANT, calls), tokens), *(Item(tool_result(call, "seen"), tokens) for call in calls)]


def turns(count: int) -> list[Item]:
    return [item for at in range(count) for item in (said(f"question {at}"), answered(f"answer {at}"))]


@pytest.mark.parametrize(
    ("keep", "expected"),
    [(50_000, Cut(0)), (600, Cut(16)), (601, Cut(15, 14)), (700, Cut(15, 14)), (200, Cut(19)), (1, Cut(19))],
)
def test_the_cut_keeps_at_least_what_is_to_be_kept(keep: int, expected: Cut) -> None:
    assert find_cut(turns(10), keep) == expected


def test_a_cut_is_never_between_a_call_and_its_results() -> None:
    items = [said("first"), answered("yes"), said("go on"), *called("a", "b", "c"), answered("done", 50)]

    cuts = {find_cut(items, keep).at for keep in range(1, 1_000)}

    assert cuts == {0, 1, 2, 3, 7}


def test_an_open_group_of_calls_at_the_end_is_kept_whole() -> None:
    items = [*turns(3), *called("a", "b")]

    assert find_cut(items, 50).at == 6


def test_a_long_request_is_not_kept_beside_the_turn_it_began() -> None:
    items = [*turns(2), said("long", 5_000), *called("a"), *called("b")]

    assert find_cut(items, 200) == Cut(7)


@given(
    st.lists(st.tuples(st.booleans(), st.integers(0, 3), st.integers(1, 400)), min_size=1, max_size=40),
    st.integers(1, 5_000),
)
def test_every_cut_leaves_two_whole_parts(steps: list[tuple[bool, int, int]], keep: int) -> None:
    items: list[Item] = []
    for at, (asks, calls, tokens) in enumerate(steps):
        items.append(said(f"question {at}", tokens) if asks else answered(f"answer {at}", tokens))
        if calls:
            items += called(*(f"{at}-{call}" for call in range(calls)), tokens=tokens)

    cut = find_cut(items, keep)

    messages = [item.message for item in items]
    for part in (messages[: cut.at], messages[cut.at :]):
        assert pair_results(part) == part
    kept = sum(item.tokens for item in items[cut.at :])
    assert cut.at == 0 or cut.at < len(items)
    group = 4 * 400
    assert kept >= min(keep, sum(item.tokens for item in items)) - group
    assert cut.turn is None or messages[cut.turn].role is Role.USER


@given(st.lists(st.integers(1, 40_000), min_size=1, max_size=60), st.integers(16_000, 200_000))
def test_every_piece_fits_into_one_call_and_nothing_is_left_out(sizes: list[int], window: int) -> None:
    messages = [user_message(f"<{at}>" + "x" * size) for at, size in enumerate(sizes)]

    made = chunks(messages, window)

    whole = "\n".join(chunk.text for chunk in made)
    assert all(chunk.tokens <= window * 0.5 for chunk in made)
    assert all(f"<{at}>" in whole or "too long to be summarised" in whole for at in range(len(sizes)))


def test_chunks_are_smaller_where_messages_are_large() -> None:
    assert chunk_tokens(100, 100_000) == int(40_000 / 1.2)
    assert chunk_tokens(10_000, 100_000) == int(16_000 / 1.2)
    assert chunk_tokens(50_000, 100_000) == int(15_000 / 1.2)


def test_a_message_over_half_the_window_is_only_counted() -> None:
    (chunk,) = chunks([user_message("x" * 60_000), user_message("and then")], 32_000)

    assert chunk.text == "[User] (a message of about 17145 tokens, too long to be summarised)\n\n[User] and then"


def test_a_message_is_written_so_that_a_model_does_not_carry_on_with_it() -> None:
    call = ToolCallBlock("a", "read", {"path": "x.md"})
    answer = Message(Role.ASSISTANT, (Thinking("hm"), TextBlock("I look."), call))

    assert serialise(user_message("hello")) == "[User] hello"
    assert serialise(answer) == '[Assistant] I look.\n[Call of read] {"path":"x.md"}'
    assert serialise(tool_result(call, "no such file", is_error=True)) == "[Result of read, failed] no such file"
    assert serialise(Message(Role.USER, (Image("image/png", "AAAA"),))) == "[User] (an image)"
    assert serialise(tool_result(call, "y" * 5_000)).endswith("y\n[... 3000 more characters]")
    assert serialise(tool_result(call, "y" * RESULT_CHARS)).endswith("y")


@pytest.mark.parametrize(
    ("window", "threshold"), [(200_000, 176_000), (1_000_000, 976_000), (32_000, 22_400), (16_000, 11_200)]
)
def test_it_begins_before_the_reserve_which_a_small_window_makes_smaller(window: int, threshold: int) -> None:
    assert CompactionSettings().threshold(window) == threshold


def test_a_summary_needs_all_headings_something_to_say_and_few_words() -> None:
    whole = "\n".join(f"## {heading}\nThe boiler is serviced in May." for heading in HEADINGS)

    assert check_summary(f"```markdown\n{whole}\n```", 10_000) == whole
    with pytest.raises(PoorSummary, match="missing: Decisions"):
        check_summary(whole.replace("## Decisions", ""), 10_000)
    with pytest.raises(PoorSummary, match="next to nothing"):
        check_summary("\n".join(f"## {heading}\nnone" for heading in HEADINGS), 10_000)
    with pytest.raises(PoorSummary, match="at most 100"):
        check_summary(whole, 100)


def test_two_sections_of_the_rules_are_given_again() -> None:
    rules = "# Rules\nx\n## Session Startup\nRead NOTES.md.\n### Then\nGreet.\n## Other\nno\n## red lines\nNever pay.\n"

    assert startup_sections(rules) == "## Session Startup\nRead NOTES.md.\n### Then\nGreet.\n\n## red lines\nNever pay."
    assert startup_sections("# Rules\nnothing of the kind") == ""
