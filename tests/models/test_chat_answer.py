"""Chunks become events, however a server cuts, repeats or forgets things."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, strategies as st

from hub.models.chat_answer import TOOL_CALLS_LIMIT, UNNAMED, ChatAnswer, read_arguments, read_usage
from hub.models.contract import (
    FormatError,
    ModelEvent,
    StopEvent,
    StopReason,
    TextDelta,
    ThinkingDelta,
    ToolCallBlock,
    ToolCallEvent,
    Usage,
)

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
FIELDS = st.sampled_from(
    [
        *("choices", "delta", "message", "content", "tool_calls", "function", "name", "arguments", "id", "index"),
        *("usage", "finish_reason", "reasoning", "prompt_tokens", "thinking_blocks", "signature", "refusal"),
        "function_call",
    ]
)
CHUNKS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(FIELDS, inner, max_size=4),
    max_leaves=20,
)


def read(*deltas: dict[str, Any], finish: str | None = "stop", known: set[str] | None = None) -> list[ModelEvent]:
    answer = ChatAnswer(lambda: known or set())
    events = [event for delta in deltas for event in answer.chunk({"choices": [{"delta": delta}]})]
    events += answer.chunk({"choices": [{"delta": {}, "finish_reason": finish}]})
    return events + answer.end()


def fragment(**fields: Any) -> dict[str, Any]:
    function = {key: fields.pop(key) for key in ("name", "arguments") if key in fields}
    return {"tool_calls": [{**fields, "function": function}]}


def calls(events: list[ModelEvent]) -> list[ToolCallBlock]:
    return [event.call for event in events if isinstance(event, ToolCallEvent)]


@given(
    st.lists(
        st.tuples(st.dictionaries(st.text(max_size=5), JSON, max_size=3), st.integers(1, 5)), min_size=1, max_size=4
    ),
    st.booleans(),
)
def test_arguments_survive_any_cut_and_any_interleaving(
    wanted: list[tuple[dict[str, Any], int]], interleaved: bool
) -> None:
    rows = []
    for index, (arguments, pieces) in enumerate(wanted):
        raw = json.dumps(arguments)
        size = max(1, -(-len(raw) // pieces))
        cuts = [raw[at : at + size] for at in range(0, len(raw), size)]
        rows.append([fragment(index=index, id=f"c{index}", name=f"t{index}", arguments="")])
        rows[-1] += [fragment(index=index, arguments=cut) for cut in cuts]
    longest = max(len(row) for row in rows)
    columns = [row[place] for place in range(longest) for row in rows if place < len(row)]
    ordered = columns if interleaved else [delta for row in rows for delta in row]

    found = calls(read(*ordered, finish="tool_calls"))

    assert [(call.id, call.name, call.arguments) for call in found] == [
        (f"c{index}", f"t{index}", arguments) for index, (arguments, _) in enumerate(wanted)
    ]


@given(st.lists(CHUNKS, max_size=6))
def test_any_chunk_is_survived(chunks: list[Any]) -> None:
    answer = ChatAnswer()

    for chunk in chunks:
        if isinstance(chunk, dict):
            answer.chunk(chunk)

    assert isinstance(answer.end()[-1], StopEvent)


def test_the_same_index_with_another_id_is_another_call() -> None:
    found = calls(
        read(
            fragment(index=0, id="a", name="one", arguments="{}"), fragment(index=0, id="b", name="two", arguments="{}")
        )
    )

    assert [(call.id, call.name) for call in found] == [("a", "one"), ("b", "two")]


def test_a_name_may_be_cut_or_repeated() -> None:
    cut = read(fragment(index=0, id="a", name="get_"), fragment(index=0, name="state", arguments="{}"))
    repeated = read(fragment(index=0, id="a", name="get"), fragment(index=0, id="a", name="get", arguments="{}"))

    assert (calls(cut)[0].name, calls(repeated)[0].name) == ("get_state", "get")


def test_ids_that_came_before_are_replaced() -> None:
    (call,) = calls(read(fragment(index=0, id="call_0", name="x", arguments="{}"), known={"call_0"}))

    assert call.id not in {"", "call_0"}


def test_a_call_without_a_name_is_malformed() -> None:
    (call,) = calls(read(fragment(index=0, id="a", arguments='{"x": 1}')))

    assert (call.name, call.malformed) == (UNNAMED, '{"x": 1}')


@pytest.mark.parametrize(
    ("finish", "deltas", "expected"),
    [
        ("stop", [{"content": "x"}], StopReason.END),
        ("length", [{"content": "x"}], StopReason.LENGTH),
        ("content_filter", [{"content": "x"}], StopReason.REFUSED),
        ("eos", [{"content": "x"}], StopReason.END),
        ("stop", [fragment(index=0, id="a", name="x", arguments="{}")], StopReason.TOOL_CALLS),
        ("tool_calls", [{"content": "x"}], StopReason.END),
        ("length", [fragment(index=0, id="a", name="x", arguments="{")], StopReason.LENGTH),
        ("stop", [{"refusal": "I cannot."}], StopReason.REFUSED),
    ],
)
def test_the_stop_says_what_happened(finish: str, deltas: list[dict[str, Any]], expected: StopReason) -> None:
    assert read(*deltas, finish=finish)[-1] == StopEvent(expected)


def test_text_in_parts_and_signatures_are_read() -> None:
    events = read(
        {"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
        {"thinking_blocks": [{"type": "thinking", "thinking": "", "signature": "sig"}]},
    )

    assert events[:2] == [TextDelta("ab"), ThinkingDelta("", "sig")]


def test_an_old_function_call_is_a_tool_call() -> None:
    (call,) = calls(read({"function_call": {"name": "x", "arguments": ""}}, {"function_call": {"arguments": "{}"}}))

    assert (call.name, call.arguments) == ("x", {})


def test_too_many_tool_calls_are_refused() -> None:
    deltas = [fragment(index=index, id=f"c{index}", name="x") for index in range(TOOL_CALLS_LIMIT + 1)]

    with pytest.raises(FormatError):
        read(*deltas)


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ("", ({}, None)),
        ("null", ({}, None)),
        ('{"a": 1}', ({"a": 1}, None)),
        ('"{\\"a\\": 1}"', ({"a": 1}, None)),
        ("[1]", ({}, "[1]")),
        ('{"a": NaN}', ({}, '{"a": NaN}')),
        ('{}{"a": 1}', ({}, '{}{"a": 1}')),
    ],
)
def test_arguments_are_an_object_or_malformed(raw: str, expected: tuple[dict[str, Any], str | None]) -> None:
    assert read_arguments(raw) == expected


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        ({"prompt_tokens": 10, "completion_tokens": 2}, Usage(10, 2)),
        ({"prompt_tokens": 10, "prompt_tokens_details": {"cached_tokens": 4}}, Usage(6, 0, 4)),
        ({"prompt_tokens": 10, "completion_tokens": 1, "prompt_cache_hit_tokens": 9}, Usage(1, 1, 9)),
        (
            {"prompt_tokens": 10, "prompt_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 5}, "cost": 0.5},
            Usage(1, 0, 4, 5, 0.5),
        ),
        ({"prompt_tokens": -1, "completion_tokens": "x"}, None),
        ({"prompt_tokens": True}, None),
        ({}, None),
        ([], None),
        ({"prompt_tokens": 3, "prompt_tokens_details": {"cached_tokens": 100}}, Usage(0, 0, 100)),
    ],
)
def test_usage_is_read_as_it_is_told(usage: Any, expected: Usage | None) -> None:
    assert read_usage(usage) == expected
