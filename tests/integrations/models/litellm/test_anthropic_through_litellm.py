"""A vendor with an API of its own, through litellm: what goes over the wire, and what comes back."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from msgspec.structs import replace

from hub.core.clock import Clock
from hub.core.secret import Secret
from hub.models.contract import (
    Message,
    ModelRequest,
    Overloaded,
    Role,
    StopEvent,
    StopReason,
    TextDelta,
    Thinking,
    ThinkingDelta,
    ToolCallBlock,
    ToolCallEvent,
    ToolSpec,
    UsageEvent,
    tool_result,
    user_message,
)
from hub.models.provider_config import ProviderConfig
from integrations.models.litellm.library import LitellmLibrary
from integrations.models.litellm.model import LitellmProvider

LOOK = ToolSpec("look", "Looks.", {"type": "object", "properties": {"at": {"type": "string"}}})
USAGE = {"input_tokens": 10, "cache_read_input_tokens": 90, "cache_creation_input_tokens": 5, "output_tokens": 1}


def block(index: int, start: dict[str, Any], *deltas: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"type": "content_block_start", "index": index, "content_block": start},
        *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": index},
    ]


MESSAGE = {"id": "msg_1", "type": "message", "role": "assistant", "content": [], "model": "c", "usage": USAGE}
ANSWER = [
    {"type": "message_start", "message": MESSAGE},
    *block(
        0,
        {"type": "thinking", "thinking": ""},
        {"type": "thinking_delta", "thinking": "hm"},
        {"type": "signature_delta", "signature": "signed"},
    ),
    *block(
        1, {"type": "text", "text": ""}, {"type": "text_delta", "text": "I "}, {"type": "text_delta", "text": "look."}
    ),
    *block(
        2,
        {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {}},
        {"type": "input_json_delta", "partial_json": '{"at": '},
        {"type": "input_json_delta", "partial_json": '"door"}'},
    ),
    {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 30}},
    {"type": "message_stop"},
]


class Vendor:
    """Answers /v1/messages with the events it holds, and keeps what was asked."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = ANSWER
        self.bodies: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []

    async def answer(self, request: web.Request) -> web.StreamResponse:
        self.bodies.append(await request.json())
        self.headers.append({name.lower(): value for name, value in request.headers.items()})
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        for event in self.events:
            await response.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())
        await response.write_eof()
        return response


@pytest.fixture
async def vendor() -> Vendor:
    return Vendor()


@pytest.fixture
async def provider(vendor: Vendor) -> AsyncIterator[LitellmProvider]:
    application = web.Application()
    application.router.add_post("/v1/messages", vendor.answer)
    server = TestServer(application)
    await server.start_server()
    config = ProviderConfig("anthropic", "litellm", str(server.make_url("")).rstrip("/"), Secret("the-key"))
    provider = LitellmProvider("anthropic", config, LitellmLibrary(lambda: None), Clock())
    yield provider
    await provider.close()
    await server.close()


def request(*messages: Message) -> ModelRequest:
    return ModelRequest("claude-opus-4-6", "be brief", messages, tools=(LOOK,), timeout_s=120, max_output_tokens=500)


async def test_thinking_text_tools_and_cached_usage_come_back(provider: LitellmProvider) -> None:
    events = [event async for event in provider.stream(request(user_message("look")))]

    thoughts = [event for event in events if isinstance(event, ThinkingDelta)]
    assert "".join(thought.text for thought in thoughts) == "hm"
    assert [thought.signature for thought in thoughts if thought.signature] == ["signed"]
    assert "".join(event.text for event in events if isinstance(event, TextDelta)) == "I look."
    assert [event.call for event in events if isinstance(event, ToolCallEvent)] == [
        ToolCallBlock("toolu_1", "look", {"at": "door"})
    ]
    usage = [event.usage for event in events if isinstance(event, UsageEvent)][-1]
    assert (usage.input_tokens, usage.cache_read_tokens, usage.cache_write_tokens, usage.output_tokens) == (
        10,
        90,
        5,
        30,
    )
    assert events[-1] == StopEvent(StopReason.TOOL_CALLS)


async def test_key_cache_marks_and_signed_thinking_go_out(provider: LitellmProvider, vendor: Vendor) -> None:
    call = ToolCallBlock("toolu_1", "look", {"at": "door"})
    said = Message(Role.ASSISTANT, (Thinking("hm", "signed"), call))

    assert [event async for event in provider.stream(request(user_message("look"), said, tool_result(call, "shut")))]

    body = vendor.bodies[0]
    assert vendor.headers[0]["x-api-key"] == "the-key"
    assert body["system"][0]["cache_control"] == {"type": "ephemeral"}
    assert "cache_control" in json.dumps(body["messages"][-1])
    assert body["messages"][1]["content"][0] == {"type": "thinking", "thinking": "hm", "signature": "signed"}
    assert body["messages"][2]["content"][0]["tool_use_id"] == "toolu_1"


async def test_an_hour_in_the_cache_is_asked_for_at_every_mark(vendor: Vendor, provider: LitellmProvider) -> None:
    provider._config = replace(provider._config, cache_ttl="1h")

    assert [event async for event in provider.stream(request(user_message("look")))]

    marks = [
        part["cache_control"]
        for part in (vendor.bodies[0]["system"][0], vendor.bodies[0]["messages"][-1]["content"][-1])
    ]
    assert marks == [{"type": "ephemeral", "ttl": "1h"}] * 2


async def test_an_answer_that_is_cut_off_is_an_error(provider: LitellmProvider, vendor: Vendor) -> None:
    vendor.events = ANSWER[:7]

    with pytest.raises(Overloaded):
        assert not [event async for event in provider.stream(request(user_message("look")))]
