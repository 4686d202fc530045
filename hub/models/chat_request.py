"""Conversations in the Chat Completions format, which most servers and litellm understand. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from hub.models.contract import Image, Message, ModelRequest, Role, TextBlock, Thinking, ToolCallBlock, ToolSpec

MALFORMED_SHOWN = 2_000
ERROR_MARK = "Error: "


def chat_messages(request: ModelRequest, *, reasoning: bool = False, signatures: bool = False) -> list[dict[str, Any]]:
    """Return the messages of a request, the system prompt first.

    Neighbouring user messages become one, since many chat templates insist that roles alternate. Images in tool
    results, which the format cannot express, follow as a user message behind the results of the turn.

    Args:
        request: The request.
        reasoning: Send thinking back as `reasoning_content`, for servers that demand it.
        signatures: Send signed thinking back as `thinking_blocks`, as litellm takes it.
    """
    messages: list[dict[str, Any]] = []
    if request.system:
        messages.append({"role": "system", "content": request.system})
    seen: list[dict[str, Any]] = []
    for message in request.messages:
        if message.role is Role.TOOL:
            seen.extend(_tool_result(message, messages))
            continue
        if seen:
            _add_user(messages, seen)
            seen = []
        if message.role is Role.USER:
            _add_user(messages, _parts(message))
        elif (said := _assistant(message, reasoning=reasoning, signatures=signatures)) is not None:
            messages.append(said)
    if seen:
        _add_user(messages, seen)
    return messages


def chat_tools(tools: Sequence[ToolSpec]) -> list[dict[str, Any]]:
    """Return tools as functions."""
    return [
        {
            "type": "function",
            "function": {"name": tool.name, "description": tool.description, "parameters": tool.parameters},
        }
        for tool in tools
    ]


def known_call_ids(messages: Sequence[Message]) -> set[str]:
    """Return the ids of all tool calls so far, so that a new one can be told from them."""
    return {call.id for message in messages for call in message.content if type(call) is ToolCallBlock}


def plain(value: Any) -> Any:
    """Turn mappings and tuples that are not plain JSON types into such; for `orjson.dumps(default=…)`."""
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, (tuple, set, frozenset)):
        return list(value)
    raise TypeError(f"{type(value).__name__} is not JSON")


def _parts(message: Message) -> list[dict[str, Any]]:
    parts: list[dict[str, Any]] = []
    for block in message.content:
        if type(block) is TextBlock:
            parts.append({"type": "text", "text": block.text})
        elif type(block) is Image:
            parts.append(_image(block))
    return parts


def _image(block: Image) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": f"data:{block.mime_type};base64,{block.data}"}}


def _add_user(messages: list[dict[str, Any]], parts: list[dict[str, Any]]) -> None:
    if messages and messages[-1]["role"] == "user":
        before = messages[-1]["content"]
        earlier = [{"type": "text", "text": before}] if isinstance(before, str) else before
        parts = [*earlier, *parts]
        messages.pop()
    if all(part["type"] == "text" for part in parts):
        messages.append({"role": "user", "content": "\n\n".join([part["text"] for part in parts])})
        return
    messages.append({"role": "user", "content": parts})


def _tool_result(message: Message, messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Add a tool result; return what of it must follow as a user's message."""
    text = message.text
    if message.is_error and not text.startswith(ERROR_MARK):
        text = f"{ERROR_MARK}{text}"
    messages.append({"role": "tool", "tool_call_id": message.tool_call_id or "", "content": text})
    images = [_image(block) for block in message.content if type(block) is Image]
    if not images:
        return []
    return [{"type": "text", "text": f"[Images from the tool {message.tool_name}:]"}, *images]


def _assistant(message: Message, *, reasoning: bool, signatures: bool) -> dict[str, Any] | None:
    text = message.text
    calls = [_call(block) for block in message.content if type(block) is ToolCallBlock]
    if not text and not calls:
        return None
    said: dict[str, Any] = {"role": "assistant", "content": text or None}
    if calls:
        said["tool_calls"] = calls
    thoughts = [block for block in message.content if type(block) is Thinking] if reasoning or signatures else []
    if reasoning:
        said["reasoning_content"] = "".join(block.text for block in thoughts)
    signed = [block for block in thoughts if block.signature]
    if signatures and signed:
        said["thinking_blocks"] = [
            {"type": "thinking", "thinking": block.text, "signature": block.signature} for block in signed
        ]
    return said


def _call(block: ToolCallBlock) -> dict[str, Any]:
    arguments: Mapping[str, Any] = block.arguments
    if block.malformed is not None:
        # Servers parse the arguments of earlier calls too, and fail on what is no JSON.
        arguments = {"malformed_arguments": block.malformed[:MALFORMED_SHOWN]}
    return {
        "id": block.id,
        "type": "function",
        "function": {"name": block.name, "arguments": orjson.dumps(arguments, default=plain).decode()},
    }
