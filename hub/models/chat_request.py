"""Conversations in the Chat Completions format, which most servers and litellm understand. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import orjson
from msgspec import Struct

from hub.models.contract import Image, Message, ModelRequest, Role, TextBlock, Thinking, ToolCallBlock, ToolSpec

CONVERSATIONS_KEPT = 64
MALFORMED_SHOWN = 2_000
ERROR_MARK = "Error: "
TEST_WORDS = ("ANTHROPIC_MAGIC_STRING_TRIGGER", "ANTHROPIC MAGIC STRING TRIGGER")
"""Words with which Claude refuses every request that holds them, and what is sent in their place: else a stranger who
writes them ends a conversation for good."""


def chat_messages(request: ModelRequest, *, reasoning: bool = False, signatures: bool = False) -> list[dict[str, Any]]:
    """Return the messages of a request, the system prompt first.

    Neighbouring user messages become one, since many chat templates insist that roles alternate. Images in tool
    results, which the format cannot express, follow as a user message after the results of the turn.

    Args:
        request: The request.
        reasoning: Send thinking back as `reasoning_content`, for servers that demand it.
        signatures: Send signed thinking back as `thinking_blocks`, as litellm takes it.
    """
    return _whole(request, _continued(_Sent(), request.messages, reasoning=reasoning, signatures=signatures))


class ChatHistory:
    """A cache of recently sent conversations: only new messages are converted.

    A prepared request stays valid as long as its messages come first in the next one.
    """

    def __init__(self) -> None:
        self._kept: dict[tuple[str, bool], _Sent] = {}
        self._tools: tuple[Sequence[ToolSpec], orjson.Fragment] = ((), orjson.Fragment(b"[]"))

    def tools(self, tools: Sequence[ToolSpec]) -> orjson.Fragment:
        """Return the result of `chat_tools` as JSON, cached by the tools object.

        Raises:
            TypeError: They are not JSON.
        """
        if self._tools[0] is not tools:
            self._tools = (tools, orjson.Fragment(orjson.dumps(chat_tools(tools), default=plain)))
        return self._tools[1]

    def messages(self, request: ModelRequest, *, reasoning: bool = False) -> list[dict[str, Any]]:
        """Return the result of `chat_messages`."""
        if request.session_key is None:
            return chat_messages(request, reasoning=reasoning)
        key = (request.session_key, reasoning)
        sent = self._kept.pop(key, None)
        if sent is None or request.messages[: len(sent.messages)] != sent.messages:
            sent = _Sent()
        sent = self._kept[key] = _continued(sent, request.messages, reasoning=reasoning, signatures=False)
        if len(self._kept) > CONVERSATIONS_KEPT:
            del self._kept[next(iter(self._kept))]
        return _whole(request, sent)


class _Sent(Struct, frozen=True):
    """Converted messages, and images of results that are not attached to a message yet."""

    messages: tuple[Message, ...] = ()
    said: tuple[dict[str, Any], ...] = ()
    images: tuple[dict[str, Any], ...] = ()


def _continued(sent: _Sent, messages: tuple[Message, ...], *, reasoning: bool, signatures: bool) -> _Sent:
    """Convert the messages after those already sent."""
    said, images = list(sent.said), list(sent.images)
    for message in messages[len(sent.messages) :]:
        if message.role is Role.TOOL:
            images.extend(_tool_result(message, said))
            continue
        if images:
            _add_user(said, images)
            images = []
        if message.role is Role.USER:
            _add_user(said, _parts(message))
        elif (answer := _assistant(message, reasoning=reasoning, signatures=signatures)) is not None:
            said.append(answer)
    return _Sent(messages, tuple(said), tuple(images))


def _whole(request: ModelRequest, sent: _Sent) -> list[dict[str, Any]]:
    system = request.system.replace(*TEST_WORDS)
    said = [{"role": "system", "content": system}, *sent.said] if system else list(sent.said)
    if sent.images:
        _add_user(said, list(sent.images))
    return said


def chat_tools(tools: Sequence[ToolSpec]) -> list[dict[str, Any]]:
    """Return tools as functions."""
    return [
        {
            "type": "function",
            "function": {"name": tool.name, "description": tool.description, "parameters": tool.parameters},
        }
        for tool in tools
    ]


def chat_tool_choice(choice: str) -> str | dict[str, Any]:
    """Return the tool choice: any tool, or the one of this name."""
    return choice if choice == "required" else {"type": "function", "function": {"name": choice}}


def known_call_ids(messages: Sequence[Message]) -> set[str]:
    """Return the ids of all earlier tool calls, so that a new one differs from them."""
    return {call.id for message in messages for call in message.content if type(call) is ToolCallBlock}


def plain(value: Any) -> Any:
    """Convert mappings and tuples to plain JSON types; for `orjson.dumps(default=…)`."""
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, (tuple, set, frozenset)):
        return list(value)
    raise TypeError(f"{type(value).__name__} is not JSON")


def _parts(message: Message) -> list[dict[str, Any]]:
    parts: list[dict[str, Any]] = []
    for block in message.content:
        if type(block) is TextBlock:
            parts.append({"type": "text", "text": block.text.replace(*TEST_WORDS)})
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
    """Add a tool result; return the part that must follow as a user's message."""
    text = message.text
    if message.is_error and not text.startswith(ERROR_MARK):
        text = f"{ERROR_MARK}{text}"
    text = text.replace(*TEST_WORDS)
    messages.append({"role": "tool", "tool_call_id": message.tool_call_id or "", "content": text})
    images = [_image(block) for block in message.content if type(block) is Image]
    if not images:
        return []
    return [{"type": "text", "text": f"[Images from the tool {message.tool_name}:]"}, *images]


def _assistant(message: Message, *, reasoning: bool, signatures: bool) -> dict[str, Any] | None:
    text = message.text.replace(*TEST_WORDS)
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
        # Servers parse the arguments of earlier calls too, and fail on what is not JSON.
        arguments = {"malformed_arguments": block.malformed[:MALFORMED_SHOWN]}
    written = orjson.dumps(arguments, default=plain).decode().replace(*TEST_WORDS)
    return {
        "id": block.id,
        "type": "function",
        "function": {"name": block.name, "arguments": written},
    }
