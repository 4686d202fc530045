"""`memory.tidy`: keep what recurs, merge duplicates, mark contradictions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hub.agent.agents import Agents
from hub.agent.tidy.service import TIDY_KEYS
from hub.agent.tidy.tidy import Tidy, TidyRequest
from hub.core.schema import Schema
from hub.core.surfaces import WRITE, Method, MethodCall
from hub.memory.methods.memory_api import AGENT, MemoryApi, without_words

OWNER = "gateway"


class TidyMethods:
    """The method about tidying up.

    Args:
        api: Resolves a call's memory and rights.
        agents: The agents.
        tidy: Tidies the memory up.
    """

    def __init__(self, api: MemoryApi, agents: Agents, tidy: Tidy) -> None:
        self._api = api
        self._agents = agents
        self._tidy = tidy

    def methods(self) -> list[Method]:
        """Return the method."""
        return [
            Method(
                "memory.tidy", self._run, OWNER, Schema({**TIDY_KEYS, **AGENT}), WRITE, acts=True, kept=without_words
            )
        ]

    async def _run(self, call: MethodCall) -> Mapping[str, Any]:
        self._api.whose(call)
        agent = self._agents.get(self._api.agent(call))
        request = TidyRequest(agent, call.context, call.params["dry_run"], call.params.get("cost_usd"))
        return self._api.plain_data((await self._tidy.tidy(request)).as_data())
