"""What a conversation is called on pages."""

from __future__ import annotations

from hub.sessions.keys import SessionKey, SessionKind
from hub.sessions.session import Session

WEBCHAT = "webchat"


def session_title(session: Session | None, key: str) -> str | None:
    """Return what a conversation is called: its name, else where it takes place, else nothing.

    Raises:
        InvalidRequest: That is no session key.
    """
    if session is not None and session.title:
        return session.title
    parsed = SessionKey.parse(key)
    if parsed.kind is SessionKind.MAIN or parsed.channel == WEBCHAT:
        return None
    return " · ".join(part for part in (parsed.channel or parsed.kind.value, parsed.id, parsed.thread) if part)
