"""Whose memory is meant where no conversation is: by a program at the gateway, the command line, an automation."""

from __future__ import annotations

from hub.core.context import Authority
from hub.memory.scope import NOBODY, MemoryScope


def own_scope(authority: Authority) -> MemoryScope:
    """Return what somebody may see and write of their own accord.

    An owner sees what is private, their own and what is shared; another person of this home their own and what is
    shared; who stands for nobody (a program with a token, a device) sees nothing.
    """
    if not authority.owner and authority.person is None:
        return NOBODY
    return MemoryScope(authority.person, private=authority.owner, shared=True)
