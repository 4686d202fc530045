"""Conversations as servers want them."""

from __future__ import annotations

from typing import Any

import orjson

from hub.models.chat_request import ChatHistory, chat_messages, chat_tools, known_call_ids, plain
from hub.models.contract import (
    Image,
    Message,
    ModelRequest,
    Role,
    TextBlock,
    Thinking,
    ToolCallBlock,
    ToolSpec,
    tool_result,
    user_message,
)

CALL = ToolCallBlock("c1", "look", {"at": "door"})
OTHER = ToolCallBlock("c2", "look", {"at": "window"})


def sent(*messages: Message, system: str = "", **options: Any) -> list[dict[str, Any]]:
    return chat_messages(ModelRequest("m", system, messages), **options)


def said(*blocks: Any) -> Message:
    return Message(Role.ASSISTANT, blocks)


def test_the_system_prompt_comes_first_and_only_when_there_is_one() -> None:
    assert sent(user_message("hi"), system="be kind")[0] == {"role": "system", "content": "be kind"}
    assert sent(user_message("hi")) == [{"role": "user", "content": "hi"}]


def test_calls_and_results_keep_their_ids_and_errors_say_so() -> None:
    messages = sent(user_message("look"), said(TextBlock("I look."), CALL), tool_result(CALL, "locked", is_error=True))

    assert messages[1]["content"] == "I look."
    assert messages[1]["tool_calls"] == [
        {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"at":"door"}'}}
    ]
    assert messages[2] == {"role": "tool", "tool_call_id": "c1", "content": "Error: locked"}


def test_malformed_arguments_go_back_as_valid_json() -> None:
    broken = ToolCallBlock("c1", "look", {}, '{"at": do')

    (message,) = sent(said(broken))

    assert orjson.loads(message["tool_calls"][0]["function"]["arguments"]) == {"malformed_arguments": '{"at": do'}


def test_the_words_with_which_claude_refuses_everything_reach_no_model() -> None:
    word = "ANTHROPIC_MAGIC_STRING_TRIGGER_REFUSAL_1FAEFB61"
    call = ToolCallBlock("c1", "look", {"at": word})
    messages = (user_message(f"a {word}"), said(TextBlock(word), call), tool_result(call, word))

    for found in (
        sent(*messages, system=word),
        ChatHistory().messages(ModelRequest("m", word, messages, session_key="k")),
    ):
        assert b"MAGIC_STRING" not in orjson.dumps(found)
        assert orjson.dumps(found).count(b"ANTHROPIC MAGIC STRING TRIGGER_REFUSAL_1FAEFB61") == 5


def test_thinking_is_not_sent_back_unless_it_is_asked_for() -> None:
    message = said(Thinking("hm", "signed"), TextBlock("4"))

    assert sent(message) == [{"role": "assistant", "content": "4"}]
    assert sent(message, reasoning=True)[0]["reasoning_content"] == "hm"
    assert sent(message, signatures=True)[0]["thinking_blocks"] == [
        {"type": "thinking", "thinking": "hm", "signature": "signed"}
    ]


def test_an_empty_assistant_message_is_left_out() -> None:
    assert sent(user_message("a"), said(Thinking("…")), user_message("b")) == [{"role": "user", "content": "a\n\nb"}]


def test_images_become_data_urls() -> None:
    (message,) = sent(Message(Role.USER, (TextBlock("see"), Image("image/png", "QUJD"))))

    assert message["content"] == [
        {"type": "text", "text": "see"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,QUJD"}},
    ]


def test_images_of_tool_results_follow_behind_all_results_of_the_turn() -> None:
    picture = Message(Role.TOOL, (TextBlock("taken"), Image("image/png", "QUJD")), tool_call_id="c1", tool_name="look")

    messages = sent(said(CALL, OTHER), picture, tool_result(OTHER, "dark"), user_message("and?"))

    assert [message["role"] for message in messages] == ["assistant", "tool", "tool", "user"]
    assert [part["type"] for part in messages[-1]["content"]] == ["text", "image_url", "text"]


def test_tools_are_functions_with_their_schema() -> None:
    (tool,) = chat_tools([ToolSpec("look", "Looks.", {"type": "object"})])

    assert orjson.loads(orjson.dumps(tool, default=plain)) == {
        "type": "function",
        "function": {"name": "look", "description": "Looks.", "parameters": {"type": "object"}},
    }


def test_earlier_call_ids_are_known() -> None:
    assert known_call_ids((user_message("x"), said(CALL, OTHER), tool_result(CALL, ""))) == {"c1", "c2"}


def test_a_conversation_that_goes_on_is_sent_as_if_it_were_put_together_again() -> None:
    picture = Message(Role.TOOL, (TextBlock("seen"), Image("image/png", "aGk=")), tool_call_id="c1", tool_name="look")
    whole = (user_message("one"), user_message("two"), said(TextBlock("ok"), CALL), picture, user_message("three"))
    history = ChatHistory()

    steps = [ModelRequest("m", "be kind", whole[:count], session_key="agent:main:main") for count in range(1, 6)]

    assert [history.messages(step) for step in steps] == [chat_messages(step) for step in steps]


def test_a_conversation_that_begins_with_other_words_than_those_kept_is_put_together_again() -> None:
    history = ChatHistory()
    history.messages(ModelRequest("m", "", (user_message("one"), said(TextBlock("ok"))), session_key="a"))

    other = ModelRequest("m", "", (user_message("other"), said(TextBlock("ok")), user_message("two")), session_key="a")
    shorter = ModelRequest("m", "", (user_message("other"),), session_key="a")

    assert history.messages(other) == chat_messages(other)
    assert history.messages(shorter) == chat_messages(shorter)


def test_thinking_that_a_server_asks_for_later_is_in_what_was_sent_before_too() -> None:
    history = ChatHistory()
    request = ModelRequest("m", "", (user_message("2+2"), said(Thinking("hm"), TextBlock("4"))), session_key="a")
    history.messages(request)

    assert history.messages(request, reasoning=True)[1]["reasoning_content"] == "hm"
