"""What a server streams becomes events; half an answer never passes for a whole one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import aiohttp
import msgspec
import pytest
from aiohttp.base_protocol import BaseProtocol

from hub.core.clock import Clock
from hub.models.contract import (
    FormatError,
    ModelError,
    ModelRequest,
    ModelTimeout,
    Overloaded,
    StopEvent,
    StopReason,
    TextDelta,
    ThinkingDelta,
    ToolCallBlock,
    ToolCallEvent,
    Usage,
    UsageEvent,
    user_message,
)
from hub.models.provider_config import ProviderConfig
from integrations.models.openai_compatible.answer import StreamReader
from integrations.models.openai_compatible.model import OpenAIProvider
from tests.integrations.models.openai_compatible.conftest import KEY, Ask
from tests.servers.openai_server import OpenAIServer
from tests.servers.ports import free_port


def text_of(events: list[Any]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta))


def calls_of(events: list[Any]) -> list[ToolCallBlock]:
    return [event.call for event in events if isinstance(event, ToolCallEvent)]


async def test_text_usage_and_stop_come_in_this_order(openai_server: OpenAIServer, ask: Ask) -> None:
    openai_server.queue(
        [
            {"text": "Grüße 你好", "chunks": 4},
            {"usage": {"prompt_tokens": 12, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 4}}},
        ]
    )

    events = await ask()

    assert text_of(events) == "Grüße 你好"
    assert events[-2:] == [UsageEvent(Usage(8, 3, 4)), StopEvent(StopReason.END)]


def said(**delta: str) -> bytes:
    return b"data: %b\n\n" % msgspec.json.encode({"choices": [{"delta": delta}]})


async def test_text_that_comes_at_once_is_one_event_also_before_a_fault() -> None:
    protocol = BaseProtocol(asyncio.get_running_loop())
    content = aiohttp.StreamReader(protocol, 2**16)
    content.feed_data(said(reasoning="Let me ") + said(reasoning="see.") + said(content="Gr") + said(content="üße"))
    content.feed_data(b'data: {"error": {"message": "no"}}\n\n')
    reader = StreamReader(
        content,
        json=False,
        timeout_s=9,
        deadline=asyncio.get_running_loop().time() + 9,
        who="x/m",
        known_ids=set,
        fault=lambda status, code, message: Overloaded(message),
    )
    events: list[Any] = []

    async def read() -> None:
        async for event in reader.events():
            events.append(event)

    with pytest.raises(Overloaded, match="no"):
        await read()
    reader.close()

    assert events == [ThinkingDelta("Let me see."), TextDelta("Grüße")]


async def test_the_request_carries_key_headers_and_prompt(openai_server: OpenAIServer, ask: Ask) -> None:
    await ask(max_output_tokens=77, temperature=0.5, extra={"top_p": 0.9, "model": "not this one"})

    (request,) = openai_server.requests()
    assert request["headers"]["authorization"] == f"Bearer {KEY}"
    assert request["headers"]["x-home"] == "header-secret"
    assert request["body"] == {
        "model": "m",
        "messages": [{"role": "system", "content": "be brief"}, {"role": "user", "content": "hello"}],
        "stream": True,
        "stream_options": {"include_usage": True},
        "max_tokens": 77,
        "temperature": 0.5,
        "top_p": 0.9,
    }


@pytest.mark.parametrize("step", ["thinking", "reasoning"])
async def test_thinking_is_told_apart_from_text(openai_server: OpenAIServer, ask: Ask, step: str) -> None:
    openai_server.queue([{step: "let me see"}, {"text": "4"}])

    events = await ask()

    assert events[0] == ThinkingDelta("let me see")
    assert text_of(events) == "4"


async def test_several_tool_calls_come_together_from_their_fragments(openai_server: OpenAIServer, ask: Ask) -> None:
    openai_server.queue(
        [
            {"tool_call": {"name": "look", "arguments": {"at": "door"}, "id": "a"}, "fragments": 4},
            {"tool_call": {"name": "move", "arguments": {}, "id": "b"}},
        ]
    )

    events = await ask()

    assert calls_of(events) == [ToolCallBlock("a", "look", {"at": "door"}), ToolCallBlock("b", "move", {})]
    assert events[-1] == StopEvent(StopReason.TOOL_CALLS)


async def test_malformed_arguments_are_handed_on_as_they_are(openai_server: OpenAIServer, ask: Ask) -> None:
    openai_server.queue([{"tool_call": {"name": "look", "arguments": '{"at": do', "id": "a"}}])

    events = await ask()

    assert calls_of(events) == [ToolCallBlock("a", "look", {}, '{"at": do')]


async def test_calls_without_id_or_index_get_ids_of_their_own(openai_server: OpenAIServer, ask: Ask) -> None:
    openai_server.queue(
        [
            {"tool_call": {"name": "one", "arguments": {"n": 1}, "id": None, "index": None}},
            {"tool_call": {"name": "two", "arguments": {"n": 2}, "id": None, "index": None}},
        ]
    )

    one, two = calls_of(await ask())

    assert (one.name, one.arguments, two.name, two.arguments) == ("one", {"n": 1}, "two", {"n": 2})
    assert one.id
    assert two.id
    assert one.id != two.id


async def test_a_whole_json_answer_to_a_streaming_request_is_taken(openai_server: OpenAIServer, ask: Ask) -> None:
    message = {
        "role": "assistant",
        "content": "hi",
        "tool_calls": [
            {"id": "a", "type": "function", "function": {"name": "x", "arguments": ""}},
            {"id": "b", "type": "function", "function": {"name": "y", "arguments": '{"k": 1}'}},
        ],
    }
    usage = {"prompt_tokens": 3, "completion_tokens": 2}
    openai_server.queue(
        {"json": {"choices": [{"message": message, "finish_reason": "tool_calls"}], "usage": usage}},
    )

    events = await ask()

    assert text_of(events) == "hi"
    assert [(call.name, call.arguments) for call in calls_of(events)] == [("x", {}), ("y", {"k": 1})]
    assert UsageEvent(Usage(3, 2)) in events


async def test_a_stream_under_another_content_type_is_taken(openai_server: OpenAIServer, ask: Ask) -> None:
    chunk = '{"choices": [{"delta": {"content": "hi"}, "finish_reason": "stop"}]}'
    openai_server.queue({"json": f"data: {chunk}\r\n\r\ndata: [DONE]\r\n\r\n", "content_type": "text/plain"})

    assert text_of(await ask()) == "hi"


async def test_a_missing_done_is_forgiven_once_the_finish_came(openai_server: OpenAIServer, ask: Ask) -> None:
    openai_server.queue([{"text": "whole"}, {"no_done": True}])

    events = await ask()

    assert (text_of(events), events[-1]) == ("whole", StopEvent(StopReason.END))


async def test_comments_empty_events_and_foreign_objects_are_passed_over(openai_server: OpenAIServer, ask: Ask) -> None:
    openai_server.queue([{"raw": ': PROCESSING\n\nevent: ping\ndata:\n\ndata: {"type": "ping"}\n\n'}, {"text": "x"}])

    assert text_of(await ask()) == "x"


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ([{"text": "half"}, {"truncate": True}], Overloaded),
        ([{"truncate": True}], Overloaded),
        ([{"text": "half"}, {"disconnect": True}], Overloaded),
        ([{"disconnect": True}], Overloaded),
        ([{"text": "half"}, {"raw": 'data: {"choices": [{"del'}, {"truncate": True}], Overloaded),
        ([{"finish": None}], Overloaded),
        ([{"finish": "error"}], Overloaded),
        ([{"text": "half"}, {"error": {"message": "The server is overloaded"}}], Overloaded),
        ([{"event": {"object": "error", "message": "engine is currently down", "code": 503}}], Overloaded),
        ([{"raw": "data: not json\n\n"}], FormatError),
        ([{"raw": "data: [1, 2]\n\n"}], FormatError),
        ({"json": {"unexpected": True}}, FormatError),
        ({"json": '{"choices": [{"mess'}, Overloaded),
        ({"json": "<html>welcome</html>", "content_type": "text/html"}, Overloaded),
        ({"json": ""}, Overloaded),
    ],
)
async def test_an_answer_that_is_not_whole_is_an_error(
    openai_server: OpenAIServer, ask: Ask, steps: Any, expected: type[ModelError]
) -> None:
    openai_server.queue(steps)

    with pytest.raises(ModelError) as caught:
        await ask()

    assert type(caught.value) is expected
    assert "mine/m" in caught.value.message or "mine" in caught.value.message


async def test_nothing_before_the_first_event_is_a_timeout(openai_server: OpenAIServer, ask: Ask) -> None:
    openai_server.queue([{"hold": "never"}])

    with pytest.raises(ModelTimeout):
        await ask(timeout_s=0.1)


async def test_nothing_between_two_events_is_a_timeout_even_with_comments(
    openai_server: OpenAIServer, ask: Ask
) -> None:
    openai_server.queue([{"text": "begin"}, {"raw": ": still here\n\n"}, {"hold": "never"}])

    with pytest.raises(ModelTimeout):
        await ask(timeout_s=0.2)


async def test_cancelling_closes_the_connection(openai_server: OpenAIServer, ask: Ask) -> None:
    openai_server.queue([{"text": "begin"}, {"hold": "never"}])

    task = asyncio.create_task(ask())
    await openai_server.until_arrived()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)

    assert await openai_server.until_ended() == "disconnected"


async def test_closing_the_iterator_closes_the_connection(
    openai_server: OpenAIServer, provider: OpenAIProvider
) -> None:
    openai_server.queue([{"text": "begin"}, {"hold": "never"}])
    events = provider.stream(ModelRequest("m", "", (user_message("x"),)))

    await anext(events)
    assert isinstance(events, AsyncGenerator)
    await events.aclose()

    assert await openai_server.until_ended() == "disconnected"


async def test_a_server_that_is_not_there_is_named(ask: Ask, openai_server: OpenAIServer) -> None:
    openai_server.stop()

    with pytest.raises(Overloaded, match=r"mine cannot be reached at http://127\.0\.0\.1:\d+"):
        await ask()


async def test_a_server_that_came_back_is_reached_over_a_new_connection() -> None:
    port = free_port()
    config = ProviderConfig("mine", "openai", f"http://127.0.0.1:{port}/v1")
    provider = OpenAIProvider("mine", config, Clock())
    request = ModelRequest("m", "", (user_message("x"),), timeout_s=60)
    try:
        for _ in range(2):
            server = OpenAIServer()
            server.start(port)
            assert text_of([event async for event in provider.stream(request)]) == "ok"
            server.stop()
    finally:
        await provider.close()


async def test_connections_serve_call_after_call(openai_server: OpenAIServer, provider: OpenAIProvider) -> None:
    request = ModelRequest("m", "", (user_message("x"),))

    for _ in range(10):
        assert [event async for event in provider.stream(request)]

    ports = {request["peer_port"] for request in openai_server.requests()}
    assert len(ports) <= 2, "the end of an answer may still be on its way when the next call begins"
