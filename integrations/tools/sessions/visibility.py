"""The sessions that a call may see: an owner those of its agent but for others' private ones, a subagent those below
it, anybody else their own. In a room others read along: it sees itself alone, as it has a memory of its own.
"""

from __future__ import annotations

from hub.core.errors import InvalidRequest, NotFound
from hub.security.people import People
from hub.sessions.keys import ROOMS, SessionKey, SessionKind, is_incognito
from hub.sessions.privacy import is_private
from hub.sessions.session import Session
from hub.sessions.store import SessionStore
from hub.tools.contract import ToolCall


def visible_sessions(call: ToolCall, sessions: SessionStore, people: People) -> list[Session]:
    """Return the sessions that a call may see, the one that was active last first."""
    return [each for each in sessions.list(call.agent_id) if _is_visible(call, each.key, people)]


def visible_session(
    call: ToolCall, sessions: SessionStore, people: People, key: str, *, of_others: bool = False
) -> Session:
    """Return a session by any form of its key.

    Args:
        of_others: Whether it may be that of another agent.

    Raises:
        NotFound: There is none, or the call may not see it.
    """
    try:
        full = str(SessionKey.parse(key, default_agent=call.agent_id))
    except InvalidRequest as error:
        raise NotFound(f"session_key: {error.message}") from error
    session = sessions.get(full)
    if session is None or not (of_others or session.agent_id == call.agent_id) or not _is_visible(call, full, people):
        raise NotFound(f"session_key: there is no session {full!r:.200} that you can see; sessions_list names them")
    return session


def _is_visible(call: ToolCall, key: str, people: People) -> bool:
    own, authority = call.session_key, call.context.authority
    if key == own:
        return True
    if is_incognito(key):
        return False
    try:
        kind = SessionKey.parse(own).kind
    except InvalidRequest:
        return False
    if kind is SessionKind.SUBAGENT:
        return key.startswith(f"{own}:")
    if kind in ROOMS:
        return False
    if SessionKey.parse(key).kind is SessionKind.DIRECT and not is_private(key, authority, people):
        return False
    return authority.owner
