"""The tools that read sessions and agents: sessions_list, sessions_history, agents_list."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from hub.agent.agents import Agents
from hub.agent.exchanges.settings import ExchangeSettings
from hub.agent.taint.authorship import speaker
from hub.agent.taint.taint import ConversationTaint
from hub.core.clock import Clock
from hub.core.schema import All, In, Length, Optional, Range, Required, Schema, boolean, integer, string
from hub.models.contract import Role
from hub.sessions.keys import ROOMS, SessionKey, SessionKind
from hub.sessions.session import Session
from hub.sessions.store import SessionStore
from hub.tools.contract import READS_HOME, Tool, ToolCall, ToolResult
from hub.tools.parameters import from_schema
from integrations.tools.sessions.visibility import SessionVisibility

GROUP = "session"
LIST_LIMIT = 200
HISTORY_LIMIT = 200
PREVIEW_LIMIT = 10
PREVIEWS_LIMIT = 20
PREVIEW_CHARS = 300
"""The last messages of a listed conversation, for how many of them, and how long each is."""
TEXT_CHARS = 4_000
KINDS = ("main", "group", "cron", "hook", "node", "other")

_LIST = Schema(
    {
        Optional("kinds", description="Only these kinds."): All([In(KINDS)], Length(min=1, max=len(KINDS))),
        Optional("limit", default=50): All(integer, Range(min=1, max=LIST_LIMIT)),
        Optional("active_minutes", description="Only those active in the last so many minutes."): All(
            integer, Range(min=1, max=5_256_000)
        ),
        Optional(
            "names", default=False, description="What rooms and people call themselves: words of others."
        ): boolean,
        Optional("messages", default=0, description="The last so many messages of each; then 20 of them at most."): All(
            integer, Range(min=0, max=PREVIEW_LIMIT)
        ),
    }
)
_HISTORY = Schema(
    {
        Required("session_key", description="As sessions_list names it."): All(string, Length(min=1, max=2_048)),
        Optional("limit", default=20, description="Messages, counted from the newest."): All(
            integer, Range(min=1, max=HISTORY_LIMIT)
        ),
        Optional("include_tools", default=False, description="Tool calls and their results too."): boolean,
    }
)


class SessionReaders:
    """The tools that read sessions and agents.

    Args:
        visibility: Which sessions a call may see.
        sessions: The sessions.
        agents: The agents.
        clock: The clock.
        exchanges: Which agents write to each other, as configured now.
    """

    def __init__(
        self,
        visibility: SessionVisibility,
        sessions: SessionStore,
        agents: Agents,
        clock: Clock,
        exchanges: Callable[[], ExchangeSettings],
    ) -> None:
        self._visibility = visibility
        self._sessions = sessions
        self._agents = agents
        self._clock = clock
        self._exchanges = exchanges

    def all(self) -> list[Tool]:
        """Return the tools."""
        return [
            Tool(
                "sessions_list",
                "List the conversations that you can see, the one active last first, with their keys.",
                from_schema(_LIST),
                self._list,
                GROUP,
                READS_HOME,
            ),
            Tool(
                "sessions_history",
                "Read what was said last in another conversation that you can see.",
                from_schema(_HISTORY),
                self._history,
                GROUP,
                READS_HOME,
            ),
            Tool(
                "agents_list",
                "List the agents that sessions_spawn can give a task to, and those that sessions_send can write to.",
                from_schema({}),
                self._list_agents,
                GROUP,
                READS_HOME,
            ),
        ]

    async def _list(self, call: ToolCall) -> ToolResult:
        kinds, minutes = call.arguments.get("kinds"), call.arguments.get("active_minutes")
        since_ms = 0 if minutes is None else int((self._clock.time() - minutes * 60) * 1_000)
        found = [
            each
            for each in self._visibility.all(call)
            if each.updated_ms >= since_ms and (kinds is None or _kind(each.key) in kinds)
        ]
        wanted, limit, trusted = call.arguments["messages"], call.arguments["limit"], True
        listed = found[: min(limit, PREVIEWS_LIMIT) if wanted else limit]
        shown = [_shown(each) for each in listed]
        for each, session in zip(shown, listed, strict=True) if call.arguments["names"] else ():
            names = _names(session)
            each.update(names)
            trusted = trusted and not names
        for each, session in zip(shown, listed, strict=True) if wanted else ():
            messages, heard = await self._messages(call, session, include_tools=False)
            trusted = trusted and heard
            each["messages"] = [{**one, "text": _cut(one["text"], PREVIEW_CHARS)} for one in messages[-wanted:]]
        return ToolResult.of({"count": len(shown), "total": len(found), "sessions": shown}, trusted=trusted)

    async def _history(self, call: ToolCall) -> ToolResult:
        session = self._visibility.get(call, call.arguments["session_key"])
        messages, trusted = await self._messages(call, session, include_tools=call.arguments["include_tools"])
        shown = messages[-call.arguments["limit"] :]
        return ToolResult.of({"session_key": session.key, "total": len(messages), "messages": shown}, trusted=trusted)

    async def _messages(
        self, call: ToolCall, session: Session, *, include_tools: bool
    ) -> tuple[list[dict[str, Any]], bool]:
        """Return what was said in a session, and whether all of it is trusted under the rights of the call."""
        transcript = await self._sessions.open_transcript(session)
        taint = ConversationTaint()
        messages: list[dict[str, Any]] = []
        for entry in transcript.branch():
            taint.add(entry)
            message = entry.message
            if message is None or (message.role is Role.TOOL and not include_tools):
                continue
            said: dict[str, Any] = {"role": message.role.value, "time_ms": entry.ts_ms, "text": _cut(message.text)}
            if message.role is Role.TOOL:
                said["tool"] = message.tool_name
            elif include_tools and message.tool_calls:
                said["tool_calls"] = [each.name for each in message.tool_calls]
            elif not said["text"]:
                continue
            messages.append(said)
        return messages, not taint.is_heard(speaker(call.context.authority))

    async def _list_agents(self, call: ToolCall) -> ToolResult:
        subagents, exchanges = self._agents.get(call.agent_id).subagents, self._exchanges()
        found = [
            {
                "id": each.id,
                "name": each.name,
                "tasks": subagents.allows(call.agent_id, each.id),
                "messages": each.id != call.agent_id and exchanges.allows(call.agent_id, each.id),
            }
            for each in self._agents.all()
        ]
        return ToolResult.of({"agents": [each for each in found if each["tasks"] or each["messages"]]})


def _kind(key: str) -> str:
    kind = SessionKey.parse(key).kind
    if kind in ROOMS:
        return SessionKind.GROUP.value
    return kind.value if kind.value in KINDS else "other"


def _shown(session: Session) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "session_key": session.key,
        "kind": _kind(session.key),
        "active": datetime.fromtimestamp(session.updated_ms / 1_000, ZoneInfo("UTC")).isoformat(timespec="seconds"),
        "tokens": session.usage.total_tokens,
        "words_from_outside": session.tainted,
    }
    if session.origin is not None:
        shown["channel"] = session.origin.channel
    if session.title and not session.tainted:  # a title may be made of what was said
        shown["title"] = session.title
    return shown


def _names(session: Session) -> dict[str, str]:
    """Return what the platform, and so anybody there, calls a conversation."""
    origin = session.origin
    if origin is None or origin.peer is None:
        return {}
    told = {"name": session.name, "subject": origin.group_name, "topic": origin.topic_name, "space": origin.space_name}
    return {key: value for key, value in told.items() if value}


def _cut(text: str, limit: int = TEXT_CHARS) -> str:
    return text if len(text) <= limit else f"{text[:limit]} [cut: {len(text)} characters]"
