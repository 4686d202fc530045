"""Answers in the Chat Completions format, whole or in chunks, turned into events. Pure; trusts nothing it is given."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import orjson
from msgspec import Struct, field

from hub.core.ids import new_id
from hub.models.contract import (
    FormatError,
    ModelEvent,
    StopEvent,
    StopReason,
    TextDelta,
    ThinkingDelta,
    ToolCallBlock,
    ToolCallEvent,
    Usage,
    UsageEvent,
)

TOOL_CALLS_LIMIT = 128
TEXT_LIMIT = 8_000_000
UNNAMED = "unnamed"

_STOPS = {
    "stop": StopReason.END,
    "length": StopReason.LENGTH,
    "max_tokens": StopReason.LENGTH,
    "tool_calls": StopReason.TOOL_CALLS,
    "function_call": StopReason.TOOL_CALLS,
    "content_filter": StopReason.REFUSED,
    "refusal": StopReason.REFUSED,
}


class _Call(Struct):
    """A tool call that comes in fragments."""

    id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list)


class ChatAnswer:
    """One answer under way.

    Args:
        known_ids: Returns the ids of earlier tool calls; servers that count from 0 in each answer repeat them.
    """

    __slots__ = ("_calls", "_keys", "_known_ids", "_refused", "_size", "finish", "said_anything")

    def __init__(self, known_ids: Callable[[], Collection[str]] = set) -> None:
        self._known_ids = known_ids
        self._calls: list[_Call] = []
        self._keys: dict[Any, _Call] = {}
        self._refused = False
        self._size = 0
        self.finish: str | None = None
        """The finish reason, once it came: the answer is whole."""
        self.said_anything = False

    def chunk(self, chunk: dict[str, Any]) -> list[ModelEvent]:
        """Apply one chunk of a stream; return its events.

        Raises:
            FormatError: It passes a bound.
        """
        events: list[ModelEvent] = []
        choices = chunk.get("choices")
        if isinstance(choices, list) and choices and isinstance(choices[0], dict):
            choice = choices[0]
            delta = choice.get("delta")
            if isinstance(delta, dict):
                self._delta(delta, events)
            elif isinstance(message := choice.get("message"), dict):
                self._delta(_numbered(message), events)
            finish = choice.get("finish_reason")
            if isinstance(finish, str) and finish:
                self.finish = finish
        if (usage := chunk.get("usage")) is not None and (told := read_usage(usage)) is not None:
            events.append(UsageEvent(told))
        return events

    def end(self) -> list[ModelEvent]:
        """Return the remaining events: complete tool calls, and the stop."""
        events: list[ModelEvent] = [ToolCallEvent(self._block(call)) for call in self._calls]
        reason = _STOPS.get(self.finish or "stop", StopReason.END)
        if self._refused:
            reason = StopReason.REFUSED
        elif events and reason is StopReason.END:
            reason = StopReason.TOOL_CALLS
        elif not events and reason is StopReason.TOOL_CALLS:
            reason = StopReason.END
        events.append(StopEvent(reason))
        return events

    def _delta(self, delta: dict[str, Any], events: list[ModelEvent]) -> None:
        # The path of nearly every chunk: text and nothing else.
        content = delta.get("content")
        if content:
            text = content if type(content) is str else _text_of(content)
            if text:
                self._grow(len(text))
                events.append(TextDelta(text))
        thinking = delta.get("reasoning_content") or delta.get("reasoning")
        if thinking and type(thinking) is str:
            self._grow(len(thinking))
            events.append(ThinkingDelta(thinking))
        if "thinking_blocks" in delta:
            self._signatures(delta["thinking_blocks"], events)
        refusal = delta.get("refusal")
        if refusal and type(refusal) is str:
            self._refused = True
            self._grow(len(refusal))
            events.append(TextDelta(refusal))
        calls = delta.get("tool_calls")
        if isinstance(calls, list):
            for fragment in calls:
                if isinstance(fragment, dict):
                    self._fragment(fragment)
        legacy = delta.get("function_call")
        if isinstance(legacy, dict):
            self._fragment({"index": "function_call", "function": legacy})

    def _signatures(self, blocks: Any, events: list[ModelEvent]) -> None:
        for block in blocks if isinstance(blocks, list) else ():
            signature = block.get("signature") if isinstance(block, dict) else None
            if signature and isinstance(signature, str):
                self._grow(len(signature))
                events.append(ThinkingDelta("", signature))

    def _fragment(self, fragment: dict[str, Any]) -> None:
        function = fragment.get("function")
        function = function if isinstance(function, dict) else {}
        id = fragment.get("id")
        id = id if isinstance(id, str) else ""
        name = function.get("name")
        name = name if isinstance(name, str) else ""
        call = self._call_of(fragment.get("index"), id, name)
        call.id = call.id or id
        # Some servers repeat the name in every fragment, others cut it in pieces.
        if name and name != call.name:
            call.name += name
        arguments = function.get("arguments")
        if isinstance(arguments, str):
            if arguments:
                self._grow(len(arguments))
                call.arguments.append(arguments)
        elif arguments is not None:
            raw = orjson.dumps(arguments).decode()
            self._grow(len(raw))
            call.arguments.append(raw)
        self.said_anything = True

    def _call_of(self, index: Any, id: str, name: str) -> _Call:
        """Find the call a fragment belongs to: by index; where that is missing or always 0, by id."""
        key = index if isinstance(index, (int, str)) else None
        call = self._keys.get(key) if key is not None else (self._calls[-1] if self._calls else None)
        if call is not None and id and call.id and id != call.id:
            # The same index with another id: another call, unless that id came before.
            call = next((known for known in self._calls if known.id == id), None)
        elif call is not None and key is None and not id and name and call.arguments:
            call = None
        if call is None:
            if len(self._calls) >= TOOL_CALLS_LIMIT:
                raise FormatError(f"The model asks for more than {TOOL_CALLS_LIMIT} tool calls at once.")
            call = _Call()
            self._calls.append(call)
        if key is not None:
            self._keys[key] = call
        return call

    def _block(self, call: _Call) -> ToolCallBlock:
        raw = "".join(call.arguments)
        arguments, malformed = read_arguments(raw)
        taken = call.id in self._known_ids() or any(other.id == call.id for other in self._calls if other is not call)
        id = f"call_{new_id()}" if not call.id or taken else call.id
        if not call.name:
            return ToolCallBlock(id, UNNAMED, {}, raw)
        return ToolCallBlock(id, call.name, arguments, malformed)

    def _grow(self, size: int) -> None:
        self.said_anything = True
        self._size += size
        if self._size > TEXT_LIMIT:
            raise FormatError(f"The answer is longer than {TEXT_LIMIT} characters.")


def read_arguments(raw: str) -> tuple[dict[str, Any], str | None]:
    """Return (arguments, None), or ({}, the raw text) if it is not a JSON object."""
    if not raw.strip():
        return {}, None
    try:
        parsed = orjson.loads(raw)
        # Some servers encode the arguments twice.
        if isinstance(parsed, str):
            parsed = orjson.loads(parsed)
    except ValueError:
        return {}, raw
    if parsed is None:
        return {}, None
    return (parsed, None) if isinstance(parsed, dict) else ({}, raw)


def read_usage(usage: Any) -> Usage | None:
    """Return the usage reported by OpenAI, DeepSeek, OpenRouter or litellm; None if it has no numbers."""
    if not isinstance(usage, dict):
        return None
    prompt, output = _count(usage, "prompt_tokens"), _count(usage, "completion_tokens")
    if prompt is None and output is None:
        return None
    details = usage.get("prompt_tokens_details")
    details = details if isinstance(details, dict) else {}
    read = _count(details, "cached_tokens") or _count(usage, "prompt_cache_hit_tokens") or 0
    read = read or _count(usage, "cache_read_input_tokens") or 0
    written = _count(details, "cache_write_tokens") or _count(details, "cache_creation_tokens") or 0
    written = written or _count(usage, "cache_creation_input_tokens") or 0
    return Usage(max(0, (prompt or 0) - read - written), output or 0, read, written, _cost(usage))


def _cost(usage: dict[str, Any]) -> float | None:
    """Return the cost in dollars reported by OpenRouter or litellm."""
    cost = usage.get("cost")
    if isinstance(cost, bool) or not isinstance(cost, (int, float)) or not 0 <= cost < 1e6:
        return None
    return float(cost)


def _numbered(message: dict[str, Any]) -> dict[str, Any]:
    """Return a whole message with its tool calls numbered as the fragments of a stream are."""
    calls = message.get("tool_calls")
    if not isinstance(calls, list):
        return message
    numbered = [{**call, "index": place} for place, call in enumerate(calls) if isinstance(call, dict)]
    return {**message, "tool_calls": numbered}


def _count(source: dict[str, Any], key: str) -> int | None:
    value = source.get(key)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value != value or not 0 <= value < 1e12:
        return None
    return int(value)


def _text_of(content: Any) -> str:
    if not isinstance(content, list):
        return ""
    return "".join(part["text"] for part in content if isinstance(part, dict) and isinstance(part.get("text"), str))
