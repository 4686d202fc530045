"""`memory.search|get|status|add|forget|index|verify`: what is remembered, found and taken out again."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from hub.core.errors import InvalidRequest, TimedOut
from hub.core.schema import All, AnyOf, In, Length, Optional, Range, Required, Schema, boolean, integer, slug
from hub.core.surfaces import ADMIN, READ, WRITE, Method, MethodCall
from hub.memory.contract import (
    BY_HAND,
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
from hub.memory.methods.memory_api import (
    AGENT,
    PATH,
    QUERY,
    SESSION,
    MemoryApi,
    valid_text,
    without_words,
)
from hub.memory.scope import MemoryProvenance
from hub.memory.shapes import added_data, answer_data, forgotten_data, synced_data, verified_data
from hub.tools.policy import belongs_here

OWNER = "gateway"
INDEX_LIMIT_S = 3_600.0
"""How long bringing an index up to date may take: with a paid provider and years of notes it is minutes."""

_KIND = In([each.value for each in MemoryKind])
_FROM: Mapping[Any, Any] = {
    Optional("person", description="Only what this person said."): AnyOf(None, slug),
    Optional("session", description="Only what was said in this session."): AnyOf(None, SESSION),
}


class MemoryMethods:
    """The methods about entries and their index.

    Args:
        api: Resolves a call's memory and rights.
    """

    def __init__(self, api: MemoryApi) -> None:
        self._api = api

    def methods(self) -> list[Method]:
        """Return the methods."""
        search = Schema(
            {
                Required("query", description="What is looked for; an empty one gives the latest entries."): QUERY,
                Optional("limit", description="Maximum number of passages; the configured one if omitted."): AnyOf(
                    None, All(integer, Range(min=1, max=HITS_LIMIT))
                ),
                Optional("kind", description="Only entries of this kind."): AnyOf(None, _KIND),
                Optional(
                    "trusted", description="Only entries from the people of this home, or only the others."
                ): AnyOf(None, boolean),
                **_FROM,
                **AGENT,
            }
        )
        get = Schema(
            {
                Required("path", description="A memory file, such as MEMORY.md."): PATH,
                Optional("start", default=1, description="The first line."): All(integer, Range(min=1, max=2**31)),
                Optional("lines", default=200): All(integer, Range(min=1, max=LINES_LIMIT)),
                **AGENT,
            }
        )
        add = Schema(
            {
                Required("text", description="One sentence that can be understood on its own."): All(
                    valid_text, Length(max=ENTRY_LIMIT)
                ),
                Optional("kind", default=MemoryKind.FACT.value, description="The kind of entry."): _KIND,
                Optional("replaces", description="Words of the entry that is no longer true; it is struck out."): AnyOf(
                    None, All(valid_text, Length(min=1, max=QUERY_LIMIT))
                ),
                Optional(
                    "shared", default=False, description="Whether it is shared with everyone in this home."
                ): boolean,
                **AGENT,
            }
        )
        forget = Schema(
            {
                Optional("query", description="Entries with all these words, or exactly this one."): AnyOf(
                    None, All(QUERY, Length(min=1))
                ),
                Optional("dry_run", default=False, description="Tell what would go, and leave it."): boolean,
                **_FROM,
                **AGENT,
            }
        )
        index = Schema({Optional("force", default=False, description="Rebuild the index."): boolean, **AGENT})
        return [
            Method("memory.search", self._search, OWNER, search, READ),
            Method("memory.get", self._get, OWNER, get, READ),
            Method("memory.status", self._status, OWNER, Schema(dict(AGENT)), READ),
            Method("memory.add", self._add, OWNER, add, WRITE, acts=True, kept=without_words),
            Method("memory.forget", self._forget, OWNER, forget, WRITE, acts=True, kept=without_words),
            Method("memory.index", self._index, OWNER, index, ADMIN, acts=True, kept=without_words),
            Method("memory.verify", self._verify, OWNER, Schema(dict(AGENT)), ADMIN, acts=True, kept=without_words),
        ]

    async def _search(self, call: MethodCall) -> Mapping[str, Any]:
        params = call.params
        kind = params.get("kind")
        answer = await self._api.memory.search(
            params["query"],
            agent_id=self._api.agent(call),
            scope=self._api.scope(call),
            limit=params.get("limit"),
            filters=Filters(
                params.get("person"),
                params.get("session"),
                None if kind is None else MemoryKind(kind),
                params.get("trusted"),
            ),
        )
        return self._api.plain_data(answer_data(answer))

    async def _get(self, call: MethodCall) -> Mapping[str, Any]:
        params = call.params
        path, start = params["path"], params["start"]
        agent_id, scope = self._api.agent(call), self._api.scope(call)
        text = await self._api.memory.get(path, agent_id=agent_id, scope=scope, start=start, lines=params["lines"])
        return self._api.plain_data(
            {"path": path, "start": start, "text": text, "trusted": not holds_outside_words(text)}
        )

    async def _status(self, call: MethodCall) -> Mapping[str, Any]:
        """Return the full status to an owner; to others, only the counts of what they may see."""
        agent_id, scope = self._api.agent(call), self._api.scope(call)
        if scope.private:
            return self._api.plain_data({"agent": agent_id, **await self._api.memory.status(agent_id=agent_id)})
        files = await self._api.memory.notebook.files(agent_id=agent_id, scope=scope)
        return {"agent": agent_id, "files": len(files)}

    async def _add(self, call: MethodCall) -> Mapping[str, Any]:
        params, authority = call.params, call.context.authority
        scope = self._api.whose(call)
        trusted = belongs_here(authority) and not authority.tainted
        source = MemoryProvenance(BY_HAND, authority.person, self._api.clock.time(), trusted)
        entry = MemoryEntry(
            params["text"], MemoryKind(params["kind"]), source, params.get("replaces"), params["shared"]
        )
        added = await self._api.memory.add(entry, agent_id=self._api.agent(call), scope=scope)
        return self._api.plain_data(added_data(added))

    async def _forget(self, call: MethodCall) -> Mapping[str, Any]:
        params = call.params
        what = Forget(params.get("query"), params.get("session"), params.get("person"))
        if what == Forget():
            raise InvalidRequest("memory.forget: expected query, session or person")
        hits = await self._api.memory.forget(
            what, agent_id=self._api.agent(call), scope=self._api.whose(call), dry_run=params["dry_run"]
        )
        return self._api.plain_data({**forgotten_data(hits), "dry_run": params["dry_run"]})

    async def _index(self, call: MethodCall) -> Mapping[str, Any]:
        self._api.owners(call)
        agent_id = self._api.agent(call)
        try:
            async with asyncio.timeout(INDEX_LIMIT_S):
                synced = await self._api.memory.sync(agent_id=agent_id, force=call.params["force"])
        except TimeoutError:
            raise TimedOut(
                f"the index of {agent_id} was not done within {INDEX_LIMIT_S:g} s; what is there can be searched, and "
                "memory.status shows its progress"
            ) from None
        return self._api.plain_data(synced_data(synced))

    async def _verify(self, call: MethodCall) -> Mapping[str, Any]:
        self._api.owners(call)
        agent_id = self._api.agent(call)
        try:
            async with asyncio.timeout(INDEX_LIMIT_S):
                verified = await self._api.memory.verify(agent_id=agent_id)
        except TimeoutError:
            raise TimedOut(f"files and index of {agent_id} were not compared within {INDEX_LIMIT_S:g} s") from None
        return self._api.plain_data(verified_data(verified))
