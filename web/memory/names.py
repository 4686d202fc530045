"""Display names of persons, conversations and agents in memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import quote

from hub.agent.agents import Agents
from hub.core.errors import InvalidRequest
from hub.memory.contract import BY_HAND
from hub.memory.markdown import NOBODY_NAMED
from hub.security.people import People
from hub.sessions.keys import SessionKey, SessionKind
from hub.sessions.store import SessionStore
from web.chat.session_titles import session_title

CONVERSATIONS_LIMIT = 200


class MemoryNames:
    """Resolves the ids in memory files to display names.

    Args:
        people: Returns the persons of this home.
        sessions: The conversations there are.
        agents: The agents that have a memory.
    """

    def __init__(self, people: Callable[[], People], sessions: SessionStore, agents: Agents) -> None:
        self._people = people
        self._sessions = sessions
        self._agents = agents

    def person(self, id: str | None) -> str | None:
        """Return the name of a person, or the id of an unknown one; None for None."""
        if not id or id == NOBODY_NAMED:
            return None
        found = self._people().by_id(id)
        return (found.name or id) if found is not None else id

    def people(self) -> list[dict[str, str]]:
        """Return the persons of this home."""
        return [{"id": person.id, "name": person.name or person.id} for person in self._people().all()]

    def agents(self) -> list[dict[str, str]]:
        """Return the agents with a memory, the default one first."""
        default = self._agents.default().id
        every = sorted(self._agents.all(), key=lambda agent: agent.id != default)
        return [{"id": agent.id, "name": agent.name or agent.id} for agent in every]

    def agent(self, asked: str) -> str:
        """Return the requested agent's id, or the default one's.

        Raises:
            NotFound: There is no such agent.
        """
        return self._agents.get(asked).id if asked else self._agents.default().id

    @property
    def default_agent(self) -> str:
        """The default agent."""
        return self._agents.default().id

    def conversations(self, agent: str) -> list[dict[str, str]]:
        """Return the conversations of an agent, the one that was active last first."""
        kept = self._sessions.list(agent)[:CONVERSATIONS_LIMIT]
        return [
            {"key": each.key, "title": session_title(each, each.key, self._people().is_home_channel) or each.key}
            for each in kept
        ]

    def conversation(self, key: str | None) -> dict[str, Any] | None:
        """Return a page's data about a conversation: `key`, `title`, `main`, `by_hand` and, when it is
        still there, `path`.
        """
        if not key:
            return None
        told: dict[str, Any] = {"key": key, "title": None, "main": False, "path": None, "by_hand": key == BY_HAND}
        if key == BY_HAND:
            return told
        try:
            parsed = SessionKey.parse(key, default_agent=self.default_agent)
            session = self._sessions.get(str(parsed))
            title = session_title(session, str(parsed), self._people().is_home_channel)
        except InvalidRequest:  # a person wrote something else there
            return told | {"title": key}
        main = parsed.kind is SessionKind.MAIN and any(parsed.agent == agent.id for agent in self._agents.all())
        if session is not None or main:
            told["path"] = f"/chat?session={quote(str(parsed), safe='')}"
        return told | {"title": title, "main": main}
