"""The arguments of one call of litellm. Pure."""

from __future__ import annotations

from typing import Any

from hub.models.chat_request import chat_messages, chat_tool_choice, chat_tools
from hub.models.contract import ModelRequest
from hub.models.infos import CLAUDE
from hub.models.provider_config import LONG_CACHE_TTL_S, ProviderConfig
from hub.models.vendors import LITELLM_API

# Where a vendor must know what to cache: behind the system prompt, and behind the newest message.
CACHE_POINTS = ({"location": "message", "role": "system"}, {"location": "message", "index": -1})
ONE_HOUR = {"control": {"type": "ephemeral", "ttl": "1h"}}


def vendor_of(config: ProviderConfig) -> str:
    """Return the vendor's name as litellm knows it: what `api:` says, else the provider's own name."""
    return config.name if config.api == LITELLM_API else config.api


def call_arguments(config: ProviderConfig, request: ModelRequest) -> dict[str, Any]:
    """Return keyword arguments for `litellm.acompletion`; `extra` adds to them and, with None, takes away."""
    arguments: dict[str, Any] = {
        "model": f"{vendor_of(config)}/{request.model}",
        "messages": chat_messages(request, signatures=True),
        "stream": True,
        "stream_options": {"include_usage": True},
        "timeout": request.timeout_s,
        # Repeating is decided above, the same for every provider.
        "num_retries": 0,
        "max_retries": 0,
    }
    if config.api_key:
        arguments["api_key"] = config.api_key.reveal()
    if config.base_url is not None:
        arguments["api_base"] = config.base_url
    if config.headers:
        arguments["extra_headers"] = {name: value.reveal() for name, value in config.headers.items()}
    if request.tools:
        arguments["tools"] = [
            {"type": tool["type"], "function": {**tool["function"], "parameters": dict(tool["function"]["parameters"])}}
            for tool in chat_tools(request.tools)
        ]
        if request.tool_choice is not None:
            arguments["tool_choice"] = chat_tool_choice(request.tool_choice)
    if request.form is not None:
        arguments["response_format"] = request.form.response_format()
    if request.max_output_tokens is not None:
        arguments["max_tokens"] = request.max_output_tokens
    if request.temperature is not None:
        arguments["temperature"] = request.temperature
    if request.thinking is not None:
        arguments["reasoning_effort"] = "none" if request.thinking == "off" else request.thinking
    if CLAUDE in request.model:
        control = ONE_HOUR if config.cache_ttl_s == LONG_CACHE_TTL_S else {}
        arguments["cache_control_injection_points"] = [{**point, **control} for point in CACHE_POINTS]
    for name, value in request.extra.items():
        if name in {"model", "messages", "stream"}:
            continue
        if value is None:
            arguments.pop(name, None)
        else:
            arguments[name] = value
    return arguments
