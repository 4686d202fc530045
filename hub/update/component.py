"""The part of the hub that updates it: asks for versions where that is allowed, and judges a new one."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from hub import __version__
from hub.agent.runner import AgentRunner
from hub.automation.schedule.contract import Due
from hub.automation.schedule.daily import EVERY_DAY, Daily, parse_time_of_day
from hub.automation.schedule.timetable import ScheduledEntry, Timetable
from hub.core.component import Component
from hub.core.errors import HubError
from hub.core.first_use import FirstUse
from hub.core.phrases import phrase
from hub.core.repairs import Severity
from hub.core.stages import Stage
from hub.core.surfaces import Method, MethodGroups
from hub.foundation import Foundation

if TYPE_CHECKING:
    from hub.update.record import UpdateRecord
    from hub.update.sources import Release
    from hub.update.updates import Facts, Updates

EVENT_UPDATE = "update_changed"
ENTITY = "update.homarus"
SOURCE = "update"
AT = "05:10"
"""Of every day, in the home's time zone."""
FIRST_S, AGAIN_S = 30.0, 60.0
"""How long after its start a new version is judged, and once more if it seems worse: connections take a while."""


class UpdateComponent(Component):
    """Updates the hub; what does it is imported with the first look.

    Args:
        timetable: The timetable of all schedules.
        runner: Knows whether the assistant is at work.
        backup: Makes a backup, and returns its outcome.
        restart: Lets another version replace this one.
    """

    name = "update"
    follows = frozenset({"hub"})
    in_recovery = True

    def __init__(
        self,
        base: Foundation,
        timetable: Timetable,
        runner: AgentRunner,
        *,
        backup: Callable[[], Awaitable[Mapping[str, Any]]],
        restart: Callable[[], None],
    ) -> None:
        self._base = base
        self._timetable = timetable
        self._backup = backup
        self._runner = runner
        self._restart = restart
        self._entry: ScheduledEntry | None = None
        self._started = asyncio.Event()
        self._updates: FirstUse[Updates] = FirstUse("updates", self._load)

    def stages(self) -> Sequence[Stage]:
        """Return the stage that arms the schedule and begins the judgement."""
        return [Stage("update", self._start, self._stop)]

    async def apply(self, changed: frozenset[str]) -> None:
        """Arm the schedule again."""
        self._arm()

    def methods(self) -> MethodGroups:
        """Return `update.*`."""
        return {"update": self._load_methods}

    def _load_methods(self) -> Iterable[Method]:
        from hub.update.methods import UpdateMethods

        can_switch = lambda: sys.argv[1:2] == ["start"]  # noqa: E731
        return UpdateMethods(self._updates, self._base.tasks, self.look, can_switch=can_switch).methods()

    def _load(self) -> Callable[[], Updates]:
        from hub.update.place import find_place
        from hub.update.updates import Updates

        async def backup() -> str:
            return str((await self._backup())["name"])

        place = find_place()
        return lambda: Updates(
            self._base.home,
            place,
            backup=backup,
            busy=lambda: sum(each.state == "running" for each in self._runner.active()),
            facts=self._facts,
            switch=self._restart,
            clock=self._base.clock,
            changed=self._changed,
        )

    async def look(self, version: str = "") -> Release | None:
        """Ask for the newest version, or for one.

        Raises:
            HubError: It cannot be asked.
        """
        updates = await self._updates.get()
        try:
            found = await updates.look(version)
        finally:
            self._show()
        if not version:
            self._tell(found)
        return found

    async def _start(self) -> None:
        self._base.bus.listen("hub_started", lambda _: self._started.set())
        self._show()
        self._arm()
        if not (self._base.home.storage / "update.json").exists():
            return
        from hub.update.record import UpdateState, read_record

        record = await asyncio.to_thread(read_record, self._base.home.path)
        if record is None:
            return
        if record.state is UpdateState.TRYING and record.version == __version__:
            self._base.tasks.spawn(self._judge(record), name="judge the update")
        elif record.state is UpdateState.BACK and record.previous == __version__:
            self._base.repairs.raise_(
                SOURCE,
                "back",
                phrase("The update to Homarus {version} was taken back", version=record.version),
                phrase(
                    "{current} runs again, because of the new version: {why}. Try again when there is a later one.",
                    current=__version__,
                    why=record.why,
                ),
                severity=Severity.WARNING,
            )
            self._base.tasks.spawn(self._tidy(), name="tidy up after an update")

    async def _stop(self) -> None:
        if self._entry is not None:
            self._entry()

    def _arm(self) -> None:
        if self._entry is not None:
            self._entry()
            self._entry = None
        section = self._base.section("hub")
        if section["update"]["check"] == "daily":
            self._entry = self._timetable.add(Daily(parse_time_of_day(AT), self._base.zone(), EVERY_DAY), self._due)

    def _due(self, due: Due) -> None:
        self._base.tasks.spawn(self._look_quietly(), name="look for a new version")

    async def _look_quietly(self) -> None:
        try:
            await self.look()
        except HubError:
            return  # without a network, tomorrow is soon enough

    async def _judge(self, record: UpdateRecord) -> None:
        """Keep this new version, or go back to the one before."""
        from hub.update.record import UpdateState, write_record
        from hub.update.updates import judge

        await self._started.wait()
        await self._base.clock.sleep(FIRST_S)
        if judge(record, self._facts()):
            await self._base.clock.sleep(AGAIN_S)
        home, why = self._base.home.path, judge(record, self._facts())
        state = UpdateState.BACK if why else UpdateState.KEPT
        await asyncio.to_thread(write_record, home, replace(record, state=state, why=why))
        self._changed()
        if why:
            self._restart()
            return
        await self._tidy()

    async def _tidy(self) -> None:
        """Delete the versions that are needed no longer."""
        from hub.update.prepare import drop_unused
        from hub.update.record import base_environment

        await self._started.wait()
        await asyncio.to_thread(drop_unused, base_environment(), self._base.home.path)

    def _facts(self) -> Facts:
        from hub.update.updates import Facts

        problems = [each for each in self._base.repairs.all() if each.severity is not Severity.WARNING]
        return Facts(self._base.config.current.recovery, tuple(f"{each.source} {each.id}" for each in problems))

    def _tell(self, found: Release | None) -> None:
        """Open a repair for a new version, or close it."""
        if found is None:
            self._base.repairs.clear(SOURCE, "available")
            return
        self._base.repairs.raise_(
            SOURCE,
            "available",
            phrase("Homarus {version} is there", version=found.version),
            phrase("{current} runs. Settings › Update says what is new, and installs it.", current=__version__),
            severity=Severity.WARNING,
            command="homarus update",
        )

    def _show(self) -> None:
        """Set the state of the entity: on while there is a newer version, unknown until somebody asked."""
        made = self._updates.made
        newest = made.newest if made is not None else None
        looked = made is not None and made.looked_ms > 0
        attributes = {
            "friendly_name": "Homarus",
            "title": "Homarus",
            "installed_version": __version__,
            "latest_version": newest.version if newest else __version__ if looked else None,
            "in_progress": made is not None and made.work is not None and made.work.what != "look",
            "auto_update": False,
        }
        state = "unknown" if not looked else "on" if newest else "off"
        self._base.states.set(ENTITY, state, attributes)

    def _changed(self) -> None:
        self._show()
        made = self._updates.made
        self._base.bus.fire(EVENT_UPDATE, {"working": made.work.what if made is not None and made.work else None})
