"""The tool that searches other conversations: sessions_search."""

from __future__ import annotations

from datetime import UTC, datetime

from hub.agent.taint.authorship import speaker
from hub.agent.taint.taint import ConversationTaint
from hub.core.errors import NotFound
from hub.core.schema import All, Length, Optional, Range, Required, Schema, integer, string
from hub.sessions.search import QUERY_LIMIT, FoundMessage, TranscriptSearch
from hub.sessions.store import SessionStore
from hub.tools.contract import READS_HOME, Tool, ToolCall, ToolResult
from hub.tools.parameters import from_schema
from integrations.tools.sessions.visibility import SessionVisibility

GROUP = "session"
FOUND_LIMIT = 20
"""Maximum number of messages; whether they are trusted takes reading the conversation of each."""

_SEARCH = Schema(
    {
        Required("query", description="Words that are all in one message."): All(
            string, Length(min=1, max=QUERY_LIMIT)
        ),
        Optional("limit", default=10): All(integer, Range(min=1, max=FOUND_LIMIT)),
    }
)


class SearchTool:
    """Searches conversations.

    Args:
        search: The index of conversations.
        visibility: Which sessions a call may see.
        sessions: The sessions.
    """

    def __init__(self, search: TranscriptSearch, visibility: SessionVisibility, sessions: SessionStore) -> None:
        self._search = search
        self._visibility = visibility
        self._sessions = sessions

    def all(self) -> list[Tool]:
        """Return the tool."""
        return [
            Tool(
                "sessions_search",
                "Search in what was said earlier, in all conversations that you can see and from before they were "
                "reset. The latest messages come first, cut to what is around the words; sessions_history has more.",
                from_schema(_SEARCH),
                self._find,
                GROUP,
                READS_HOME,
            )
        ]

    async def _find(self, call: ToolCall) -> ToolResult:
        visible = {each.key for each in self._visibility.all(call)}
        query, limit = call.arguments["query"], call.arguments["limit"]
        found = await self._search.search(query, lambda session: session.key in visible, limit)
        by, trusted = speaker(call.context.authority), True
        for session_key, session_id in dict.fromkeys((each.session_key, each.session_id) for each in found):
            trusted = trusted and not await self._has_outside_words(session_key, session_id, by)
        data = {"count": len(found), "messages": [_shown(each) for each in found]}
        return ToolResult.of(data, trusted=trusted)

    async def _has_outside_words(self, session_key: str, session_id: str, by: str) -> bool:
        """Whether a transcript may hold words from outside; deleted parts may have."""
        session = self._sessions.get(session_key)
        if session is None:
            return True
        taint = ConversationTaint()
        try:
            if session.session_id == session_id:
                entries = tuple((await self._sessions.open_transcript(session)).entries())
            else:
                entries = await self._sessions.past_entries(session, session_id)
        except NotFound:
            return True
        for entry in entries:
            taint.add(entry)
        return taint.is_heard(by)


def _shown(found: FoundMessage) -> dict[str, object]:
    return {
        "session_key": found.session_key,
        "time": datetime.fromtimestamp(found.ts_ms / 1_000, UTC).isoformat(timespec="seconds"),
        "role": found.role,
        "text": found.text,
        **({"before_reset": True} if found.is_past else {}),
    }
