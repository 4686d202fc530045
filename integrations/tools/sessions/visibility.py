"""The sessions that a call may see: an owner those of its agent but for others' private ones, a subagent those below
it, anybody else their own. In a room others read along: it sees itself alone, as it has a memory of its own. A
conversation that is confined to a sandbox sees itself and its subagents, unless its agent's settings say otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from hub.agent.agents import Agents
from hub.agent.subagents.record import Subagent
from hub.core.errors import InvalidRequest, NotFound
from hub.security.people import People
from hub.sessions.keys import ROOMS, SessionKey, SessionKind, is_incognito
from hub.sessions.privacy import is_private
from hub.sessions.session import Session
from hub.sessions.store import SessionStore
from hub.tools.contract import ToolCall


class SessionVisibility:
    """Decides which sessions a call may see.

    Args:
        below: Returns the subagents of a session, and theirs.
        people: The people of this home, as configured now.
    """

    def __init__(
        self,
        sessions: SessionStore,
        agents: Agents,
        below: Callable[[str], Iterable[Subagent]],
        people: Callable[[], People],
    ) -> None:
        self._sessions, self._agents, self._below, self._people = sessions, agents, below, people

    def all(self, call: ToolCall) -> list[Session]:
        """Return the sessions that a call may see, the one that was active last first."""
        return [each for each in self._sessions.list(call.agent_id) if self._sees(call, each.key)]

    def get(self, call: ToolCall, key: str, *, of_others: bool = False) -> Session:
        """Return a session by any form of its key.

        Args:
            of_others: Whether it may be that of another agent.

        Raises:
            NotFound: There is none, or the call may not see it.
        """
        try:
            full = str(SessionKey.parse(key, default_agent=call.agent_id))
        except InvalidRequest as error:
            raise NotFound(f"session_key: {error.message}") from error
        session = self._sessions.get(full)
        if session is None or not (of_others or session.agent_id == call.agent_id) or not self._sees(call, full):
            raise NotFound(f"session_key: there is no session {full!r:.200} that you can see; sessions_list names them")
        return session

    def _sees(self, call: ToolCall, key: str) -> bool:
        own, authority = call.session_key, call.context.authority
        if key == own:
            return True
        if is_incognito(key):
            return False
        try:
            kind = SessionKey.parse(own).kind
        except InvalidRequest:
            return False
        if kind is SessionKind.SUBAGENT:
            return key.startswith(f"{own}:")
        if kind in ROOMS:
            return False
        sandbox = self._agents.get(call.agent_id).sandbox
        if sandbox.session_visibility == "spawned" and sandbox.confines(own, authority):
            return any(each.session_key == key for each in self._below(own))
        if SessionKey.parse(key).kind is SessionKind.DIRECT and not is_private(key, authority, self._people()):
            return False
        return authority.owner
