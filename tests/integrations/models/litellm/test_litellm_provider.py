"""litellm, for real, against the scripted server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from hub.core.clock import Clock
from hub.core.errors import InvalidRequest
from hub.core.secret import Secret
from hub.models.contract import (
    AuthError,
    BillingError,
    ContextOverflow,
    FormatError,
    ModelError,
    ModelEvent,
    ModelRequest,
    ModelTimeout,
    Overloaded,
    RateLimited,
    StopEvent,
    StopReason,
    TextDelta,
    ThinkingDelta,
    ToolCallEvent,
    ToolSpec,
    UsageEvent,
    user_message,
)
from hub.models.provider_config import ProviderConfig
from integrations.models.litellm.library import LitellmLibrary
from integrations.models.litellm.model import LitellmProvider
from tests.servers.openai_server import OpenAIServer

KEY = "sk-very-secret-key-1234567890"


@pytest.fixture
async def library() -> AsyncIterator[LitellmLibrary]:
    library = LitellmLibrary(on_loaded=lambda: None)
    library.acquire()
    yield library
    await library.release()


@pytest.fixture
async def provider(openai_server: OpenAIServer, library: LitellmLibrary) -> AsyncIterator[LitellmProvider]:
    config = ProviderConfig("openai", "litellm", openai_server.base_url, Secret(KEY))
    provider = LitellmProvider("openai", config, library, Clock())
    yield provider
    await provider.close()


def asks(text: str = "hello", **more: Any) -> ModelRequest:
    return ModelRequest("gpt-4o-mini", "be brief", (user_message(text),), timeout_s=more.pop("timeout_s", 120), **more)


async def collected(provider: LitellmProvider, request: ModelRequest) -> list[ModelEvent]:
    return [event async for event in provider.stream(request)]


async def test_it_streams_text_thinking_tools_usage_and_cost(
    openai_server: OpenAIServer, provider: LitellmProvider
) -> None:
    openai_server.queue(
        [
            {"thinking": "hm"},
            {"text": "hello there", "chunks": 2},
            {"tool_call": {"name": "look", "arguments": {"at": 1}, "id": "c1"}, "fragments": 3},
            {
                "usage": {
                    "prompt_tokens": 1000,
                    "completion_tokens": 50,
                    "total_tokens": 1050,
                    "prompt_tokens_details": {"cached_tokens": 400},
                }
            },
        ]
    )
    tool = ToolSpec("look", "Looks.", {"type": "object", "properties": {"at": {"type": "integer"}}})

    events = await collected(provider, asks(tools=(tool,), max_output_tokens=100))

    assert "".join(event.text for event in events if isinstance(event, TextDelta)) == "hello there"
    assert [event.text for event in events if isinstance(event, ThinkingDelta)] == ["hm"]
    (call,) = [event.call for event in events if isinstance(event, ToolCallEvent)]
    assert (call.name, call.arguments, call.id) == ("look", {"at": 1}, "c1")
    usage = [event.usage for event in events if isinstance(event, UsageEvent)][-1]
    assert (usage.input_tokens, usage.cache_read_tokens, usage.output_tokens) == (600, 400, 50)
    assert usage.cost_usd == pytest.approx(0.00015, rel=0.01)
    assert events[-1] == StopEvent(StopReason.TOOL_CALLS)
    (request,) = openai_server.requests()
    assert request["headers"]["authorization"] == f"Bearer {KEY}"
    assert request["body"]["messages"][0] == {"role": "system", "content": "be brief"}
    assert request["body"]["tools"][0]["function"]["name"] == "look"


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ({"status": 401, "body": {"error": {"message": f"bad key {KEY}"}}}, AuthError),
        ({"status": 402, "body": {"error": {"message": "Payment required"}}}, BillingError),
        ({"status": 429, "body": {"error": {"message": "Rate limit reached"}}}, RateLimited),
        (
            {
                "status": 400,
                "body": {
                    "error": {
                        "message": "This model's maximum context length is 8192 tokens.",
                        "code": "context_length_exceeded",
                    }
                },
            },
            ContextOverflow,
        ),
        ({"status": 400, "body": {"error": {"message": "messages: wrong"}}}, FormatError),
        ({"status": 404, "body": {"error": {"message": "no such model"}}}, FormatError),
        ({"status": 500}, Overloaded),
        ({"status": 503}, Overloaded),
        ([{"text": "half"}, {"truncate": True}], Overloaded),
        ([{"text": "half"}, {"disconnect": True}], Overloaded),
        ([{"error": {"message": "overloaded", "code": 503}}], Overloaded),
    ],
)
async def test_what_goes_wrong_becomes_a_typed_error_without_the_key(
    openai_server: OpenAIServer, provider: LitellmProvider, answer: Any, expected: type[ModelError]
) -> None:
    openai_server.queue(answer)

    with pytest.raises(ModelError) as caught:
        await collected(provider, asks())

    assert type(caught.value) is expected
    assert KEY not in caught.value.message
    assert len(openai_server.requests()) == 1


async def test_it_says_when_to_come_back(openai_server: OpenAIServer, provider: LitellmProvider) -> None:
    openai_server.queue({"status": 429, "headers": {"retry-after": "7"}})

    with pytest.raises(RateLimited) as caught:
        await collected(provider, asks())

    assert caught.value.retry_after_s == 7


async def test_nothing_in_time_is_a_timeout(openai_server: OpenAIServer, provider: LitellmProvider) -> None:
    await provider.warm_up()
    openai_server.queue([{"hold": "for ever"}])

    with pytest.raises(ModelTimeout):
        await collected(provider, asks(timeout_s=0.2))


async def test_cancelling_closes_the_connection(openai_server: OpenAIServer, provider: LitellmProvider) -> None:
    openai_server.queue([{"text": "begin"}, {"hold": "for ever"}])
    began = asyncio.Event()

    async def read() -> None:
        async for _ in provider.stream(asks()):
            began.set()

    task = asyncio.create_task(read())
    await began.wait()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)

    assert await openai_server.until_ended() == "disconnected"


async def test_it_knows_models_once_it_is_loaded(provider: LitellmProvider) -> None:
    await provider.warm_up()

    infos = {info.id: info for info in await provider.models()}

    assert infos["gpt-4o-mini"].context_window == 128_000
    assert provider.known("gpt-4o-mini") == infos["gpt-4o-mini"]
    assert provider.known("nobody-knows") is None


async def test_a_proxy_is_refused_rather_than_ignored(library: LitellmLibrary) -> None:
    config = ProviderConfig("anthropic", "litellm", proxy="http://127.0.0.1:3128")

    with pytest.raises(InvalidRequest, match="proxy"):
        LitellmProvider("anthropic", config, library, Clock())
