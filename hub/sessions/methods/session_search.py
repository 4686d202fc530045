"""`sessions.search`: messages of all conversations by their words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hub.core.schema import All, Length, Optional, Range, Required, Schema, integer, string
from hub.core.surfaces import READ, Method, MethodCall
from hub.sessions.privacy import may_search
from hub.sessions.search import FOUND_LIMIT, QUERY_LIMIT, FoundMessage, TranscriptSearch
from hub.sessions.session import Session
from hub.sessions.store import SessionStore

OWNER = "gateway"


class SessionSearchMethods:
    """The method that searches conversations.

    Args:
        search: The index.
        sessions: Know the titles.
    """

    def __init__(self, search: TranscriptSearch, sessions: SessionStore) -> None:
        self._search = search
        self._sessions = sessions

    def methods(self) -> list[Method]:
        """Return the method."""
        schema = Schema(
            {
                Required("query", description="Words that are all in one message."): All(
                    string, Length(min=1, max=QUERY_LIMIT)
                ),
                Optional("limit", default=20): All(integer, Range(min=1, max=FOUND_LIMIT)),
                Optional("agentId"): All(str, Length(max=64)),
            }
        )
        return [Method("sessions.search", self._found, OWNER, schema, READ)]

    async def _found(self, call: MethodCall) -> Mapping[str, Any]:
        authority, agent_id = call.context.authority, call.params.get("agentId")

        def may_see(session: Session) -> bool:
            return agent_id in (None, session.agent_id) and may_search(session, authority)

        found = await self._search.search(call.params["query"], may_see, call.params["limit"])
        hits = [_hit(each) for each in found]
        return {"count": len(found), "messages": [self._shown(each) for each in found], "results": hits}

    def _shown(self, found: FoundMessage) -> dict[str, Any]:
        session = self._sessions.get(found.session_key)
        return {
            "key": found.session_key,
            "title": session.title if session is not None and not found.is_past else None,
            "sessionId": found.session_id,
            "past": found.is_past,
            "id": found.entry_id,
            "runId": found.run_id,
            "role": found.role,
            "timestamp": found.ts_ms,
            "text": found.text,
        }


def _hit(found: FoundMessage) -> dict[str, Any]:
    """Return a message as the protocol shows it; all have the same score, since each has all the words."""
    return {
        "sessionKey": found.session_key,
        "sessionId": found.session_id,
        "messageId": found.entry_id,
        "role": found.role,
        "timestamp": found.ts_ms,
        "snippet": found.text,
        "score": 1,
    }
