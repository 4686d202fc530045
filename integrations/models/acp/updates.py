"""Converts a program's updates into the events of a model. Pure.

Format: https://agentclientprotocol.com/protocol/v1/prompt-turn
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

from hub.models.contract import Image, Message, ModelEvent, StopReason, TextBlock, TextDelta, ThinkingDelta
from hub.tools.approval import visible_line
from integrations.models.acp.agent_program import AcpError

ANSWER_LIMIT_CHARS = 1_000_000
"""Of text and thinking in one answer."""
TITLE_CHARS = 200
CALLS_KEPT = 20
CALL_KEYS = ("title", "kind", "rawInput", "locations")
STOPS = {
    "end_turn": StopReason.END,
    "max_tokens": StopReason.LENGTH,
    "max_turn_requests": StopReason.LENGTH,
    "refusal": StopReason.REFUSED,
    "cancelled": StopReason.ABORTED,
}


class Updates:
    """Reads the updates of one answer: its text and thinking, and a line of thinking for each tool it uses."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._chars = 0
        self._spoke = self._paused = False
        self._calls: OrderedDict[str, dict[str, Any]] = OrderedDict()

    def event(self, params: Any) -> ModelEvent | None:
        """Return an update as an event, or None when people need not see it.

        Raises:
            AcpError: The answer grows past its limit.
        """
        update = params.get("update") if isinstance(params, Mapping) else None
        if not isinstance(update, Mapping):
            return None
        if update.get("sessionUpdate") in ("tool_call", "tool_call_update"):
            self.call(update)
        match update.get("sessionUpdate"):
            case "agent_message_chunk":
                return self._said(_text(update.get("content")))
            case "agent_thought_chunk":
                text = _text(update.get("content"))
                return ThinkingDelta(self._counted(text)) if text else None
            case "tool_call":
                self._paused = self._spoke
                return ThinkingDelta(self._counted(f"\n[{title_of(update)}]\n"))
            case "tool_call_update" if update.get("status") == "failed":
                return ThinkingDelta(self._counted("\n[failed]\n"))
        return None

    def call(self, update: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return a tool call merged with its earlier updates: a later one has only the changes."""
        id = str(update.get("toolCallId"))[:TITLE_CHARS]
        call = self._calls.pop(id, {}) | {key: value for key, value in update.items() if value is not None}
        self._calls[id] = {key: call[key] for key in CALL_KEYS if key in call}
        if len(self._calls) > CALLS_KEPT:
            self._calls.popitem(last=False)
        return call

    def _said(self, text: str) -> ModelEvent | None:
        if not text:
            return None
        gap = "\n\n" if self._paused else ""
        self._spoke, self._paused = True, False
        return TextDelta(gap + self._counted(text))

    def _counted(self, text: str) -> str:
        self._chars += len(text)
        if self._chars > ANSWER_LIMIT_CHARS:
            raise AcpError(f"{self._name} said more than {ANSWER_LIMIT_CHARS} characters and was stopped.")
        return text


def title_of(call: Mapping[str, Any]) -> str:
    """Return the title of a tool call, in the program's words, as one short line."""
    title = call.get("title")
    return visible_line(title)[:TITLE_CHARS] if isinstance(title, str) and title.strip() else "tool"


def stop_of(result: Mapping[str, Any]) -> StopReason:
    """Return why an answer ended."""
    return STOPS.get(str(result.get("stopReason")), StopReason.END)


def prompt_of(message: Message, *, images: bool) -> list[dict[str, Any]]:
    """Return a message as the blocks of a prompt; a program that sees no images reads that there was one."""
    blocks: list[dict[str, Any]] = []
    for block in message.content:
        if isinstance(block, TextBlock):
            blocks.append({"type": "text", "text": block.text})
        elif isinstance(block, Image):
            shown = {"type": "image", "mimeType": block.mime_type, "data": block.data}
            blocks.append(shown if images else {"type": "text", "text": "[An image was here.]"})
    return blocks


def _text(content: Any) -> str:
    text = content.get("text") if isinstance(content, Mapping) else None
    return text if isinstance(text, str) else ""
