"""A model in this process that does what a conversation of many turns needs, and checks every request it is sent."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator

from hub.agent.compaction.summarise import HEADINGS
from hub.agent.window import estimate_message
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
from hub.sessions.repair import pair_results

FACT = re.compile(r"Please note: the (\w+) of the (\w+) is (\w+)")
NOTED = re.compile(r"the (\w+) of the (\w+) is (\w+)")


class ScriptedModel:
    """Calls a tool when asked to look, answers questions from what it is shown, summarises and takes notes.

    Attributes:
        heads: The different system prompts with tools that it was sent.
        orphans: Requests in which a tool call had no result, or a result no call.
        largest: Estimated tokens of the largest request.
        asked: How many requests there were.
    """

    name = "test"

    def __init__(self) -> None:
        self.heads: set[str] = set()
        self.orphans = 0
        self.largest = 0
        self.asked = 0
        self._calls = 0

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        """See `ModelProvider.stream`."""
        text = request.messages[-1].text
        if request.system.startswith("You summarise"):
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
        self.asked += 1
        self.heads.add(json.dumps([request.system, [tool.name for tool in request.tools]]))
        messages = list(request.messages)
        self.orphans += pair_results(messages) != messages
        self.largest = max(self.largest, sum(estimate_message(message) for message in messages))

    def _answer(self, messages: tuple[Message, ...]) -> list[ModelEvent]:
        last = messages[-1]
        if last.role is Role.USER and (wanted := re.search(r"Use (\w+)", last.text)):
            self._calls += 1
            call = ToolCallBlock(f"call-{self._calls}", wanted[1], {})
            return [ToolCallEvent(call), StopEvent(StopReason.TOOL_CALLS)]
        if last.role is Role.USER and (wanted := re.search(r"What is the (\w+) of the (\w+)", last.text)):
            shown = "\n".join(message.text for message in messages)
            known = {(kind, of): value for kind, of, value in NOTED.findall(shown)}
            return self._text(known.get((wanted[1], wanted[2]), "I do not know."))
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
