"""What servers say, sorted into typed errors."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from hub.core.secret import Secret
from hub.models.classify import MESSAGE_LIMIT, classify, clean_message, make_error
from hub.models.contract import (
    AuthError,
    BillingError,
    ContextOverflow,
    FormatError,
    ModelError,
    ModelTimeout,
    Overloaded,
    RateLimited,
)


@pytest.mark.parametrize(
    "message",
    [
        "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.",
        "Your input exceeds the context window of this model. Please adjust your input and try again.",
        "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens",
        "The decoder prompt (length 5000) is longer than the maximum model length of 4096.",
        "the request exceeds the available context size. try increasing the context size or enable context shift",
        "request (5000 tokens) exceeds the available context size (4096 tokens), try increasing it",
        "input length exceeds the context length",
        "input exceeds maximum context length and cannot be truncated further",
        "Trying to keep the first 4821 tokens when context the overflows. However, the model is loaded with context "
        "length of only 4096 tokens, which is not enough.",
        "`inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000 `inputs` tokens",
        "prompt is too long: 210000 tokens > 200000 maximum",
        "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000",
        "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
        "Input is too long for requested model.",
        "Please reduce the length of the messages or completion.",
        "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length",
        "This model's maximum prompt length is 131072 but the request contains 140000 tokens.",
        "too many tokens: size limit exceeded",
        "Invalid request: Your request exceeded model token limit: 262144",
        "invalid params, context window exceeds limit",
    ],
)
@pytest.mark.parametrize("status", [400, 500, None])
def test_every_server_has_its_words_for_too_long(message: str, status: int | None) -> None:
    assert classify(status, message) is ContextOverflow


@pytest.mark.parametrize(
    ("status", "message", "code", "expected"),
    [
        (429, "Rate limit reached for gpt on tokens per min (TPM): Limit 30000, Used 29000", "", RateLimited),
        (429, "Request too large for gpt on tokens per min (TPM): Limit 30000, Requested 40000", "", ContextOverflow),
        (429, "You exceeded your current quota, please check your plan and billing details", "", BillingError),
        (400, "Your credit balance is too low to access the Anthropic API", "", BillingError),
        (400, "API key not valid. Please pass a valid API key.", "INVALID_ARGUMENT", AuthError),
        (400, "thinking.budget_tokens must be larger", "", FormatError),
        (400, "max_tokens is too large", "", FormatError),
        (403, "Your plan has no credits", "", BillingError),
        (403, "Forbidden", "", AuthError),
        (None, "Overloaded", "overloaded_error", Overloaded),
        (None, "Rate limit exceeded", "rate_limit_exceeded", RateLimited),
        (None, "upstream request timed out", "", ModelTimeout),
        (None, "something odd", "", FormatError),
        (501, "not implemented", "", FormatError),
        (520, "unknown", "", Overloaded),
        (524, "a timeout occurred", "", ModelTimeout),
    ],
)
def test_status_code_and_words_decide(status: int | None, message: str, code: str, expected: type[ModelError]) -> None:
    assert classify(status, message, code) is expected


@given(st.none() | st.integers(300, 599), st.text(max_size=200), st.text(max_size=20))
def test_anything_has_a_class(status: int | None, message: str, code: str) -> None:
    assert issubclass(classify(status, message, code), ModelError)


@given(st.text(max_size=2000), st.text("abcdefghij", min_size=12, max_size=30), st.text(max_size=50))
def test_a_message_is_one_bounded_line_without_the_secret(before: str, key: str, after: str) -> None:
    cleaned = clean_message(f"{before}{key}{after}", [Secret(key)])

    assert key not in cleaned
    assert len(cleaned) <= MESSAGE_LIMIT
    assert "\n" not in cleaned


def test_a_key_that_is_part_of_many_words_is_not_looked_for() -> None:
    assert clean_message("the mock is asleep", [Secret("k"), Secret("asleep")]) == "the mock is asleep"


@pytest.mark.parametrize(
    "said",
    [
        "Incorrect API key provided: sk-abc12***************wxyz. You can find",
        "key sk-proj-ABCDEFGHIJK is wrong",
        "header Authorization: Bearer abcdefghijkl was refused",
        "AIzaSyA1234567890abcdef is not valid",
    ],
)
def test_what_looks_like_a_key_is_removed_even_when_it_is_masked(said: str) -> None:
    cleaned = clean_message(said)

    assert "***" in cleaned
    assert not any(part in cleaned for part in ("abc12", "wxyz", "ABCDEFGHIJK", "abcdefghijkl", "AIza"))


def test_an_error_names_who_what_and_where() -> None:
    error = make_error(provider="mine", model="m", status=404, message="no such model", retry_after_s=None)

    assert error.message.startswith("mine does not know the model m")
    assert error.details == {"provider": "mine", "model": "m", "status": 404}
