"""Calendars: entities, the tool `calendar` and the services `calendar.events` and `calendar.add`; lists of tasks.

Events come from an ICS file, a CalDAV server or a file at home; their texts are words from outside.
"""

from __future__ import annotations

import logging
import random
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from hub.core.errors import HubError
from hub.core.schema import Schema
from hub.core.services import ResponseMode, ServiceCall
from integrations.tools.calendar.calendars import CalendarAccounts
from integrations.tools.calendar.dav import Dav
from integrations.tools.calendar.entities import RETRY_S, CalendarEntity
from integrations.tools.calendar.found import Collection, entities_of, find_calendars
from integrations.tools.calendar.tool import CalendarTool

if TYPE_CHECKING:
    from hub.host import IntegrationHost

_log = logging.getLogger(__name__)

FOLDER = "calendars"
"""In the home directory, the calendars that have no address."""


async def setup(host: IntegrationHost, config: Mapping[str, Any]) -> None:
    """Add the entities, and register the tool and the services."""
    dav = Dav(host.egress, config["timeout"])
    if config["calendars"] or config["caldav"]:
        calendars = _Calendars(host, config, dav)
        calendars.begin()
    for name, account in config["lists"].items():
        from integrations.tools.calendar.tasks import TaskList

        tasks = TaskList(host, dav, name, account, config["every"])
        host.spawn(tasks.live(), name=f"list {name}")


class _Calendars:
    """The calendars of this home, those that servers say of too: entities, the tool and the services."""

    def __init__(self, host: IntegrationHost, config: Mapping[str, Any], dav: Dav) -> None:
        self._host, self._config, self._dav = host, config, dav
        self._known: dict[str, Mapping[str, Any]] = {}
        self._accounts = CalendarAccounts(dav, host.clock, self._known, host.home.path / FOLDER)
        self._entities: dict[str, CalendarEntity] = {}
        self._undo: list[Callable[[], Any]] = []

    def begin(self) -> None:
        """Add what is configured, and look for what servers have."""
        self._accounts.changed = self._changed
        if self._config["calendars"]:
            self._add(self._config["calendars"])
        for account in self._config["caldav"]:
            self._host.spawn(self._find(account), name="find calendars")

    async def _changed(self, name: str) -> None:
        await self._entities[name].look()

    async def _find(self, account: Mapping[str, Any]) -> None:
        """Add the calendars of a server, as soon as it says which it has."""
        found = await self._found(account)
        for name in sorted({*account["calendars"]} - {each.name for each in found}):
            _log.warning("calendar: the server has no calendar %s", name)
        made = entities_of(account, found)
        self._add({name: each for name, each in made.items() if name not in self._known})

    async def _found(self, account: Mapping[str, Any]) -> list[Collection]:
        failures = 0
        while True:
            try:
                return await find_calendars(self._dav, account)
            except HubError as error:
                if not failures:
                    _log.warning("calendar: %s", error.message)
                wait_s = min(self._config["every"], RETRY_S * 2 ** min(failures, 10)) * random.uniform(1.0, 1.25)  # noqa: S311
                failures += 1
                await self._host.clock.sleep(wait_s)

    def _add(self, calendars: Mapping[str, Mapping[str, Any]]) -> None:
        """Make entities, and offer the tool and the services with all that are known now."""
        host = self._host
        self._known.update(calendars)
        for name in sorted(calendars):
            self._entities[name] = CalendarEntity(host, self._accounts, name, self._config["every"])
            host.spawn(self._entities[name].live(), name=f"calendar {name}")
        for undo in self._undo:
            undo()
        made = CalendarTool(self._accounts, lambda: host.time_zone, host.clock.now)

        async def events(call: ServiceCall) -> Mapping[str, Any]:
            found, missing, more = await made.events(call.data)
            return {"events": found, "missing": missing, "more": more}

        async def add(call: ServiceCall) -> None:
            await made.add(call.data)

        self._undo = [
            host.tools.add(made.tool()),
            host.services.register(
                "events",
                events,
                Schema(made.listing),
                ResponseMode.ONLY,
                description="List the events of calendars",
                open_world=True,
            ),
            host.services.register("add", add, Schema(made.adding), description="Add an event to a calendar"),
        ]
