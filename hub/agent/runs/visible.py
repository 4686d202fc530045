"""Who may see what a run did: an owner, but nothing of what others say in private."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hub.core.context import SYSTEM, Authority
from hub.security.people import People
from hub.sessions.keys import SessionKey, SessionKind
from hub.sessions.privacy import is_private


def is_visible(session_key: str, behind: Mapping[str, Any], authority: Authority, people: People) -> bool:
    """Return whether what was done in a session may be shown.

    Args:
        session_key: The session.
        behind: The stored authority of the person it was done for.
        authority: The viewer.
        people: The people of this home.
    """
    kind = SessionKey.parse(session_key).kind
    if kind is SessionKind.DIRECT:
        return is_private(session_key, authority, people)
    # What somebody's subagent does is as private as the conversation that it works for.
    return authority.owner and (kind is not SessionKind.SUBAGENT or is_of(behind, authority.person))


def is_of(behind: Mapping[str, Any], person: str | None) -> bool:
    """Return whether a stored authority is this person's, or the hub's own."""
    return behind.get("person") == person or behind.get("principal") == SYSTEM.principal
