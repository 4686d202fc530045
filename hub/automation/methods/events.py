"""`event.fire`: fire a custom event, for automations to act on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hub.automation.engine.own_events import fire_custom, refuse_own
from hub.core.events import EventBus
from hub.core.schema import All, Match, Optional, Required, Schema, string
from hub.core.surfaces import WRITE, Method, MethodCall
from hub.gateway.calls.acting import call_context
from hub.gateway.calls.plain_data import plain_mapping

OWNER = "gateway"
_TYPE = All(
    string, Match(r"^[A-Za-z][A-Za-z0-9_.:-]{0,127}$", msg="expected an event type: letters, digits and _ . : -")
)


class EventMethods:
    """The methods about events.

    Args:
        bus: Fires them.
    """

    def __init__(self, bus: EventBus) -> None:
        self._bus = bus

    def methods(self) -> list[Method]:
        """Return the methods."""
        fire = Schema(
            {
                Required("type", description="Event type; one of the hub's own is refused."): _TYPE,
                Optional("data", default=dict, description="The event data."): plain_mapping,
            }
        )
        return [Method("event.fire", self._fire, OWNER, fire, WRITE, acts=True)]

    async def _fire(self, call: MethodCall) -> Mapping[str, Any]:
        type = call.params["type"]
        refuse_own(type, call.context.authority)
        fire_custom(self._bus, type, dict(call.params["data"]), call_context(call))
        return {"type": type, "context_id": call.context.id}
