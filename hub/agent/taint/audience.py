"""The audience of a conversation: who may take part in it, and so what may be added to it unasked. Pure."""

from __future__ import annotations

from hub.memory.scope import MemoryScope
from hub.security.people import People
from hub.sessions.keys import SessionKey, SessionKind

EVERYBODY = "main"
"""The value of `session.dm_scope` with which all people of this home share the main conversation."""


def common_scope(session_key: str, scope: MemoryScope, people: People, dm_scope: str) -> MemoryScope:
    """Return the scope that everybody in a conversation may see.

    Only the main conversation can be that of several people: all owners, or everybody with `dm_scope: main`.

    Args:
        session_key: The conversation; one that has a scope.
        scope: What the speaker sees in it.
        people: The people of this home.
        dm_scope: `session.dm_scope`, as configured now.
    """
    if scope.group is not None or SessionKey.parse(session_key).kind is not SessionKind.MAIN:
        return scope
    others = [each for each in people.all() if each.id != scope.person and (each.owner or dm_scope == EVERYBODY)]
    if not others:
        return scope
    return MemoryScope(None, private=scope.private and all(each.owner for each in others), shared=scope.shared)
