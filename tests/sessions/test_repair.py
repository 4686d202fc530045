"""Pairing of tool calls and results, whatever order and damage they come in."""

from __future__ import annotations

from hypothesis import given, strategies as st

from hub.models.contract import Message, Role, TextBlock, ToolCallBlock, tool_result, user_message
from hub.sessions.repair import INTERRUPTED, pair_results, pending_calls


def says(*calls: str) -> Message:
    return Message(Role.ASSISTANT, tuple(ToolCallBlock(id, "ls") for id in calls))


def result(call: str, text: str = "done") -> Message:
    return tool_result(ToolCallBlock(call, "ls"), text)


def test_a_conversation_in_good_order_is_left_as_it_is() -> None:
    messages = [
        user_message("hi"),
        says("a", "b"),
        result("a"),
        result("b"),
        Message(Role.ASSISTANT, (TextBlock("ok"),)),
    ]

    assert pair_results(messages) == messages


def test_results_are_put_behind_their_calls_in_the_order_of_the_calls() -> None:
    paired = pair_results([says("a", "b"), result("b", "second"), user_message("and?"), result("a", "first")])

    assert [message.text for message in paired] == ["", "first", "second", "and?"]


def test_a_call_without_result_gets_one_that_says_so() -> None:
    paired = pair_results([says("a"), user_message("hello?")])

    assert [message.role for message in paired] == [Role.ASSISTANT, Role.TOOL, Role.USER]
    assert paired[1].text == INTERRUPTED
    assert paired[1].is_error


def test_a_result_without_call_is_left_out() -> None:
    assert pair_results([user_message("hi"), result("gone")]) == [user_message("hi")]


def test_an_id_used_again_belongs_to_the_call_before_it() -> None:
    messages = [says("c0"), result("c0", "one"), says("c0"), result("c0", "two")]

    assert pair_results(messages) == messages
    assert pending_calls(messages) == []


def test_an_id_used_twice_at_once_takes_two_results() -> None:
    messages = [says("c", "c"), result("c", "one"), result("c", "two")]

    assert pair_results(messages) == messages


MESSAGES = st.lists(
    st.one_of(
        st.just(user_message("u")),
        st.lists(st.sampled_from("abc"), max_size=3).map(lambda calls: says(*calls)),
        st.sampled_from("abcd").map(result),
    ),
    max_size=30,
)


@given(MESSAGES)
def test_whatever_comes_in_every_call_goes_out_with_its_result_right_behind(messages: list[Message]) -> None:
    paired = pair_results(messages)

    expected: list[str] = []
    for message in paired:
        if message.role is Role.TOOL:
            assert expected.pop(0) == message.tool_call_id
            continue
        assert expected == []
        expected = [call.id for call in message.tool_calls]
    assert expected == []
    assert pending_calls(paired) == []
    kept = [[repr(each) for each in some if each.role is not Role.TOOL] for some in (paired, messages)]
    assert sorted(kept[0]) == sorted(kept[1])


def test_what_was_said_by_no_run_while_a_call_went_on_stands_before_the_call() -> None:
    said = Message(Role.ASSISTANT, (TextBlock("the wash is done"),))

    paired = pair_results([user_message("look"), says("a", "b"), said, result("a"), result("b")])

    assert paired == [user_message("look"), said, says("a", "b"), result("a"), result("b")]
