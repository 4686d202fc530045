"""Who wrote the words of a session: its own person's are requests, all others are data. Pure rules."""

from __future__ import annotations

from hub.agent.run_request import RunRequest
from hub.core.context import Authority
from hub.core.errors import Forbidden, InvalidRequest
from hub.models.contract import Role
from hub.sessions.entry import OWNER, Provenance, TranscriptEntry, user_entry_id
from hub.sessions.keys import ROOMS, SessionKey, SessionKind
from hub.tools.policy import belongs_here

AUTOMATION = "automation"
"""Channel of what an automation says in the place of a person."""


def speaker(authority: Authority) -> str:
    """Return the stored speaker of an authority: `owner`, `person:<id>`, or a principal."""
    if authority.owner:
        return OWNER
    if authority.person is not None:
        return f"person:{authority.person}"
    return authority.principal if ":" in authority.principal else f"principal:{authority.principal}"


def is_said_by(entry: TranscriptEntry, who: str) -> bool:
    """Whether an entry holds what a speaker said, in their own trusted words; never what was handed over for them."""
    return (
        entry.message is not None
        and entry.message.role is Role.USER
        and entry.provenance.trusted
        and entry.provenance.who == who
        and entry.run_id is not None
        and entry.id == user_entry_id(entry.run_id)
        and entry.data.get("channel") != AUTOMATION
    )


def is_own(authority: Authority, session_key: str, person: str | None) -> bool:
    """Whether the session's own person speaks, so that a model may do what is said.

    An owner does everywhere; in a room, each person of this home does; a token does in conversations that no person
    began. Whether words from outside were before whoever speaks is a question of its own (`Authority.tainted`).

    Args:
        authority: The speaker.
        session_key: The session.
        person: The session's owner, when known (`Session.person`).
    """
    if authority.owner or not belongs_here(authority):
        return authority.owner
    try:
        kind = SessionKey.parse(session_key).kind
    except InvalidRequest:
        return False
    if kind in ROOMS:
        return authority.person is not None
    return kind is not SessionKind.MAIN and person in (None, authority.person)


def is_room(session_key: str) -> bool:
    """Whether several people take part in a session."""
    try:
        return SessionKey.parse(session_key).kind in ROOMS
    except InvalidRequest:
        return False


def provenance_of(authority: Authority, session_key: str, person: str | None) -> Provenance:
    """Return the provenance of words added to a session under an authority; see `is_own`."""
    own = is_own(authority, session_key, person)
    return Provenance(own and not authority.tainted, speaker(authority), derived=own and authority.tainted)


def check_extra_prompt(request: RunRequest) -> None:
    """Check that only the owner adds to the system prompt of a conversation that is kept.

    Raises:
        Forbidden: Somebody else does.
    """
    authority = request.context.authority
    if not request.extra_system_prompt or request.ephemeral or (authority.owner and not authority.tainted):
        return
    raise Forbidden("only the owner of this home adds to the system prompt of a conversation that is kept")
