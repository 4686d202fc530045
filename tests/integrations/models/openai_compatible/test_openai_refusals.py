"""What a server refuses becomes a typed error, or a second request without what it cannot take."""

from __future__ import annotations

from typing import Any

import pytest

from hub.models.contract import (
    AuthError,
    BillingError,
    ContextOverflow,
    FormatError,
    ModelError,
    ModelTimeout,
    Overloaded,
    RateLimited,
    ToolSpec,
)
from integrations.models.openai_compatible.model import OpenAIProvider
from tests.integrations.models.openai_compatible.conftest import KEY, Ask
from tests.servers.openai_server import OpenAIServer

TOOL = ToolSpec("look", "Looks.", {"type": "object", "properties": {}})


def refuses(status: int, message: str, **more: Any) -> dict[str, Any]:
    return {"status": status, "body": {"error": {"message": message, **more}}}


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (refuses(401, f"Incorrect API key provided: {KEY}", code="invalid_api_key"), AuthError),
        (refuses(402, "Insufficient credits"), BillingError),
        (refuses(403, "Country, region, or territory not supported"), AuthError),
        (refuses(404, "The model `m` does not exist", code="model_not_found"), FormatError),
        (refuses(408, "Request timed out"), ModelTimeout),
        (refuses(413, "Payload too large"), ContextOverflow),
        (refuses(429, "Rate limit reached for requests"), RateLimited),
        (refuses(429, "You exceeded your current quota", code="insufficient_quota"), BillingError),
        (refuses(400, "maximum context length is 8192 tokens", code="context_length_exceeded"), ContextOverflow),
        (refuses(400, "Invalid type for 'messages[0].content'"), FormatError),
        (refuses(422, "Field required"), FormatError),
        (refuses(500, "Internal error"), Overloaded),
        (refuses(500, "the request exceeds the available context size"), ContextOverflow),
        (refuses(502, "Bad gateway"), Overloaded),
        (refuses(504, "Gateway timeout"), ModelTimeout),
        (refuses(529, "Overloaded"), Overloaded),
        ({"status": 503, "body": "<html>try later</html>"}, Overloaded),
        ({"status": 400, "body": {"detail": [{"msg": "bad", "loc": ["body"]}]}}, FormatError),
        ({"status": 400, "body": [{"error": {"code": 400, "message": "API key not valid", "status": "X"}}]}, AuthError),
        ({"status": 302, "headers": {"Location": "https://elsewhere.example/"}, "body": ""}, FormatError),
    ],
)
async def test_a_status_becomes_its_error_and_the_key_stays_here(
    openai_server: OpenAIServer, ask: Ask, answer: Any, expected: type[ModelError]
) -> None:
    openai_server.queue(answer)

    with pytest.raises(ModelError) as caught:
        await ask()

    assert type(caught.value) is expected
    assert KEY not in str(caught.value.as_dict())
    assert caught.value.details["model"] == "m"
    assert len(openai_server.requests()) == 1


async def test_it_says_when_to_come_back(openai_server: OpenAIServer, ask: Ask) -> None:
    openai_server.queue({"status": 429, "headers": {"Retry-After": "12"}})

    with pytest.raises(RateLimited) as caught:
        await ask()

    assert caught.value.retry_after_s == 12


@pytest.mark.parametrize(
    ("refusal", "asked", "gone"),
    [
        ("Unrecognized request argument supplied: stream_options", {}, "stream_options"),
        ("Unsupported value: 'temperature' does not support 0.5", {"temperature": 0.5}, "temperature"),
        ("registry.ollama.ai/library/m does not support tools", {"tools": (TOOL,)}, "tools"),
    ],
)
async def test_what_a_server_cannot_take_is_left_out_from_then_on(
    openai_server: OpenAIServer, ask: Ask, refusal: str, asked: dict[str, Any], gone: str
) -> None:
    openai_server.queue(refuses(400, refusal))

    await ask(**asked)
    await ask(**asked)

    bodies = [request["body"] for request in openai_server.requests()]
    assert [gone in body for body in bodies] == [True, False, False]


async def test_the_bound_on_the_answer_goes_under_the_name_the_server_wants(
    openai_server: OpenAIServer, ask: Ask
) -> None:
    openai_server.queue(
        refuses(400, "Unsupported parameter: 'max_tokens' is not supported. Use 'max_completion_tokens' instead.")
    )

    await ask(max_output_tokens=50)

    bodies = [request["body"] for request in openai_server.requests()]
    assert bodies[0]["max_tokens"] == 50
    assert bodies[1]["max_completion_tokens"] == 50
    assert "max_tokens" not in bodies[1]


async def test_a_bound_that_is_too_large_is_not_mistaken_for_one_that_is_unknown(
    openai_server: OpenAIServer, ask: Ask
) -> None:
    openai_server.queue(refuses(400, "max_tokens is too large: 90000. This model supports at most 16384; invalid"))

    with pytest.raises(FormatError):
        await ask(max_output_tokens=90_000)


async def test_a_server_that_refuses_everything_is_not_asked_for_ever(openai_server: OpenAIServer, ask: Ask) -> None:
    openai_server.set_default(
        refuses(400, "not supported: stream_options max_tokens max_completion_tokens temperature reasoning_effort")
    )

    with pytest.raises(FormatError):
        await ask(max_output_tokens=1, temperature=1, thinking="off")

    assert len(openai_server.requests()) <= 7


async def test_models_are_listed_with_what_the_server_tells(
    openai_server: OpenAIServer, provider: OpenAIProvider
) -> None:
    openai_server.models = [
        {"id": "qwen", "max_model_len": 40_960},
        {"id": "text-embedding-3-small"},
        {"id": 7},
        {
            "id": "a/b",
            "name": "B",
            "context_length": 1000,
            "pricing": {"prompt": "0.000001", "completion": "0.000002"},
            "architecture": {"input_modalities": ["text", "image"]},
            "supported_parameters": ["tools", "reasoning"],
        },
    ]

    qwen, other = await provider.models()

    assert (qwen.ref, qwen.context_window) == ("mine/qwen", 40_960)
    assert (other.ref, other.name, other.input_usd, other.output_usd) == ("mine/a/b", "B", 1.0, 2.0)
    assert (other.tools, other.images, other.thinking) == (True, True, True)


async def test_a_refused_list_is_a_typed_error(openai_server: OpenAIServer, provider: OpenAIProvider) -> None:
    openai_server.key = "another"

    with pytest.raises(AuthError):
        await provider.models()
