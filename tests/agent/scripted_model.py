"""A model in this process that does what a conversation of many turns needs, and checks every request it is sent."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from typing import Any

from hub.agent.compaction.summarise import HEADINGS
from hub.agent.conversation.window import estimate_message
from hub.models.chat_request import chat_messages, chat_tools
from hub.models.contract import (
    Message,
    ModelEvent,
    ModelInfo,
    ModelRequest,
    Role,
    StopEvent,
    StopReason,
    TextDelta,
    ToolCallBlock,
    ToolCallEvent,
    Usage,
    UsageEvent,
)

FACT = re.compile(r"Please note: the (\w+) of the (\w+) is (\w+)")
NOTED = re.compile(r"the (\w+) of the (\w+) is (\w+)")


class ScriptedModel:
    """Calls tools when asked to use them, answers questions from what it is shown, summarises and takes notes.

    Attributes:
        heads: The different system prompts with tools that it was sent.
        orphans: Requests in which a tool call had no result right behind it, or a result no call.
        rewritten: Requests that did not begin with all of the request before.
        summaries: How many summaries it wrote.
        largest: Estimated tokens of the largest request.
    """

    name = "test"

    def __init__(self) -> None:
        self.heads: set[str] = set()
        self.orphans = 0
        self.rewritten = 0
        self.summaries = 0
        self.largest = 0
        self._before: list[bytes] = []
        self._calls = 0

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        """See `ModelProvider.stream`."""
        text = request.messages[-1].text
        if request.system.startswith("You summarise"):
            self.summaries += 1
            for event in self._text(_summary()):
                yield event
            return
        if request.system.startswith("You keep the notes"):
            for event in self._text(_notes(text)):
                yield event
            return
        self._check(request)
        for event in self._answer(request.messages):
            yield event

    async def models(self) -> list[ModelInfo]:
        """See `ModelProvider.models`."""
        return []

    async def close(self) -> None:
        """See `ModelProvider.close`."""

    def _check(self, request: ModelRequest) -> None:
        system, *said = chat_messages(request)
        self.heads.add(json.dumps([system, chat_tools(request.tools)]))
        self.orphans += not _is_whole(said)
        sent = [json.dumps(message).encode() for message in said]
        self.rewritten += sent[: len(self._before)] != self._before
        self._before = sent
        self.largest = max(self.largest, sum(estimate_message(message) for message in request.messages))

    def _answer(self, messages: tuple[Message, ...]) -> list[ModelEvent]:
        last = messages[-1]
        if last.role is Role.USER and (wanted := re.findall(r"Use (\w+)", last.text)):
            calls = [ToolCallBlock(f"call-{self._calls + at}", name, {}) for at, name in enumerate(wanted)]
            self._calls += len(calls)
            return [*map(ToolCallEvent, calls), StopEvent(StopReason.TOOL_CALLS)]
        if last.role is Role.USER and (question := re.search(r"What is the (\w+) of the (\w+)", last.text)):
            shown = "\n".join(message.text for message in messages)
            known = {(kind, of): value for kind, of, value in NOTED.findall(shown)}
            return self._text(known.get((question[1], question[2]), "I do not know."))
        return self._text("Done.")

    @staticmethod
    def _text(text: str) -> list[ModelEvent]:
        return [TextDelta(text), UsageEvent(Usage()), StopEvent(StopReason.END)]


def _summary() -> str:
    parts = [f"## {heading}\nnone" for heading in HEADINGS[1:]]
    return "\n".join([f"## {HEADINGS[0]}\nLook at the house again and again, and report what was seen.", *parts])


def _notes(text: str) -> str:
    points = [f"the {kind} of the {of} is {value}" for kind, of, value in FACT.findall(text)]
    return json.dumps({"slug": "the house", "title": "The house", "points": points})


def _is_whole(messages: list[dict[str, Any]]) -> bool:
    """Whether each call, as it goes over the wire, has its result right behind it, and each result its call."""
    waiting: list[str] = []
    for message in messages:
        if message["role"] == "tool":
            if not waiting or waiting.pop(0) != message["tool_call_id"]:
                return False
            continue
        if waiting:
            return False
        waiting = [call["id"] for call in message.get("tool_calls") or ()]
    return not waiting
