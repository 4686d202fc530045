"""Template functions beyond states and time: conversations, and the owner's memory."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime, tzinfo
from typing import Any

from hub.agent.agents import Agents
from hub.core.errors import Forbidden
from hub.memory.contract import Filters
from hub.memory.front_matter import holds_outside_words
from hub.memory.registry import MemoryRegistry
from hub.memory.scope import MemoryScope
from hub.memory.shapes import plain
from hub.security.people import People
from hub.sessions.session import Session
from hub.sessions.store import SessionStore

HITS_LIMIT = 20
LINES_LIMIT = 500


class TemplateFunctions:
    """The functions; automations with templates are the owner's, so they see the memory as the owner does.

    Args:
        people, zone: As configured now.
    """

    def __init__(
        self,
        sessions: SessionStore,
        memory: MemoryRegistry,
        agents: Agents,
        people: Callable[[], People],
        zone: Callable[[], tzinfo],
    ) -> None:
        self._sessions = sessions
        self._memory = memory
        self._agents = agents
        self._people = people
        self._zone = zone

    def at_once(self) -> Mapping[str, Callable[..., Any]]:
        """Return the synchronous functions: `sessions(agent)` and `session(key)`."""
        return {"sessions": self.sessions, "session": self.session}

    def deferred(self) -> Mapping[str, Callable[..., Awaitable[Any]]]:
        """Return the asynchronous functions: `memory_search(query, limit, agent)`, `memory_get(path, agent)`."""
        return {"memory_search": self.memory_search, "memory_get": self.memory_get}

    def sessions(self, agent: str | None = None) -> list[dict[str, Any]]:
        """Return the conversations, or an agent's: key, agent, title, model, updated, turns, tainted, person."""
        return [self._facts(each) for each in self._sessions.list(agent)]

    def session(self, key: str) -> dict[str, Any] | None:
        """Return one conversation as `sessions` does; None when there is none of this key."""
        found = self._sessions.get(str(key))
        return None if found is None else self._facts(found)

    async def memory_search(self, query: str, limit: int = 6, agent: str | None = None) -> list[dict[str, Any]]:
        """Return the memory's results for a query, as the service `memory.search` does.

        What came from outside is left out: a template cannot tell its run that it read such words.
        """
        answer = await self._memory.require().search(
            str(query),
            agent_id=self._agent(agent),
            scope=self._scope(),
            limit=max(1, min(int(limit), HITS_LIMIT)),
            filters=Filters(trusted=True),
        )
        return [plain(hit) for hit in answer.hits if hit.trusted]

    async def memory_get(self, path: str, agent: str | None = None) -> str:
        """Return the first lines of a memory file.

        Raises:
            Forbidden: Words from outside are among them.
        """
        text = await self._memory.require().get(
            str(path), agent_id=self._agent(agent), scope=self._scope(), lines=LINES_LIMIT
        )
        if holds_outside_words(text):
            raise Forbidden(
                f"{str(path)[:200]} holds text that others wrote, which a template does not read; "
                "call the service memory.get with a response_variable instead"
            )
        return text

    def _agent(self, agent: str | None) -> str:
        return self._agents.default().id if agent is None else self._agents.get(str(agent)).id

    def _scope(self) -> MemoryScope:
        owners = self._people().owners()
        return MemoryScope(owners[0].id if owners else None, private=True, shared=True)

    def _facts(self, session: Session) -> dict[str, Any]:
        return {
            "key": session.key,
            "agent": session.agent_id,
            "title": session.title,
            "model": session.model,
            "updated": datetime.fromtimestamp(session.updated_ms / 1000, self._zone()),
            "turns": session.turns,
            "tainted": session.tainted,
            "person": session.person,
        }
