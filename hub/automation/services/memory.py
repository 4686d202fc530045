"""The services `memory.add|search|forget|get|index`, over the current memory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hub.agent.agents import Agents
from hub.core.clock import Clock
from hub.core.errors import Forbidden, InvalidRequest
from hub.core.events import Unsubscribe
from hub.core.schema import All, In, Length, Optional, Range, Required, Schema, boolean, integer, slug, string
from hub.core.services import AgentRule, ResponseMode, ServiceCall, ServiceRegistry
from hub.memory.contract import (
    ENTRY_LIMIT,
    HITS_LIMIT,
    LINES_LIMIT,
    QUERY_LIMIT,
    Filters,
    Forget,
    MemoryEntry,
    MemoryKind,
)
from hub.memory.front_matter import holds_outside_words
from hub.memory.own_scope import own_scope
from hub.memory.registry import MemoryRegistry
from hub.memory.scope import MemoryProvenance
from hub.memory.shapes import added_data, answer_data, forgotten_data, synced_data
from hub.sessions.keys import cron_key
from hub.tools.policy import belongs_here

KEY_LIMIT = 512

_AGENT: Mapping[Any, Any] = {
    Optional("agent", description="The agent whose memory is meant; the default agent if omitted."): slug
}
_QUERY = All(string, Length(min=1, max=QUERY_LIMIT))
_KIND = In([each.value for each in MemoryKind])
_FROM: Mapping[Any, Any] = {
    Optional("person", description="Only what this person said."): slug,
    Optional("session", description="Only what was said in this conversation."): All(
        string, Length(min=1, max=KEY_LIMIT)
    ),
}

ADD_SCHEMA = Schema(
    {
        Required("text", description="The text to remember."): All(string, Length(min=1, max=ENTRY_LIMIT)),
        Optional("kind", default=MemoryKind.FACT.value, description="The kind of entry."): _KIND,
        Optional("replaces", description="Words of the entry that is no longer true; it is struck out."): _QUERY,
        Optional("shared", default=False, description="Whether it is shared with everyone in this home."): boolean,
        **_AGENT,
    }
)
SEARCH_SCHEMA = Schema(
    {
        Required("query", description="The search words."): _QUERY,
        Optional("limit", description="Maximum number of passages; the configured one if omitted."): All(
            integer, Range(min=1, max=HITS_LIMIT)
        ),
        Optional("kind", description="Only entries of this kind."): _KIND,
        Optional("trusted", description="Only entries from the people of this home, or only the others."): boolean,
        **_FROM,
        **_AGENT,
    }
)
FORGET_SCHEMA = Schema(
    {
        Optional("query", description="Entries with these words are removed."): _QUERY,
        Optional("dry_run", default=False, description="Report what would be removed without removing it."): boolean,
        **_FROM,
        **_AGENT,
    }
)
GET_SCHEMA = Schema(
    {
        Required("path", description="A memory file, such as MEMORY.md."): All(string, Length(min=1, max=500)),
        Optional("start", default=1, description="The first line."): All(integer, Range(min=1)),
        Optional("lines", default=200, description="Number of lines."): All(integer, Range(min=1, max=LINES_LIMIT)),
        **_AGENT,
    }
)
INDEX_SCHEMA = Schema({Optional("force", default=False, description="Rebuild the index."): boolean, **_AGENT})


class MemoryServices:
    """Handles `memory.*`; access follows from the authority of the call, as in a conversation."""

    def __init__(self, memory: MemoryRegistry, agents: Agents, clock: Clock) -> None:
        self._memory = memory
        self._agents = agents
        self._clock = clock

    def register(self, services: ServiceRegistry) -> Unsubscribe:
        """Register the services, and return a function that removes them. Models have the memory's tools instead."""
        only, maybe, never = ResponseMode.ONLY, ResponseMode.OPTIONAL, AgentRule.NEVER
        removers = [
            services.register("memory", name, handler, schema, response, never, description=told)
            for name, handler, schema, response, told in (
                ("add", self._add, ADD_SCHEMA, maybe, "Remember something"),
                ("search", self._search, SEARCH_SCHEMA, only, "Search the memory"),
                ("forget", self._forget, FORGET_SCHEMA, maybe, "Remove matching entries from the memory"),
                ("get", self._get, GET_SCHEMA, only, "Read a file of the memory"),
                ("index", self._index, INDEX_SCHEMA, maybe, "Bring the index of the memory up to date with its files"),
            )
        ]

        def remove() -> None:
            for each in removers:
                each()

        return remove

    async def _add(self, call: ServiceCall) -> Mapping[str, Any]:
        authority, data = call.context.authority, call.data
        if authority.tainted and (data["shared"] or "replaces" in data):
            raise Forbidden(
                "memory.add: text that others wrote is in this run; it may decide neither what is struck nor "
                "what is shared"
            )
        agent_id = self._agent(call)
        trusted = belongs_here(authority) and not authority.tainted
        source = MemoryProvenance(cron_key(agent_id, "automation"), authority.person, self._clock.time(), trusted)
        entry = MemoryEntry(data["text"], MemoryKind(data["kind"]), source, data.get("replaces"), data["shared"])
        added = await self._memory.require().add(entry, agent_id=agent_id, scope=own_scope(authority))
        if not all(hit.trusted for hit in added.struck):
            call.taint()
        return added_data(added)

    async def _search(self, call: ServiceCall) -> Mapping[str, Any]:
        data = call.data
        answer = await self._memory.require().search(
            data["query"],
            agent_id=self._agent(call),
            scope=own_scope(call.context.authority),
            limit=data.get("limit"),
            filters=Filters(
                data.get("person"),
                data.get("session"),
                MemoryKind(data["kind"]) if "kind" in data else None,
                data.get("trusted"),
            ),
        )
        if not all(hit.trusted for hit in answer.hits):
            call.taint()
        return answer_data(answer)

    async def _forget(self, call: ServiceCall) -> Mapping[str, Any]:
        data = call.data
        if call.context.authority.tainted:
            raise Forbidden("memory.forget: text that others wrote is in this run; it may not decide what is forgotten")
        what = Forget(data.get("query"), data.get("session"), data.get("person"))
        if what == Forget():
            raise InvalidRequest("memory.forget: expected query, session or person")
        hits = await self._memory.require().forget(
            what,
            agent_id=self._agent(call),
            scope=own_scope(call.context.authority),
            dry_run=data["dry_run"],
        )
        if not all(hit.trusted for hit in hits):
            call.taint()
        return forgotten_data(hits)

    async def _get(self, call: ServiceCall) -> Mapping[str, Any]:
        data, memory = call.data, self._memory.require()
        agent_id, scope = self._agent(call), own_scope(call.context.authority)
        text = await memory.get(data["path"], agent_id=agent_id, scope=scope, start=data["start"], lines=data["lines"])
        if holds_outside_words(text):
            call.taint()
        return {"path": data["path"], "text": text}

    async def _index(self, call: ServiceCall) -> Mapping[str, Any]:
        if not call.context.authority.owner:
            raise Forbidden("memory.index: only the owner may update the index")
        return synced_data(await self._memory.require().sync(agent_id=self._agent(call), force=call.data["force"]))

    def _agent(self, call: ServiceCall) -> str:
        return self._agents.get(call.data["agent"]).id if "agent" in call.data else self._agents.default().id
