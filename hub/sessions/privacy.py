"""The memory a session may see, decided by its key and speaker, never by its content."""

from __future__ import annotations

import re
from hashlib import sha256

from hub.core.context import Authority
from hub.core.errors import InvalidRequest
from hub.memory.scope import NOBODY, MemoryScope
from hub.security.people import People, is_identity
from hub.sessions.keys import ROOMS, SessionKey, SessionKind, is_incognito
from hub.sessions.session import Session

_NOT_PLAIN = re.compile(r"[^a-z0-9_-]+")
_ROOM_LIMIT = 40
_HASH_DIGITS = 20
_NAMED = frozenset({"api", "voice"})
"""The channels of `/v1`, whose callers name their conversations as they like, as those of the home channel do, and of
satellites, whose conversations are named after a device."""
MEMORY_TOOLS = "group:memory"
"""How rules on tools name those of memory."""
_PERSONAL = (SessionKind.MAIN, SessionKind.DIRECT, SessionKind.SUBAGENT, SessionKind.CRON)


def scope_of(session_key: str, authority: Authority, people: People | None = None) -> MemoryScope:
    """Return the memory scope of a session.

    A room has a memory of its own, since others read along; what a hook or a node set off has none. A direct
    conversation with one person is not another's, even when the other types into it from the dashboard. What the home
    shares is seen wherever one of its people speaks. Whoever is denied the group `memory` sees none in any way: what
    was set off in a room answers there, from a session of its own that would see the memory of who asked.

    Args:
        session_key: The session.
        authority: The speaker.
        people: The people of this home, to know whose a direct conversation is.
    """
    try:
        key = SessionKey.parse(session_key)
    except InvalidRequest:
        return NOBODY
    if key.kind in ROOMS and key.id is not None:
        return MemoryScope(person=None, private=False, group=_room(key), shared=authority.person is not None)
    if (
        is_incognito(session_key)
        or key.kind not in _PERSONAL
        or any(MEMORY_TOOLS in policy.deny for policy in authority.tool_policies)
    ):
        return NOBODY
    if key.kind is SessionKind.DIRECT and people is not None and not _may_be_with(key, authority.person, people):
        return NOBODY
    return MemoryScope(authority.person, private=authority.owner, shared=authority.person is not None)


def is_personal(session_key: str) -> bool:
    """Whether a session is of a kind that sees the memory of its person."""
    try:
        return SessionKey.parse(session_key).kind in _PERSONAL
    except InvalidRequest:
        return False


def is_private(session_key: str, authority: Authority, people: People | None = None) -> bool:
    """Whether a session is an owner's private one, which alone sees `MEMORY.md` and the days."""
    return scope_of(session_key, authority, people).private


def may_search(session: Session, authority: Authority) -> bool:
    """Whether a caller may search a session: an owner all, another person their own."""
    return authority.owner or (authority.person is not None and authority.person == session.person)


def _room(key: SessionKey) -> str:
    """Return a room's unique name for file names; threads share their room's."""
    whole = f"{key.channel}:{key.id}"
    plain = _NOT_PLAIN.sub("-", whole.lower()).strip("-")[:_ROOM_LIMIT]
    # Whoever can choose the id of a room of theirs must not find one whose name is that of another.
    return f"{plain or 'room'}-{sha256(whole.encode()).hexdigest()[:_HASH_DIGITS]}"


def _may_be_with(key: SessionKey, person_id: str | None, people: People) -> bool:
    """Return whether a direct conversation may be with this person, according to the configuration."""
    if key.named:
        return True
    peer = key.id or ""
    other = people.by_identity(peer) or (people.by_peer(key.channel, peer) if key.channel is not None else None)
    if other is not None:
        return other.id == person_id
    if key.channel is not None:
        # On a platform, anyone without an identity in this home is a stranger.
        return key.channel in _NAMED or people.is_home_channel(key.channel)
    if (other := people.by_id(peer)) is not None:
        return other.id == person_id
    return not is_identity(peer)
