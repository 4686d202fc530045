"""Lifting a taint: the owner's permission to act on what was said in a conversation so far."""

from __future__ import annotations

from hub.agent.runner import AgentRunner
from hub.agent.taint.taint import LiftScope, lift_entry
from hub.core.context import SYSTEM, Context
from hub.core.errors import Conflict, Forbidden, NotFound
from hub.sessions.session import Session
from hub.sessions.store import SessionStore


async def lift_taint(
    sessions: SessionStore, runner: AgentRunner, session_key: str, scope: LiftScope, context: Context
) -> Session:
    """Lift the taint of what was said so far, for the owner's next turn or for good; on disk when this returns.

    Words from outside that come later taint again.

    Raises:
        Forbidden: The requester is not an owner in person.
        NotFound: There is no such session.
        Conflict: An answer is being written, which would bring the words back.
    """
    authority = context.authority
    caused = context.parent_id is not None or context.chain or authority.principal == SYSTEM.principal
    if not authority.owner or authority.tainted or caused:
        raise Forbidden("only an owner of this home, in person, may lift a taint")
    session = sessions.get(session_key)
    if session is None:
        raise NotFound(f"there is no session {session_key}", details={"key": session_key})
    if any(run.session_key == session_key for run in runner.active()):
        raise Conflict("an answer is being written in this conversation; try again when it is there, or stop it")
    transcript = await sessions.open_transcript(session)
    await transcript.append(lift_entry(scope, runner.parts.now_ms()), sync=True)
    return session if scope is LiftScope.TURN else await sessions.patch(session_key, tainted=False)
