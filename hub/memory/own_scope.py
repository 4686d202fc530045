"""The memory scope outside conversations: of a gateway client, the command line or an automation."""

from __future__ import annotations

from hub.core.context import Authority
from hub.memory.scope import NOBODY, MemoryScope


def own_scope(authority: Authority) -> MemoryScope:
    """Return whose memory a caller outside conversations may read.

    An owner sees what is private, their own and what is shared; another person of this home their own and what is
    shared; callers without a person (a program with a token, a device) see nothing.
    """
    if not authority.owner and authority.person is None:
        return NOBODY
    return MemoryScope(authority.person, private=authority.owner, shared=True)
