"""Fires an event when a budget is reached: that of an automation, or a limit of one agent run."""

from __future__ import annotations

from collections.abc import Callable

from hub.core.context import Context
from hub.core.events import Event, EventBus

EVENT_BUDGET_REACHED = "budget_reached"
_WHERE = "agents[].limits."


def tell_budget(bus: EventBus, automation_id: str, budget: str, spent: float, limit: float, context: Context) -> None:
    """Fire the event for an automation whose budget is used up.

    Args:
        budget: cost_usd or tokens.
    """
    data = {"agent_id": None, "automation_id": automation_id, "budget": budget, "spent": spent, "limit": limit}
    bus.fire(EVENT_BUDGET_REACHED, data, context)


def watch_limits(bus: EventBus) -> Callable[[], None]:
    """Fire an event for every agent run that ends at a limit; return a function that stops watching."""

    def ended(event: Event) -> None:
        details = (event.data.get("error") or {}).get("details") or {}
        name = str(details.get("limit", ""))
        if not name.startswith(_WHERE):
            return
        limit = details.get("value")
        data = {
            "agent_id": event.data.get("agent_id"),
            "automation_id": None,
            "budget": name.removeprefix(_WHERE),
            "spent": limit,
            "limit": limit,
        }
        bus.fire(EVENT_BUDGET_REACHED, data, event.context)

    return bus.listen("run_finished", ended, {"stop": ["limit", "timeout"]})
