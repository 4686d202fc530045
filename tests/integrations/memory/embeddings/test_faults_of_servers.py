"""What refusals of real servers mean."""

from __future__ import annotations

import json

import pytest

from integrations.memory.notes.index.embeddings.address import Endpoint
from integrations.memory.notes.index.embeddings.faults import fault_of, sentence, words_of
from integrations.memory.notes.index.embeddings.provider import Fault

# As OpenAI, llama.cpp, Ollama, vLLM, Gemini and Voyage say it.
SAID = [
    (400, "Requested 453357 tokens, max 300000 tokens per request", "max_tokens_per_request", Fault.TOO_LARGE),
    (400, "This model's maximum context length is 8192 tokens, however you requested 9000 tokens", "", Fault.TOO_LARGE),
    (500, "input (992 tokens) is too large to process. increase the physical batch size", "", Fault.TOO_LARGE),
    (400, "the input length exceeds the context length", "", Fault.TOO_LARGE),
    (400, "BatchEmbedContentsRequest.requests: at most 100 requests can be in one batch", "", Fault.TOO_LARGE),
    (400, "The max allowed tokens per submitted batch is 120000. Your batch has 300000 tokens; too many tokens", "",
     Fault.TOO_LARGE),
    (413, "payload", "", Fault.TOO_LARGE),
    (404, 'model "nomic-embed-text" not found, try pulling it first', "api_error", Fault.MODEL),
    (404, "The model `x` does not exist or you do not have access to it.", "model_not_found", Fault.MODEL),
    (404, "models/x is not found for API version v1beta, or is not supported for embedContent", "NOT_FOUND",
     Fault.MODEL),
    (400, "Model voyage-9 is not supported. Supported models are …", "", Fault.MODEL),
    (401, "Incorrect API key provided", "invalid_api_key", Fault.KEY),
    (400, "API key not valid. Please pass a valid API key.", "INVALID_ARGUMENT", Fault.KEY),
    (403, "Generative Language API has not been used in project 1 before", "PERMISSION_DENIED", Fault.KEY),
    (429, "You exceeded your current quota, please check your plan and billing details.", "insufficient_quota",
     Fault.CREDIT),
    (402, "Payment required", "", Fault.CREDIT),
    (429, "Rate limit reached for text-embedding-3-small. Please try again in 1s.", "rate_limit_exceeded",
     Fault.LIMITED),
    (429, "Resource has been exhausted (e.g. check quota).", "RESOURCE_EXHAUSTED", Fault.LIMITED),
    (503, "Loading model", "unavailable_error", Fault.BUSY),
    (500, "The server had an error while processing your request", "server_error", Fault.BUSY),
    (504, "", "", Fault.BUSY),
    (400, "'$.input' is invalid", "invalid_request_error", Fault.REFUSED),
    (404, "404 page not found", "", Fault.REFUSED),
]  # fmt: skip


OF_ONES_OWN = [
    (404, 'model "nomic-embed-text:latest" not found, try pulling it first', "api_error", Fault.MODEL),
    (400, '"llama3.2:latest" does not support embeddings', "api_error", Fault.MODEL),
    (500, "this model does not support embeddings", "api_error", Fault.MODEL),
    (501, "This server does not support embeddings. Start it with `--embeddings`", "not_supported_error", Fault.MODEL),
    (400, "Pooling type 'none' is not OAI compatible. Please use a different pooling type", "", Fault.MODEL),
    (400, "the input length exceeds the context length", "api_error", Fault.TOO_LARGE),
    (500, "input is larger than the max context size. skipping", "server_error", Fault.TOO_LARGE),
    (
        400,
        "request (5000 tokens) exceeds the available context size (4096 tokens), try increasing it",
        "",
        Fault.TOO_LARGE,
    ),
    (422, "Input validation error: `inputs` must have less than 512 tokens. Given: 700", "", Fault.TOO_LARGE),
    (503, "Loading model", "unavailable_error", Fault.BUSY),
    (500, "llama runner process has terminated: exit status 2", "api_error", Fault.BUSY),
]
"""What Ollama, llama.cpp's server and others on one's own machine say."""


@pytest.mark.parametrize(("status", "message", "code", "expected"), [*SAID, *OF_ONES_OWN])
def test_what_a_server_says_is_understood(status: int, message: str, code: str, expected: Fault) -> None:
    assert fault_of(status, f"{code} {message}") is expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"error": {"message": "a", "type": "t", "code": "c"}}, ("c t", "a")),
        ([{"error": {"message": "a", "status": "S", "code": 400}}], ("400 S", "a")),
        ({"error": "a"}, ("", "a")),
        ({"detail": "a"}, ("", "a")),
        ({"message": "a"}, ("", "a")),
        ({"error": {"code": None}}, ("", '{"error": {"code": null}}')),
        (["a"], ("", '["a"]')),
        (7, ("", "7")),
    ],
)
def test_errors_are_read_in_any_shape(body: object, expected: tuple[str, str]) -> None:
    assert words_of(json.dumps(body).encode()) == expected


def test_what_is_no_json_is_taken_as_words() -> None:
    assert words_of(b"upstream \xff down") == ("", "upstream \ufffd down")


@pytest.mark.parametrize("fault", list(Fault))
def test_each_sentence_ends_with_what_was_said(fault: Fault) -> None:
    assert sentence(fault, "m", "http://h/v1", 400, "because").endswith("(400: because)")


@pytest.mark.parametrize(
    ("url", "shown", "endpoint"),
    [
        ("http://h:1/v1/", "http://h:1/v1", "http://h:1/v1/embeddings"),
        ("https://u:secret@h/v1?key=hidden#x", "https://h/v1", "https://u:secret@h/v1/embeddings?key=hidden"),
        ("http://[::1]:8080", "http://[::1]:8080", "http://[::1]:8080/embeddings"),
    ],
)
def test_an_address_is_shown_without_what_is_secret(url: str, shown: str, endpoint: str) -> None:
    where = Endpoint(url)

    assert (where.shown, where.endpoint("embeddings")) == (shown, endpoint)


def test_secrets_of_an_address_are_known() -> None:
    assert [each.reveal() for each in Endpoint("https://user:secret@h/v1?key=hidden").secrets] == [
        "secret",
        "user",
        "hidden",
    ]
