"""Titles of conversations on pages."""

from __future__ import annotations

from collections.abc import Callable

from hub.sessions.keys import SessionKey, SessionKind
from hub.sessions.session import Session


def session_title(session: Session | None, key: str, is_home: Callable[[str], bool]) -> str | None:
    """Return the title of a conversation: its name, else where it takes place, else nothing.

    Args:
        is_home: Whether a channel is the one of the hub's own conversations.

    Raises:
        InvalidRequest: It is not a session key.
    """
    if session is not None and (name := session.name):
        return name
    parsed = SessionKey.parse(key)
    if parsed.kind is SessionKind.MAIN or (parsed.channel is not None and is_home(parsed.channel)):
        return None
    return " · ".join(part for part in (parsed.channel or parsed.kind.value, parsed.id, parsed.thread) if part)
