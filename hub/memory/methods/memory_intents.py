"""`memory.intents.list|add|remove`: standing intents."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hub.agent.intents.intents import (
    COOLDOWN_HOURS,
    COOLDOWN_HOURS_LIMIT,
    EXPIRES_DAYS,
    EXPIRES_DAYS_LIMIT,
    TEXT_LIMIT,
    NewIntent,
    StandingIntents,
)
from hub.agent.intents.match import TOPIC_LIMIT, TOPICS_LIMIT
from hub.core.schema import All, Length, Optional, Range, Required, Schema, integer, number
from hub.core.surfaces import READ, WRITE, Method, MethodCall
from hub.memory.contract import BY_HAND
from hub.memory.methods.memory_api import AGENT, MemoryApi, valid_text, without_words
from hub.memory.scope import NOBODY, MemoryProvenance
from hub.tools.policy import belongs_here

OWNER = "gateway"


class IntentMethods:
    """The methods about standing intents.

    Args:
        api: Resolves a call's memory and rights.
        intents: The store.
    """

    def __init__(self, api: MemoryApi, intents: StandingIntents) -> None:
        self._api = api
        self._intents = intents

    def methods(self) -> list[Method]:
        """Return the methods."""
        add = Schema(
            {
                Required("topics", description="Alternatives; all words of one must be in a message."): All(
                    [All(valid_text, Length(min=1, max=TOPIC_LIMIT))], Length(min=1, max=TOPICS_LIMIT)
                ),
                Required("remind", description="What to say then."): All(valid_text, Length(min=1, max=TEXT_LIMIT)),
                Optional("days", default=EXPIRES_DAYS, description="How many days it is kept."): All(
                    integer, Range(min=1, max=EXPIRES_DAYS_LIMIT)
                ),
                Optional("every_hours", default=COOLDOWN_HOURS, description="How long it is silent in between."): All(
                    number, Range(min=0, max=COOLDOWN_HOURS_LIMIT)
                ),
                **AGENT,
            }
        )
        remove = Schema({Required("id"): All(valid_text, Length(min=1, max=128)), **AGENT})
        return [
            Method("memory.intents.list", self._list, OWNER, Schema(dict(AGENT)), READ),
            Method("memory.intents.add", self._add, OWNER, add, WRITE, acts=True, kept=without_words),
            Method("memory.intents.remove", self._remove, OWNER, remove, WRITE, acts=True, kept=without_words),
        ]

    async def _list(self, call: MethodCall) -> Mapping[str, Any]:
        scope = self._api.scope(call)
        agent_id = self._api.agent(call)
        found = [] if scope == NOBODY else self._intents.list(agent_id=agent_id, scope=scope)
        return self._api.plain_data({"intents": [each.as_dict() for each in found]})

    async def _add(self, call: MethodCall) -> Mapping[str, Any]:
        params, authority = call.params, call.context.authority
        new = NewIntent(params["topics"], params["remind"], params["days"], params["every_hours"])
        trusted = belongs_here(authority) and not authority.tainted
        source = MemoryProvenance(BY_HAND, authority.person, self._api.clock.time(), trusted)
        scope, agent_id = self._api.whose(call), self._api.agent(call)
        intent = await self._intents.add(new, source, call.context, agent_id=agent_id, scope=scope)
        return self._api.plain_data(intent.as_dict())

    async def _remove(self, call: MethodCall) -> Mapping[str, Any]:
        scope, agent_id = self._api.whose(call), self._api.agent(call)
        intent = await self._intents.remove(call.params["id"], call.context, agent_id=agent_id, scope=scope)
        return self._api.plain_data(intent.as_dict())
