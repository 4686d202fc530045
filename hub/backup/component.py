"""The part of the hub that backs the home up: on request, on a schedule, and as a service for automations."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from hub.automation.schedule.contract import CatchUp, Due
from hub.automation.schedule.daily import EVERY_DAY, Daily, parse_time_of_day, parse_weekdays
from hub.automation.schedule.timetable import ScheduledEntry, Timetable
from hub.core.component import Component
from hub.core.errors import HubError
from hub.core.first_use import FirstUse
from hub.core.phrases import phrase
from hub.core.repairs import Severity
from hub.core.services import ResponseMode, ServiceCall, ServiceRegistry
from hub.core.stages import Stage
from hub.core.surfaces import ADMIN, Method, MethodGroups, Push
from hub.foundation import Foundation
from hub.gateway.connection.server import Gateway
from hub.security.component import SecurityComponent

if TYPE_CHECKING:
    from hub.backup.backups import Backups, BackupSettings

EVENT_BACKUP = "backup_changed"
DAY_S = 86_400.0
LATE_FACTOR = 2.0
"""A backup is too old when so many of its periods have passed, and a day."""


class BackupComponent(Component):
    """Makes backups; what does it is imported with the first one.

    Args:
        security: Guards what is sent to a place elsewhere.
        gateway: Tells clients how far one is.
        timetable: The timetable of all schedules.
        services: Get `backup.create`.
        restart: Lets a new hub replace this one, on a restored home.
    """

    name = "backup"
    sections = frozenset({"backup"})
    follows = frozenset({"hub"})
    in_recovery = True

    def __init__(
        self,
        base: Foundation,
        security: SecurityComponent,
        gateway: Gateway,
        timetable: Timetable,
        *,
        services: ServiceRegistry,
        restart: Callable[[], None],
    ) -> None:
        self._base = base
        self._egress = security.egress
        self._broadcast = gateway.broadcast
        self._timetable = timetable
        self._services = services
        self._restart = restart
        self._entry: ScheduledEntry | None = None
        self._backups: FirstUse[Backups] = FirstUse("backups", self._load)

    @property
    def is_busy(self) -> bool:
        """Whether a backup or a restore is under way."""
        backups = self._backups.made
        return backups is not None and backups.work is not None

    def stages(self) -> Sequence[Stage]:
        """Return the stage that arms the schedule."""
        return [Stage("backup", self._start, self._stop)]

    async def apply(self, changed: frozenset[str]) -> None:
        """Arm the schedule again."""
        await self._arm()

    def methods(self) -> MethodGroups:
        """Return `backup.*`."""
        return {"backup": self._load_methods}

    def _load_methods(self) -> Iterable[Method]:
        from hub.backup.methods import BackupMethods

        return BackupMethods(self._backups, self._base.tasks, self._next_ms, self.make_backup, self._restart).methods()

    def _load(self) -> Callable[[], Backups]:
        from hub.backup.backups import Backups, BackupSettings

        base = self._base

        def settings() -> BackupSettings:
            rows_elsewhere = bool(base.section("storage")) or base.share is not None
            return BackupSettings(base.section("backup"), str(base.section("hub")["name"]), base.zone(), rows_elsewhere)

        return lambda: Backups(base.home, settings, egress=self._egress, clock=base.clock, changed=self._changed)

    async def _start(self) -> None:
        self._services.register(
            "backup", "create", self._serve, None, ResponseMode.OPTIONAL, description="Make a backup of this home"
        )
        await self._arm()
        storage = self._base.home.storage
        if any((storage / name).exists() for name in ("backup.json", "restore")) or any(storage.glob("replaced-*")):
            self._base.tasks.spawn(self._look_after(), name="look after the backups")

    async def _stop(self) -> None:
        if self._entry is not None:
            self._entry()

    async def _arm(self) -> None:
        """Put the configured schedule into the timetable; one that was missed is caught up once."""
        if self._entry is not None:
            self._entry()
            self._entry = None
        schedule = self._base.section("backup")["schedule"]
        if schedule["every"] == "never":
            return
        days = EVERY_DAY if schedule["every"] == "day" else parse_weekdays(schedule["weekday"])
        daily = Daily(parse_time_of_day(schedule["at"]), self._base.zone(), days)
        state = await asyncio.to_thread((await self._backups.get()).state)
        after = state.due_ms / 1000 if state.due_ms else None
        self._entry = self._timetable.add(daily, self._due, after=after, catch_up=CatchUp.LAST)

    def _due(self, due: Due) -> None:
        self._base.tasks.spawn(self._scheduled(), name="scheduled backup")

    async def _scheduled(self) -> None:
        from msgspec.structs import replace

        backups = await self._backups.get()
        state = await asyncio.to_thread(backups.state)
        now_ms = int(self._base.clock.time() * 1000)
        await asyncio.to_thread(backups.remember, replace(state, due_ms=now_ms))
        with suppress(HubError):  # the repair says why; the next time comes
            await self.make_backup()

    async def make_backup(self) -> Mapping[str, Any]:
        """Make a backup and return its outcome.

        Raises:
            HubError: It could not be made; a repair says so too.
        """
        import msgspec

        backups = await self._backups.get()
        try:
            run = await backups.create()
        finally:
            await self._look_after()
        found: Mapping[str, Any] = msgspec.to_builtins(run)
        return found

    async def _serve(self, call: ServiceCall) -> Mapping[str, Any]:
        return await self.make_backup()

    async def _look_after(self) -> None:
        """Delete expired homes after a restore, and raise or clear the repairs."""
        from hub.backup.backups import REPLACED_KEPT_S

        backups = await self._backups.get()
        await asyncio.to_thread(backups.drop_old)
        await backups.delete_replaced_home(older_than_s=REPLACED_KEPT_S)
        state, repairs = await asyncio.to_thread(backups.state), self._base.repairs
        if state.last is not None and state.last.error:
            title = (
                phrase("The last backup failed") if not state.last.name else phrase("A copy of the last backup failed")
            )
            repairs.raise_("backup", "failed", title, state.last.error, command="homarus backup create")
        else:
            repairs.clear("backup", "failed")
        period_s = {"day": DAY_S, "week": 7 * DAY_S}.get(self._base.section("backup")["schedule"]["every"])
        age_s = self._base.clock.time() - state.good_ms / 1000
        if period_s is not None and state.good_ms and age_s > LATE_FACTOR * period_s + DAY_S:
            repairs.raise_(
                "backup",
                "old",
                phrase("The last good backup is {count} days old", count=int(age_s // DAY_S)),
                phrase("Backups are scheduled, and none succeeded since. Make one, and see what it says."),
                severity=Severity.WARNING,
                command="homarus backup create",
            )
        else:
            repairs.clear("backup", "old")

    def _next_ms(self) -> int | None:
        due = self._entry.due if self._entry is not None else None
        return None if due is None else int(due * 1000)

    def _changed(self) -> None:
        """Tell clients and pages how far the work is."""
        work = self._backups.made.work if self._backups.made is not None else None
        told = (
            {"working": None}
            if work is None
            else {"working": work.what, "done": work.done, "total": work.total, "place": work.place}
        )
        self._base.bus.fire(EVENT_BACKUP, told)
        if self._broadcast.readers:
            self._broadcast.push(Push("backup", told, scope=ADMIN, droppable=True))
