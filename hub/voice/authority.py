"""Whose words a satellite says, and what they may do: pure rules."""

from __future__ import annotations

from hub.core.context import Authority, ToolPolicy, expand_scopes
from hub.security.people import People
from hub.voice.contract import SatelliteInfo
from hub.voice.settings import SatelliteSettings

SOURCE = "voice"
ROOM_TOOLS = frozenset({"group:home", "calculator", "session_status", "timer", "announce"})
"""What anybody in a room may use, a guest too; an owner is asked before a lock opens, as anywhere."""
PERSONAL_TOOLS = frozenset({"group:memory", "group:message", "group:session", "group:schedule", "calendar"})
"""What tells of one person: not for the ears of a room."""
_SPEAKS = expand_scopes({"operator.write"})


def authority_of(info: SatelliteInfo, settings: SatelliteSettings, people: People) -> Authority:
    """Return the rights of what is said to a satellite: a person's without an owner's, or those of a guest in the room.

    A satellite proves nobody's identity: who stands before it may be anybody.
    """
    known = people.by_id(settings.person or "")
    authority = Authority(f"satellite:{info.id}", known.id if known is not None else None, scopes=_SPEAKS)
    if known is None:
        authority = authority.narrow(policy=ToolPolicy(ROOM_TOOLS, source=SOURCE))
    if not settings.personal:
        authority = authority.narrow(policy=ToolPolicy(deny=PERSONAL_TOOLS, source=f"{SOURCE}.personal"))
    return authority
