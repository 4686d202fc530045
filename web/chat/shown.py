"""Conversations as pages show them: turns made of parts, as plain data."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from msgspec import Struct, field

from hub.messaging.limit_texts import limit_text, notice_text
from web.chat.asks import ShownAsk
from web.core.texts import TOOL_SENTENCES

TOOL_ICONS = {
    **dict.fromkeys(("memory_search", "memory_get", "remember", "forget"), "brain"),
    **dict.fromkeys(("exec", "process", "code_run"), "terminal"),
    **dict.fromkeys(("read", "write", "edit", "apply_patch"), "file"),
    **dict.fromkeys(("web_search", "web_fetch", "browser"), "globe"),
    **dict.fromkeys(("home", "get_state", "call_service"), "lightbulb"),
    **dict.fromkeys(("find", "grep", "find_tools"), "search"),
    **dict.fromkeys(("schedule", "cron"), "clock"),
    "ls": "folder",
    "notify": "bell",
    "calendar": "calendar",
    "skill": "puzzle",
    "ask_user": "user",
    "ask_secret": "key-round",
    "image": "camera",
    "sessions_spawn": "bot",
    "subagents": "bot",
    "nodes": "smartphone",
}
_WIDGET = re.compile(r"The widget ([A-Za-z0-9_-]{1,64}/[0-9a-f]{32}) is shown")


class ShownPart(Struct):
    """A piece of a turn: text, thinking, a tool call, a picture, or a summary of earlier messages.

    Attributes:
        kind: text | thinking | tool | image | compaction.
        id: Id of its element.
        text: The text or thinking; how many messages were summarised.
        html: The text as safe HTML.
        call_id, name, arguments, brief, result: Properties of a tool call.
        state: running | waiting | done | error | interrupted.
        started_ms, ended_ms: Properties of a tool call, in ms since the epoch; 0 when not known.
    """

    kind: str
    id: str
    text: str = ""
    html: str = ""
    call_id: str = ""
    name: str = ""
    arguments: str = ""
    brief: str = ""
    state: str = ""
    result: str | None = None
    started_ms: int = 0
    ended_ms: int = 0

    @property
    def widget(self) -> str:
        """The address of the page of a `show_widget` call; empty for any other part."""
        found = _WIDGET.match(self.result or "") if self.name == "show_widget" and self.state == "done" else None
        return f"/canvas/widget/{found[1]}" if found is not None else ""

    @property
    def sentence(self) -> str:
        """The sentence for a call: a message id with `{what}`; empty when only the tool's name is known."""
        return TOOL_SENTENCES.get(self.name, "")

    @property
    def icon(self) -> str:
        """The icon of a call or a thought."""
        return TOOL_ICONS.get(self.name, "puzzle") if self.kind == "tool" else "sparkles"

    def as_dict(self) -> dict[str, Any]:
        """The part as plain data."""
        if self.kind != "tool":
            return {"kind": self.kind, "id": self.id, "text": self.text, "html": self.html, "state": self.state}
        return {
            "kind": "tool",
            "id": self.id,
            "call_id": self.call_id,
            "name": self.name,
            "arguments": self.arguments,
            "brief": self.brief,
            "state": self.state,
            "result": self.result,
            "widget": self.widget,
        }


class ShownTurn(Struct):
    """What one side said before the other spoke again.

    Attributes:
        id: Stable id: `u-<run>` for the person, `a-<run>` for the agent, else made from the first entry.
        role: user | assistant | note.
        parts: Its parts, in order.
        ts_ms: When it began, in ms since the epoch; 0 when not known.
        run_id: The run it belongs to.
        state: done | running | aborted | error.
        error: The problem, for people.
        details: Further facts about it.
        asked: The words that an assistant's turn answers.
        model: The model that answered last.
        input_tokens, output_tokens: The usage of its model calls.
        seconds: How long the answer took.
        failed_models: Models that were tried before and failed: `{model, reason, instead}`.
        notices: Notices beside the answer: `{kind, …}`.
        asks: The questions of its run to a person.
        channel: The channel of a note that the hub inserted: memory | reminder | system.
    """

    id: str
    role: str
    parts: list[ShownPart] = field(default_factory=list)
    ts_ms: int = 0
    run_id: str | None = None
    state: str = "done"
    error: str | None = None
    details: Mapping[str, Any] = {}
    asked: str = ""
    model: str = ""
    input_tokens: int = 0
    output_tokens: int = 0
    seconds: float = 0.0
    failed_models: list[Mapping[str, str]] = field(default_factory=list)
    notices: list[Mapping[str, str]] = field(default_factory=list)
    asks: list[ShownAsk] = field(default_factory=list)
    channel: str = ""

    @property
    def text(self) -> str:
        """The message, without calls and thoughts, as Markdown."""
        return "\n\n".join(part.text for part in self.parts if part.kind == "text")

    def why(self, language: str) -> str:
        """Return the error message; limits and budgets in the reader's language."""
        return limit_text({"details": self.details}, language) or self.error or ""

    def notice_texts(self, language: str) -> list[str]:
        """Return the notices in the reader's language."""
        return [notice_text(each, language).removeprefix("⚠️ ") for each in self.notices]

    def as_dict(self) -> dict[str, Any]:
        """The turn as plain data."""
        return {
            "id": self.id,
            "role": self.role,
            "parts": [part.as_dict() for part in self.parts],
            "ts_ms": self.ts_ms,
            "run_id": self.run_id,
            "state": self.state,
            "error": self.error,
            "asked": self.asked,
            "model": self.model,
            "input_tokens": self.input_tokens,
            "output_tokens": self.output_tokens,
            "seconds": self.seconds,
            "failed_models": self.failed_models,
            "notices": self.notices,
            "channel": self.channel,
        }
