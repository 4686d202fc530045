"""Whose memory a session may see: decided from its key and from who speaks, never from what is said."""

from __future__ import annotations

from hub.core.context import Authority
from hub.core.errors import InvalidRequest
from hub.memory.contract import Scope
from hub.security.people import People
from hub.sessions.keys import SessionKey, SessionKind

NOBODY = Scope(person=None, private=False)

_PERSONAL = (SessionKind.MAIN, SessionKind.DIRECT, SessionKind.SUBAGENT, SessionKind.CRON)


def scope_of(session_key: str, authority: Authority, people: People | None = None) -> Scope:
    """Return whose memory may be seen and written in a session.

    A room belongs to nobody, since others read along; so does what a hook or a node set off. A direct conversation
    with one person is not another's, even when the other types into it from the dashboard.

    Args:
        session_key: The session.
        authority: Who speaks.
        people: The people of this home, to know whose a direct conversation is.
    """
    try:
        key = SessionKey.parse(session_key)
    except InvalidRequest:
        return NOBODY
    if key.kind not in _PERSONAL:
        return NOBODY
    if key.kind is SessionKind.DIRECT and people is not None and not _may_be_with(key, authority.person, people):
        return NOBODY
    return Scope(person=authority.person, private=authority.owner)


def is_private(session_key: str, authority: Authority, people: People | None = None) -> bool:
    """Whether a session is an owner's private one, which alone sees `MEMORY.md` and the days."""
    return scope_of(session_key, authority, people).private


def _may_be_with(key: SessionKey, person_id: str | None, people: People) -> bool:
    """Whether a direct conversation can be one with this person, as far as the configuration tells."""
    peer = key.id or ""
    identities = [peer] if key.channel is None else [f"{key.channel}:user:{peer}", peer]
    for identity in identities:
        if (other := people.by_identity(identity)) is not None:
            return other.id == person_id
    if key.channel is None and (other := people.by_id(peer)) is not None:
        return other.id == person_id
    person = people.by_id(person_id) if person_id is not None else None
    # On a platform where the person is known by another id, this peer is somebody else.
    return person is None or not any(known.startswith(f"{key.channel}:") for known in person.identities)
