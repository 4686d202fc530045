"""Thinking between tags is separated from the answer, however the stream is cut."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from hub.models.contract import (
    ModelEvent,
    StopEvent,
    StopReason,
    TextDelta,
    TextWasThinking,
    ThinkingDelta,
    ToolCallBlock,
    ToolCallEvent,
)
from hub.models.inline_thinking import InlineThinking

PIECES = (
    *(
        "\n</think>\n",
        "<think>",
        "</think>",
        "<THINKING kind='a'>",
        "</thinking>",
        "<final>",
        "</final>",
        "<thin",
        "<b>",
        "</",
    ),
    *("`", "```", "\n", " a ", "x < y", "<think", ">"),
)


def told(*chunks: str, final_tags: bool = False) -> list[tuple[str, str]]:
    """Return what was thought and said, each run of it as one; what turned out to be thinking as such."""
    thinking = InlineThinking(final_tags=final_tags)
    events = [event for chunk in chunks if chunk for event in thinking.add(TextDelta(chunk))] + [*thinking.end()]
    merged: list[tuple[str, str]] = []
    for event in events:
        if isinstance(event, TextWasThinking):
            merged = [("thought", "".join(text for _, text in merged))] if merged else []
            continue
        assert isinstance(event, (TextDelta, ThinkingDelta))
        kind = "thought" if isinstance(event, ThinkingDelta) else "said"
        if merged and merged[-1][0] == kind:
            merged[-1] = (kind, merged[-1][1] + event.text)
        else:
            merged.append((kind, event.text))
    return merged


@pytest.mark.parametrize(
    ("answer", "parts"),
    [
        ("Yes.", [("said", "Yes.")]),
        ("<think>\nhm\n</think>\n\nYes.", [("thought", "hm\n"), ("said", "Yes.")]),
        ("<think>hm\n```\nx</think>Yes.", [("thought", "hm\n```\nx"), ("said", "Yes.")]),
        ("So <Thought a='b'>hm</thought> be it", [("said", "So "), ("thought", "hm"), ("said", "be it")]),
        ("<thinking>never closed", [("thought", "never closed")]),
        ("hm</think> Yes.", [("said", "hm Yes.")]),
        ("hm\n</think>\n\nYes.", [("thought", "hm\n"), ("said", "Yes.")]),
        ("</think>\n\nYes.", [("said", "Yes.")]),
        ("<think>hm</think>Yes.\n</think>No.", [("thought", "hm"), ("said", "Yes.\nNo.")]),
        ("a\n</think>b\n</think>c", [("thought", "a\n"), ("said", "b\nc")]),
        ("```\na\n</think>\n```\nb", [("said", "```\na\n</think>\n```\nb")]),
        ("<think>hm</think><final>Yes.</final>", [("thought", "hm"), ("said", "Yes.")]),
        ("Write `<think>` or\n```\n<think>\n```\n", [("said", "Write `<think>` or\n```\n<think>\n```\n")]),
        ("it`s\n<think>hm</think>so", [("said", "it`s\n"), ("thought", "hm"), ("said", "so")]),
        ("<thinker> < <think", [("said", "<thinker> < <think")]),
    ],
)
def test_tags_tell_thinking_from_text_but_not_in_code(answer: str, parts: list[tuple[str, str]]) -> None:
    assert told(answer) == parts


@pytest.mark.parametrize(
    ("answer", "parts"),
    [
        ("Hm. <final>Yes.</final> Done.", [("thought", "Hm. "), ("said", "Yes."), ("thought", "Done.")]),
        ("<think>hm</think>\n<final>\nYes.", [("thought", "hm"), ("said", "Yes.")]),
        ("<think>hm <final>Yes.</final>", [("thought", "hm "), ("said", "Yes.")]),
        ("<final>Y</final>es <final>No</final>", [("said", "Y"), ("thought", "es "), ("said", "No")]),
        ("Yes.", [("thought", "Yes.")]),
        ("Write `<final>`.\n<final>Yes.</final>", [("thought", "Write `<final>`.\n"), ("said", "Yes.")]),
        ("```\nhm\n<final>Yes.</final>", [("thought", "```\nhm\n"), ("said", "Yes.")]),
        ("<final>```\n</final>\n```</final>", [("said", "```\n</final>\n```")]),
        ("a\n</think>b <final>c</final>", [("thought", "a\nb "), ("said", "c")]),
    ],
)
def test_with_final_tags_only_what_stands_between_them_is_said(answer: str, parts: list[tuple[str, str]]) -> None:
    assert told(answer, final_tags=True) == parts


@given(st.lists(st.sampled_from(PIECES), max_size=30), st.lists(st.integers(1, 7), max_size=60), st.booleans())
def test_it_is_the_same_however_the_stream_is_cut(pieces: list[str], sizes: list[int], tags: bool) -> None:
    answer = left = "".join(pieces)
    chunks = []
    for size in sizes:
        chunks.append(left[:size])
        left = left[size:]

    assert told(*chunks, left, final_tags=tags) == told(answer, final_tags=tags)


@given(st.lists(st.sampled_from(("a", " b ", "<", "x < y", "`", "\n", "</", "<b>")), max_size=30))
def test_text_without_such_tags_comes_out_as_it_went_in(pieces: list[str]) -> None:
    assert "".join(text for _, text in told(*pieces)) == "".join(pieces)


@pytest.mark.parametrize(
    "event", [ToolCallEvent(ToolCallBlock("1", "look", {})), StopEvent(StopReason.END)], ids=["tool call", "stop"]
)
def test_what_was_held_back_comes_before_whatever_else_the_model_does(event: ModelEvent) -> None:
    thinking = InlineThinking()

    assert [*thinking.add(TextDelta("a <th")), *thinking.add(event)] == [TextDelta("a "), TextDelta("<th"), event]


def test_a_model_that_thinks_beside_its_text_has_said_what_stands_before_a_stray_tag() -> None:
    thinking = InlineThinking()

    events = [event for each in (ThinkingDelta("hm"), TextDelta("Yes.\n</think>No.")) for event in thinking.add(each)]

    assert events == [ThinkingDelta("hm"), TextDelta("Yes.\nNo.")]
