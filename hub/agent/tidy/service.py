"""The service `memory.tidy`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hub.agent.agents import Agents
from hub.agent.tidy.tidy import Tidy, TidyRequest
from hub.core.events import Unsubscribe
from hub.core.schema import All, Optional, Range, Schema, boolean, number, slug
from hub.core.services import ResponseMode, ServiceCall, ServiceRegistry

COST_LIMIT_USD = 1_000
TIDY_KEYS: Mapping[Any, Any] = {
    Optional("dry_run", default=False, description="Report what would change without changing it."): boolean,
    Optional("cost_usd", description="Maximum cost in dollars of comparing entries with a model."): All(
        number, Range(min=0, max=COST_LIMIT_USD)
    ),
}
TIDY_SCHEMA = Schema(
    {Optional("agent", description="The agent whose memory is meant; the default agent if omitted."): slug, **TIDY_KEYS}
)


def register_tidy(services: ServiceRegistry, tidy: Tidy, agents: Agents) -> Unsubscribe:
    """Register the service; returns its removal. A second call right after the first finds nothing to do."""

    async def handle(call: ServiceCall) -> Mapping[str, Any]:
        data = call.data
        agent = agents.get(data["agent"]) if "agent" in data else agents.default()
        tidied = await tidy.tidy(TidyRequest(agent, call.context, data["dry_run"], data.get("cost_usd")))
        return tidied.as_data()

    return services.register(
        "memory",
        "tidy",
        handle,
        TIDY_SCHEMA,
        ResponseMode.OPTIONAL,
        description="Tidy the memory: keep what recurs, merge duplicates, mark contradictions",
        idempotent=True,
    )
