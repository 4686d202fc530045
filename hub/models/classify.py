"""Maps HTTP status, code and message to a typed error; the rules are data, and the same for every provider."""

from __future__ import annotations

import re
from collections.abc import Iterable

from hub.core.lazy_pattern import LazyPattern
from hub.core.secret import SECRET_LENGTH_MIN, Secret
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

MESSAGE_LIMIT = 500

# How servers say that a conversation is too long: OpenAI, vLLM, llama.cpp, Ollama, LM Studio, TGI, Anthropic, Gemini,
# Bedrock, Mistral, Groq, xAI, Cohere, Moonshot, MiniMax.
_OVERFLOW = LazyPattern(
    r"context_length_exceeded|model_context_window_exceeded|exceed_context_size|context_window_exceeded"
    r"|string_above_max_length"
    r"|maximum (?:context|prompt) length|maximum model length|exceeds? (?:the )?(?:model'?s )?(?:maximum )?context"
    r"|exceeds the (?:available )?context|exceeds? the context window|context window exceeds"
    r"|context (?:length|size|window) (?:is )?(?:exceeded|too (?:long|large|small))"
    r"|context length of only|when context the overflows"
    r"|(?:prompt|input|request|conversation|messages?) (?:is|are|was) too (?:long|large)"
    r"|input token count .{0,40}exceeds|exceeds the maximum number of tokens"
    r"|exceed(?:s|ed)? (?:the )?(?:model )?token limit|too many (?:input )?tokens|reduce the length of the"
    r"|input length and `?max_tokens`? exceed|tokens`? \+ `max_new_tokens` must be"
    r"|too large for model with|request too large|request_too_large|n_ctx",
    re.IGNORECASE,
)
_BILLING = LazyPattern(
    r"insufficient[_ ](?:quota|balance|credits?|funds)|billing|payment required|credit balance|out of credits"
    r"|exceeded your current quota|arrears|spending limit|purchase (?:more )?credits|no credits"
    r"|budget (?:has been |was )?exceeded|exceeded (?:your |the )?budget",
    re.IGNORECASE,
)
_AUTH = LazyPattern(
    r"invalid[_ ](?:x-)?api[_ -]?key|incorrect api key|api key not valid|authentication[_ ](?:error|fails|failed)"
    r"|invalid (?:authentication|token)|unauthori[sz]ed|(?:missing|no) (?:api key|auth)|invalid_grant"
    r"|permission[_ ]denied",
    re.IGNORECASE,
)
_RATE = LazyPattern(
    r"rate[_ -]?limit|too many requests|resource[_ ]exhausted|requests per (?:minute|day)|tokens per (?:min|minute|day)"
    r"|throttl",
    re.IGNORECASE,
)
_OVERLOADED = LazyPattern(
    r"overloaded|over capacity|at capacity|temporarily unavailable|service unavailable|server[_ ](?:is )?busy"
    r"|engine is currently|model is (?:loading|currently loading)|internal server error|upstream|bad gateway"
    r"|connection (?:error|reset|refused)|server_error|api_error|provider returned error",
    re.IGNORECASE,
)
_TIMEOUT = LazyPattern(r"timed? ?out|deadline exceeded|gateway timeout", re.IGNORECASE)

# What looks like a key in what a server says, whole or masked by it.
_KEY_LIKE = LazyPattern(
    r"(?i)\b(?:sk|pk|gsk|xai|rk|hf|key|or)[-_][A-Za-z0-9_\-*.]{6,}|\bAIza[\w\-*]{8,}|\bBearer\s+[^\s\"',;]{6,}"
)


def classify(status: int | None, message: str, code: str = "") -> type[ModelError]:
    """Return the error class.

    Args:
        status: HTTP status; None for an error inside a stream or a connection.
        message: The server's message.
        code: Its `code` and `type`, if any.
    """
    text = f"{code} {message}"
    if status == 401:
        return AuthError
    if status == 402:
        return BillingError
    if status == 429:
        return _limited(text)
    if status == 413 or _OVERFLOW.search(text):
        return ContextOverflow
    if status == 403:
        return BillingError if _BILLING.search(text) else AuthError
    if status in {408, 504, 522, 524}:
        return ModelTimeout
    if status is not None and status >= 500 and status != 501:
        return Overloaded
    return _by_words(status, text)


def _by_words(status: int | None, text: str) -> type[ModelError]:
    """Classify an error without a telling status; a 4xx of the request's form must not look like a busy server."""
    if _BILLING.search(text):
        return BillingError
    if _AUTH.search(text):
        return AuthError
    if _RATE.search(text):
        return RateLimited
    if status is not None:
        return FormatError
    if _TIMEOUT.search(text):
        return ModelTimeout
    return Overloaded if _OVERLOADED.search(text) else FormatError


def _limited(text: str) -> type[ModelError]:
    if _BILLING.search(text):
        return BillingError
    # A single request above the limit per minute never passes, however long one waits.
    if re.search(r"request too large|request_too_large|context_length_exceeded", text, re.IGNORECASE):
        return ContextOverflow
    return RateLimited


def clean_message(text: str, secrets: Iterable[Secret] = ()) -> str:
    """Return a server's message in one line, bounded, without keys."""
    for secret in secrets:
        if len(value := secret.reveal()) >= SECRET_LENGTH_MIN:
            text = text.replace(value, "***")
    text = _KEY_LIKE.sub("***", " ".join(text.split()))
    return text if len(text) <= MESSAGE_LIMIT else f"{text[: MESSAGE_LIMIT - 1]}…"


_SENTENCES: dict[type[ModelError], str] = {
    AuthError: "{provider} refuses its key",
    BillingError: "{provider} needs payment",
    RateLimited: "{provider} accepts no more calls for now",
    ContextOverflow: "The conversation is longer than the window of {provider}/{model}",
    Overloaded: "{provider} is failing",
    ModelTimeout: "{provider} did not answer in time",
    FormatError: "{provider} refuses the request for {model}",
}


def make_error(
    *,
    provider: str,
    model: str,
    status: int | None,
    message: str,
    code: str = "",
    retry_after_s: float | None = None,
    secrets: Iterable[Secret] = (),
    kind: type[ModelError] | None = None,
) -> ModelError:
    """Return the typed error of a failed call, with a message for people and free of keys.

    Args:
        provider, model: The provider and model that failed.
        status: HTTP status, if any.
        message: The server's message.
        code: Its `code` and `type`.
        retry_after_s: When it may be tried again, as it says.
        secrets: Secrets to remove from it.
        kind: The class, where it is known already.
    """
    kind = kind or classify(status, message, code)
    said = clean_message(message, secrets)
    sentence = _SENTENCES.get(kind, "{provider} failed").format(provider=provider, model=model)
    if kind is FormatError and status == 404:
        sentence = f"{provider} does not know the model {model}, or its base_url is not the one that ends in /v1"
    shown = f" ({status})" if status is not None else ""
    details = {"provider": provider, "model": model} | ({"status": status} if status is not None else {})
    return kind(f"{sentence}{shown}{f': {said}' if said else '.'}", details=details, retry_after_s=retry_after_s)
