"""The services `memory.add|search|forget|get`, over whatever keeps the memory now."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from hub.agent.agents import Agents
from hub.core.clock import Clock
from hub.core.context import Authority
from hub.core.errors import Forbidden
from hub.core.events import Unsubscribe
from hub.core.schema import All, In, Length, Optional, Range, Required, Schema, integer, slug, string
from hub.core.services import AgentRule, ResponseMode, ServiceCall, ServiceRegistry
from hub.memory.contract import UNTRUSTED_MARK, Entry, Forget, Hit, Kind, Provenance, Scope
from hub.memory.registry import MemoryRegistry
from hub.sessions.keys import cron_key
from hub.tools.policy import belongs_here

TEXT_LIMIT = 8_000

_AGENT: Mapping[Any, Any] = {Optional("agent", description="Whose memory; the default agent's without it."): slug}
_TEXT = All(string, Length(min=1, max=TEXT_LIMIT))

ADD_SCHEMA = Schema(
    {
        Required("text", description="What is to be remembered."): _TEXT,
        Optional("kind", default=Kind.FACT.value, description="What sort of thing it is."): In(
            [each.value for each in Kind]
        ),
        **_AGENT,
    }
)
SEARCH_SCHEMA = Schema(
    {
        Required("query", description="What is looked for."): _TEXT,
        Optional("limit", default=6, description="How many passages at most."): All(integer, Range(min=1, max=50)),
        **_AGENT,
    }
)
FORGET_SCHEMA = Schema({Required("query", description="Entries with these words are removed."): _TEXT, **_AGENT})
GET_SCHEMA = Schema(
    {
        Required("path", description="A memory file, such as MEMORY.md."): All(string, Length(min=1, max=500)),
        Optional("start", default=1, description="The first line."): All(integer, Range(min=1)),
        Optional("lines", default=200, description="How many lines."): All(integer, Range(min=1, max=5_000)),
        **_AGENT,
    }
)


class MemoryServices:
    """Answers `memory.*`; what it may see follows from the authority of the call, as in a conversation."""

    def __init__(self, memory: MemoryRegistry, agents: Agents, clock: Clock) -> None:
        self._memory = memory
        self._agents = agents
        self._clock = clock

    def register(self, services: ServiceRegistry) -> Unsubscribe:
        """Register the services; returns what removes them. Models have the memory's tools instead."""
        only = ResponseMode.ONLY
        removers = [
            services.register(
                "memory", "add", self._add, ADD_SCHEMA, ResponseMode.OPTIONAL, description="Remember something"
            ),
            services.register(
                "memory", "search", self._search, SEARCH_SCHEMA, only, AgentRule.NEVER, description="Search the memory"
            ),
            services.register(
                "memory",
                "forget",
                self._forget,
                FORGET_SCHEMA,
                ResponseMode.OPTIONAL,
                description="Remove from the memory what has these words",
            ),
            services.register("memory", "get", self._get, GET_SCHEMA, only, description="Read a file of the memory"),
        ]

        def remove() -> None:
            for each in removers:
                each()

        return remove

    async def _add(self, call: ServiceCall) -> Mapping[str, Any]:
        authority = call.context.authority
        agent_id = self._agent(call)
        trusted = belongs_here(authority) and not authority.tainted
        source = Provenance(cron_key(agent_id, "automation"), authority.person, self._clock.time(), trusted)
        entry = Entry(call.data["text"], Kind(call.data["kind"]), source)
        added = await self._memory.require().add(entry, agent_id=agent_id, scope=_scope(authority))
        return _shown(added.hit)

    async def _search(self, call: ServiceCall) -> Mapping[str, Any]:
        answer = await self._memory.require().search(
            call.data["query"],
            agent_id=self._agent(call),
            scope=_scope(call.context.authority),
            limit=call.data["limit"],
        )
        if not all(hit.trusted for hit in answer.hits):
            call.taint()
        return {"hits": [_shown(hit) for hit in answer.hits]}

    async def _forget(self, call: ServiceCall) -> Mapping[str, Any]:
        if call.context.authority.tainted:
            raise Forbidden("memory.forget: words from outside are in this run; they do not choose what is forgotten")
        hits = await self._memory.require().forget(
            Forget(call.data["query"]), agent_id=self._agent(call), scope=_scope(call.context.authority)
        )
        if not all(hit.trusted for hit in hits):
            call.taint()
        return {"forgotten": [_shown(hit) for hit in hits]}

    async def _get(self, call: ServiceCall) -> Mapping[str, Any]:
        data = call.data
        text = await self._memory.require().get(
            data["path"],
            agent_id=self._agent(call),
            scope=_scope(call.context.authority),
            start=data["start"],
            lines=data["lines"],
        )
        if UNTRUSTED_MARK in text:
            call.taint()
        return {"path": data["path"], "text": text}

    def _agent(self, call: ServiceCall) -> str:
        return self._agents.get(call.data["agent"]).id if "agent" in call.data else self._agents.default().id


def _scope(authority: Authority) -> Scope:
    return Scope(person=authority.person, private=authority.owner, shared=authority.person is not None)


def _shown(hit: Hit) -> dict[str, Any]:
    return asdict(hit)
