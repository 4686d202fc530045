"""The tool `standing_intent`: reminders shown when a topic comes up."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, tzinfo
from typing import Any

import orjson

from hub.agent.intents.intents import EXPIRES_DAYS, EXPIRES_DAYS_LIMIT, TEXT_LIMIT, NewIntent, StandingIntents
from hub.agent.intents.match import split_topics
from hub.agent.intents.store import StandingIntent
from hub.core.clock import Clock
from hub.core.errors import InvalidRequest
from hub.core.schema import All, In, Length, Optional, Range, Required, integer, string
from hub.memory.scope import MemoryProvenance, MemoryScope
from hub.security.people import People
from hub.sessions.privacy import scope_of
from hub.tools.contract import Annotations, Tool, ToolCall, ToolResult
from hub.tools.parameters import from_schema

NAME = "standing_intent"
SHOWN_LIMIT = 100


class IntentTool:
    """The tool over the standing intents, within the scope of the session that calls."""

    def __init__(
        self, intents: StandingIntents, people: Callable[[], People], clock: Clock, zone: Callable[[], tzinfo]
    ) -> None:
        self._intents = intents
        self._people = people
        self._clock = clock
        self._zone = zone

    def tool(self) -> Tool:
        """Return the tool."""
        text = All(string, Length(min=1, max=TEXT_LIMIT))
        return Tool(
            NAME,
            'Reminders for whenever a topic comes up ("when I mention the boiler, remind me of …"). For a time, use '
            "schedule.",
            from_schema(
                {
                    Required("action"): In(["add", "list", "remove"]),
                    Optional("topic", description="Words of the topic; alternatives with commas."): text,
                    Optional("remind", description="What to say then."): text,
                    Optional("days", default=EXPIRES_DAYS): All(integer, Range(min=1, max=EXPIRES_DAYS_LIMIT)),
                    Optional("id"): text,
                }
            ),
            self._run,
            "memory",
            Annotations(destructive=False, idempotent=True, open_world=False, owner_only=False, egress=False),
        )

    async def _run(self, call: ToolCall) -> ToolResult:
        scope = scope_of(call.session_key, call.context.authority, self._people())
        match call.arguments["action"]:
            case "add":
                return await self._add(call, scope)
            case "remove":
                removed = await self._intents.remove(
                    _given(call, "id"), call.context, agent_id=call.agent_id, scope=scope
                )
                text = f"removed: {_line(self._shown(removed))}"
                return ToolResult(text, details=removed.as_dict(), trusted=removed.trusted)
        found = self._intents.list(agent_id=call.agent_id, scope=scope)[:SHOWN_LIMIT]
        shown = [self._shown(intent) for intent in found]
        trusted = all(intent.trusted for intent in found)
        return ToolResult.of({"intents": shown}, trusted=trusted)

    async def _add(self, call: ToolCall, scope: MemoryScope) -> ToolResult:
        authority = call.context.authority
        new = NewIntent(split_topics(_given(call, "topic")), _given(call, "remind"), call.arguments["days"])
        source = MemoryProvenance(call.session_key, authority.person, self._clock.time(), trusted=not authority.tainted)
        intent = await self._intents.add(new, source, call.context, agent_id=call.agent_id, scope=scope)
        return ToolResult(f"noted: {_line(self._shown(intent))}", details=intent.as_dict())

    def _shown(self, intent: StandingIntent) -> dict[str, Any]:
        until = datetime.fromtimestamp(intent.expires_ms / 1_000, self._zone())
        topic = ", ".join(intent.topics)
        return {"id": intent.id, "topic": topic, "remind": intent.text, "until": f"{until:%Y-%m-%d}"}


def _given(call: ToolCall, name: str) -> str:
    value = call.arguments.get(name)
    if value is None:
        raise InvalidRequest(f"{call.arguments['action']} needs {name}")
    return str(value)


def _line(shown: dict[str, Any]) -> str:
    return orjson.dumps(shown).decode()
