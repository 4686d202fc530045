"""Shared by the memory methods: the memory of a call, the caller, and the shape of results."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hub.agent.agents import Agents
from hub.core.clock import Clock
from hub.core.errors import NotFound
from hub.core.schema import All, AnyOf, Described, Invalid, Length, Optional, show, slug, string
from hub.core.surfaces import MethodCall
from hub.gateway.calls.plain_data import as_json
from hub.memory.contract import QUERY_LIMIT, Memory
from hub.memory.own_scope import own_scope
from hub.memory.registry import MemoryRegistry
from hub.memory.scope import NOBODY, MemoryScope
from hub.security.redaction import Redactor

KEY_LIMIT = 512

AGENT: Mapping[Any, Any] = {
    Optional("agent", description="The agent whose memory is meant; the default agent if omitted."): AnyOf(None, slug)
}


def _valid_text(value: Any) -> str:
    if not isinstance(value, str):
        raise Invalid(f"expected text, got {show(value)}")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise Invalid("expected text, got invalid Unicode") from None
    return value


valid_text = Described(_valid_text, {"type": "string"}, "text")
"""Accepts text that can be written into a file."""
QUERY = All(valid_text, Length(max=QUERY_LIMIT))
SESSION = All(string, Length(min=1, max=KEY_LIMIT))
PATH = All(valid_text, Length(min=1, max=KEY_LIMIT))


WORDS = frozenset({"text", "diff", "summary", "topics"})
"""Keys of answers under which words of memory stand."""


def without_words(answer: Any) -> Any:
    """Return the answer kept for repeated calls, without forgotten text."""
    if isinstance(answer, Mapping):
        return {
            key: ([] if isinstance(value, list) else "") if key in WORDS and value is not None else without_words(value)
            for key, value in answer.items()
        }
    return [without_words(each) for each in answer] if isinstance(answer, list) else answer


class MemoryApi:
    """Resolves a call's memory and rights.

    Args:
        memory: The memory of the home.
        agents: The agents.
        clock: Gives the time of entries.
        redactor: Removes secrets from displayed text.
    """

    def __init__(self, memory: MemoryRegistry, agents: Agents, clock: Clock, redactor: Redactor) -> None:
        self._memory = memory
        self._agents = agents
        self._redactor = redactor
        self.clock = clock

    @property
    def memory(self) -> Memory:
        """The memory.

        Raises:
            Unavailable: No integration keeps one.
        """
        return self._memory.require()

    def agent(self, call: MethodCall) -> str:
        """Return the agent a call is about.

        Raises:
            NotFound: There is none of that id.
        """
        wanted = call.params.get("agent")
        return self._agents.default().id if wanted is None else self._agents.get(wanted).id

    def scope(self, call: MethodCall) -> MemoryScope:
        """Return whose memory a caller may read."""
        return own_scope(call.context.authority)

    def whose(self, call: MethodCall) -> MemoryScope:
        """Return the owner of the memory that a caller writes.

        Raises:
            NotFound: The credential belongs to nobody who could have one.
        """
        scope = self.scope(call)
        if scope == NOBODY:
            raise NotFound(
                f"{call.method}: this credential belongs to no person of this home, so it has no memory; use "
                "the hub token, a token with operator.admin, or the dashboard"
            )
        return scope

    def owners(self, call: MethodCall) -> MemoryScope:
        """Return the scope of an owner.

        Raises:
            NotFound: The caller is none.
        """
        scope = self.whose(call)
        if not scope.private:
            raise NotFound(f"{call.method} is about the owner's memory, and this credential is not the owner's")
        return scope

    def who(self, call: MethodCall) -> str:
        """Return the caller's name, for people."""
        authority = call.context.authority
        return authority.person or authority.principal

    def plain_data(self, data: Mapping[str, Any]) -> dict[str, Any]:
        """Return data as JSON can hold it, without secrets."""
        shown: dict[str, Any] = as_json(self._redactor.redact_data(data))
        return shown

    def redact(self, text: str) -> str:
        """Return text without secrets."""
        return self._redactor.redact(text)
