"""Parameters that a server does not accept, learned from its refusals. Pure."""

from __future__ import annotations

import hashlib
import re
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from hub.core.lazy_pattern import LazyPattern
from hub.models.chat_request import ChatHistory, chat_tool_choice
from hub.models.contract import ModelRequest

ADAPTABLE = frozenset({400, 404, 422, 501})

_EFFORTS = {"off": "none"}
_REFUSED = LazyPattern(
    r"unsupported|not support|un(?:known|recognized|expected)|extra (?:inputs|fields|keys)|not permitted|not allowed"
    r"|invalid|instead|unavailable|only the default",
    re.IGNORECASE,
)
_FORMS = LazyPattern(r"response_format|json_schema|json_object|structured output|guided|grammar", re.IGNORECASE)
_NO_TOOLS = LazyPattern(
    r"does not support (?:tools|tool use|function)|support tool use|tool[ _]choice requires"
    r"|tools? (?:is|are) not support|function calling is not",
    re.IGNORECASE,
)


class Quirks(Struct, frozen=True):
    """The quirks of requests for one model of one server.

    Attributes:
        stream_options: Whether usage may be requested in a stream.
        limit_field: Name of the bound on the answer; None leaves it out.
        limit_learned: Whether that name was learned from a refusal.
        temperature: Whether a temperature may be given.
        tools: Whether tools may be given.
        tool_choice: Whether a tool call may be demanded.
        forms: Whether the form of the answer may be given.
        reasoning_back: Whether earlier thinking must be sent back.
        cache_key: Whether the conversation may be named for the provider's cache.
    """

    stream_options: bool = True
    limit_field: str | None = "max_tokens"
    limit_learned: bool = False
    temperature: bool = True
    tools: bool = True
    tool_choice: bool = True
    forms: bool = True
    reasoning_back: bool = False
    cache_key: bool = False


def chat_body(request: ModelRequest, quirks: Quirks, history: ChatHistory) -> dict[str, Any]:
    """Return the body of a streaming request; `extra` adds to it and, with None, takes away."""
    body: dict[str, Any] = {
        "model": request.model,
        "messages": history.messages(request, reasoning=quirks.reasoning_back),
        "stream": True,
    }
    if quirks.stream_options:
        body["stream_options"] = {"include_usage": True}
    if request.tools and quirks.tools:
        body["tools"] = history.tools(request.tools)
        if request.tool_choice is not None and quirks.tool_choice:
            body["tool_choice"] = chat_tool_choice(request.tool_choice)
    if request.form is not None and quirks.forms:
        body["response_format"] = request.form.response_format()
    if request.max_output_tokens is not None and quirks.limit_field is not None:
        body[quirks.limit_field] = request.max_output_tokens
    if request.temperature is not None and quirks.temperature:
        body["temperature"] = request.temperature
    if request.thinking is not None:
        body["reasoning_effort"] = _EFFORTS.get(request.thinking, request.thinking)
    if quirks.cache_key and request.session_key:
        body["prompt_cache_key"] = hashlib.sha256(request.session_key.encode()).hexdigest()[:32]
    for name, value in request.extra.items():
        if name in {"model", "messages", "stream"}:
            continue
        if value is None:
            body.pop(name, None)
        else:
            body[name] = value
    return body


def adapt(quirks: Quirks, body: dict[str, Any], status: int, message: str) -> Quirks | None:
    """Return how to ask again after a refusal, or None when nothing in the request explains it.

    Args:
        quirks: The quirks as the request was made.
        body: The request.
        status: The status of the answer.
        message: The server's message.
    """
    if status not in ADAPTABLE:
        return None
    if quirks.tools and "tools" in body and _NO_TOOLS.search(message):
        return replace(quirks, tools=False)
    if not quirks.reasoning_back and "reasoning_content" in message:
        return replace(quirks, reasoning_back=True)
    if status == 404 or not _REFUSED.search(message):
        return None
    if quirks.stream_options and "stream_options" in body and "stream_options" in message:
        return replace(quirks, stream_options=False)
    if (limit := _other_limit(quirks, body, message)) is not None:
        return limit
    if quirks.tool_choice and "tool_choice" in body and "tool_choice" in message:
        return replace(quirks, tool_choice=False)
    if quirks.forms and "response_format" in body and _FORMS.search(message):
        return replace(quirks, forms=False)
    if quirks.temperature and "temperature" in body and "temperature" in message:
        return replace(quirks, temperature=False)
    if quirks.cache_key and "prompt_cache_key" in body and "prompt_cache_key" in message:
        return replace(quirks, cache_key=False)
    return None


def _other_limit(quirks: Quirks, body: dict[str, Any], message: str) -> Quirks | None:
    sent = quirks.limit_field
    if sent is None or sent not in body or sent not in message:
        return None
    if re.search(r"too large|at most|greater than|exceed|less than", message, re.IGNORECASE):
        return None
    if quirks.limit_learned:
        return replace(quirks, limit_field=None)
    other = "max_tokens" if sent == "max_completion_tokens" else "max_completion_tokens"
    return replace(quirks, limit_field=other, limit_learned=True)
