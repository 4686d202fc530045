"""Calendars: entities, the tool `calendar` and the services `calendar.events` and `calendar.add`; lists of tasks.

Events come from an ICS file, a CalDAV server or a file at home; their texts are words from outside.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from hub.core.schema import Schema
from hub.core.services import ResponseMode, ServiceCall
from integrations.tools.calendar.calendars import CalendarAccounts
from integrations.tools.calendar.dav import Dav
from integrations.tools.calendar.entities import CalendarEntity
from integrations.tools.calendar.tool import CalendarTool

if TYPE_CHECKING:
    from hub.host import IntegrationHost

FOLDER = "calendars"
"""In the home directory, the calendars that have no address."""


async def setup(host: IntegrationHost, config: Mapping[str, Any]) -> None:
    """Add the entities, and register the tool and the services."""
    dav = Dav(host.egress, config["timeout"])
    if config["calendars"]:
        _add_calendars(host, config, dav)
    for name, account in config["lists"].items():
        from integrations.tools.calendar.tasks import TaskList

        tasks = TaskList(host, dav, name, account, config["every"])
        host.spawn(tasks.live(), name=f"list {name}")


def _add_calendars(host: IntegrationHost, config: Mapping[str, Any], dav: Dav) -> None:
    accounts = CalendarAccounts(dav, host.clock, config, host.home.path / FOLDER)
    made = CalendarTool(accounts, lambda: host.time_zone, host.clock.now)
    entities = {name: CalendarEntity(host, accounts, name, config["every"]) for name in accounts.names}

    async def changed(name: str) -> None:
        await entities[name].look()

    accounts.changed = changed
    for name, entity in entities.items():
        host.spawn(entity.live(), name=f"calendar {name}")

    async def events(call: ServiceCall) -> Mapping[str, Any]:
        found, missing, more = await made.events(call.data)
        return {"events": found, "missing": missing, "more": more}

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
