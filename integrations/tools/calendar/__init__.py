"""Calendars: the tool `calendar` and the services `calendar.events` and `calendar.add`.

Events come from an ICS file or a CalDAV server; their texts are words from outside.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from hub.core.schema import Schema
from hub.core.services import ResponseMode, ServiceCall
from integrations.tools.calendar.calendars import CalendarAccounts
from integrations.tools.calendar.tool import CalendarTool

if TYPE_CHECKING:
    from hub.host import IntegrationHost


async def setup(host: IntegrationHost, config: Mapping[str, Any]) -> None:
    """Register the tool and the services."""
    made = CalendarTool(CalendarAccounts(host.egress, host.clock, config), lambda: host.time_zone, host.clock.now)

    async def events(call: ServiceCall) -> Mapping[str, Any]:
        found, missing = await made.events(call.data)
        return {"events": found, "missing": missing}

    async def add(call: ServiceCall) -> None:
        await made.add(call.data)

    host.tools.add(made.tool())
    host.services.register(
        "events",
        events,
        Schema(made.listing),
        ResponseMode.ONLY,
        description="List the events of calendars",
        open_world=True,
    )
    host.services.register("add", add, Schema(made.adding), description="Add an event to a calendar")
