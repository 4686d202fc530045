"""Says sentences to the offline model over a real memory, and judges what came of each; see `listening.txt`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hub.core.context import Context
from hub.memory.contract import MemoryKind
from hub.models.contract import (
    Message,
    ModelRequest,
    Role,
    TextDelta,
    ToolCallBlock,
    ToolCallEvent,
    ToolSpec,
    tool_result,
    user_message,
)
from hub.security.people import People
from hub.tools.contract import Tool, ToolCall
from integrations.memory.memory_tools import MemoryTools
from integrations.models.offline.provider import OfflineProvider
from tests.integrations.memory.notes_house import MAIN, Notes

FOLDER = Path(__file__).parent
LISTS = {"en": "add milk and eggs to my shopping list", "zh": "买菜清单加上鸡蛋和牛奶"}
SCHEDULED = {"added": {"next": "2026-05-12T18:00:00", "text": "…"}}
STEPS = 12


@dataclass(frozen=True, slots=True)
class Sentence:
    """What is said, and what ought to come of it."""

    language: str
    outcome: str
    shown_by: str
    said: str

    @property
    def words(self) -> list[str]:
        """What shows that it came out right, folded."""
        return [each.strip().casefold() for each in self.shown_by.split(",") if each.strip()]


@dataclass(frozen=True, slots=True)
class Came:
    """What came of a sentence: the reply, the entries before and after it, and what was scheduled."""

    reply: str
    before: frozenset[str]
    after: frozenset[str]
    scheduled: str

    @property
    def new(self) -> frozenset[str]:
        """The entries that were not there before."""
        return self.after - self.before


def sentences(name: str) -> list[Sentence]:
    """Return all lines of a file but comments, the seeds among them."""
    lines = (FOLDER / name).read_text("utf-8").splitlines()
    return [
        Sentence(*(part.strip() for part in line.split("|", 3))) for line in lines if line and not line.startswith("#")
    ]


class Listener:
    """An owner's conversation with the offline model, over a memory in files.

    Args:
        notes: The memory.
        seeds: What is in it before each sentence.
    """

    def __init__(self, notes: Notes, seeds: list[Sentence]) -> None:
        self._notes = notes
        self._seeds = seeds
        self._seeded: dict[str, bytes] = {}
        self._provider = OfflineProvider("offline", lambda: datetime(2026, 5, 12, 12, 0, tzinfo=UTC))
        people = People.from_config([{"id": "me", "name": "Me", "owner": True, "identities": []}])
        self._tools: Mapping[str, Tool] = {
            tool.name: tool for tool in MemoryTools(notes.memory, lambda: people, notes.clock.time).all()
        }
        self._context = Context(people.owner_authority())

    async def hear(self, sentence: Sentence, *, afresh: bool = True) -> Came:
        """Say one sentence in a conversation of its own; the memory is as at the beginning, or as it is."""
        if afresh:
            await self._begin()
        if sentence.outcome in {"show", "off"}:
            await self._say(LISTS[sentence.language])
        before = await self._entries()
        reply, scheduled = await self._say(sentence.said)
        return Came(reply.casefold(), before, await self._entries(), scheduled.casefold())

    def wrong(self, sentence: Sentence, came: Came) -> str | None:
        """Return why a sentence did not come out right; None when it did."""
        words, told = sentence.words, self._told(sentence, came)
        match sentence.outcome:
            case "keep":
                fine = any(all(word in each for word in words) for each in came.new) and came.before <= came.after
            case "list":
                fine = all(any(word in each and _is_list(each) for each in came.new) for word in words)
            case "off":
                listed = {each for each in came.before if words[0] in each and _is_list(each)}
                fine = bool(listed) and came.after == came.before - listed
            case "show" | "answer":
                fine = all(word in came.reply for word in words) and not came.new
            case "done":
                fine = not any(words[0] in each for each in came.after - came.new)
            case "correct":
                old, new = (each.strip() for each in sentence.shown_by.casefold().split(">"))
                fine = any(new in each for each in came.new) and not any(old in each for each in came.after - came.new)
            case "remind":
                fine = words[0] in came.scheduled
            case _:
                fine = not came.new and not told
        return None if fine else f"{sentence.said!r}: {came.reply!r}, kept {sorted(came.new)}, told {told}"

    def _told(self, sentence: Sentence, came: Came) -> list[str]:
        """Return the entries that the reply tells and may not."""
        return [
            each.said
            for each in self._seeds
            if each.said.casefold() in came.reply and not any(word in each.said.casefold() for word in sentence.words)
        ]

    async def _begin(self) -> None:
        if not self._seeded:
            for each in self._seeds:
                await self._notes.put(each.said, MemoryKind(each.shown_by))
            self._seeded = {path: text for path, text in self._notes.files().items() if path.endswith(".md")}
        for path in self._notes.folder.rglob("*.md"):
            if path.relative_to(self._notes.folder).as_posix() not in self._seeded:
                path.unlink()
        for name, text in self._seeded.items():
            (self._notes.folder / name).write_bytes(text)

    async def _entries(self) -> frozenset[str]:
        return frozenset(hit.text.casefold() for hit in await self._notes.search("", limit=50))

    async def _say(self, said: str) -> tuple[str, str]:
        messages, scheduled = [user_message(said)], ""
        tools = tuple(ToolSpec(name, "", {}) for name in (*self._tools, "schedule", "standing_intent"))
        for _ in range(STEPS):
            request = ModelRequest(model="homarus", system="", messages=tuple(messages), tools=tools)
            events = [event async for event in self._provider.stream(request)]
            calls = [event.call for event in events if isinstance(event, ToolCallEvent)]
            if not calls:
                return "".join(event.text for event in events if isinstance(event, TextDelta)), scheduled
            for call in calls:
                scheduled += str(call.arguments.get("text", "")) if call.name == "schedule" else ""
                output, is_error = await self._ran(call)
                messages += [Message(Role.ASSISTANT, (call,)), tool_result(call, output, is_error=is_error)]
        raise AssertionError(f"{said!r} goes round in circles: {messages[-2]}")

    async def _ran(self, call: ToolCallBlock) -> tuple[str, bool]:
        tool = self._tools.get(call.name)
        if tool is None:
            return json.dumps(SCHEDULED), False
        arguments: dict[str, Any] = tool.parameters.validate(dict(call.arguments))
        run = ToolCall(call.id, call.name, arguments, self._context, "main", MAIN, "run")
        result = await tool.run(run)
        return result.output, result.is_error


def _is_list(text: str) -> bool:
    return "list" in text or "清单" in text
