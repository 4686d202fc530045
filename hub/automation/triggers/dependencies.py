"""Listens to what templates looked at: an entity, a domain, the minute.

Those that go through a whole domain hear of it at most once a second, those that go through all states once a minute,
as in Home Assistant.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable

from hub.automation.contract import TriggerParts
from hub.automation.schedule.contract import Due
from hub.automation.schedule.every import Every
from hub.automation.triggers.state import listen_to_states
from hub.core.events import Event, Unsubscribe
from hub.core.states import EVENT_STATE_CHANGED
from hub.template.contract import RenderInfo

MINUTE = Every(60.0)
DOMAIN_PACE_S = 1.0
ALL_STATES_PACE_S = 60.0


class TemplateDependencies:
    """The dependencies of one template, or of several that belong together.

    Args:
        parts: The hub.
        name: Whose they are, for the names of tasks.
        changed: Called when one of them has changed; with None when a minute has passed.
    """

    def __init__(self, parts: TriggerParts, name: str, changed: Callable[[Event | None], None]) -> None:
        self._parts, self._name, self._changed = parts, name, changed
        self._info: RenderInfo | None = None
        self._ends: list[Unsubscribe] = []
        self._later: asyncio.Task[None] | None = None
        self._rendered_at = -math.inf

    def depend_on(self, info: RenderInfo) -> None:
        """Listen to what was looked at by a rendering that ended now, and to nothing else any more."""
        if self._info is not None:  # the first change is heard of at once
            self._rendered_at = self._parts.clock.monotonic()
        if info == self._info:
            return
        self._unlisten()
        self._info = info
        parts = self._parts
        if info.entities:
            self._ends.append(listen_to_states(parts.bus, sorted(info.entities), self._changed))
        if info.domains or info.all_states:
            self._ends.append(parts.bus.listen(EVENT_STATE_CHANGED, self._any_changed))
        if info.uses_time:
            self._ends.append(parts.timetable.add(MINUTE, self._minute_passed))

    def close(self) -> None:
        """Listen to nothing any more."""
        self._unlisten()
        if self._later is not None:
            self._later.cancel()
            self._later = None

    def _unlisten(self) -> None:
        for end in self._ends:
            end()
        self._ends.clear()

    def _minute_passed(self, due: Due) -> None:
        self._changed(None)

    def _any_changed(self, event: Event) -> None:
        """Handle a change in a domain that is gone through; single entities are handled elsewhere."""
        info = self._info
        entity_id: str = event.data["entity_id"]
        if info is None or entity_id in info.entities or self._later is not None:
            return
        if not info.all_states and entity_id.partition(".")[0] not in info.domains:
            return
        pace_s = ALL_STATES_PACE_S if info.all_states else DOMAIN_PACE_S
        wait_s = self._rendered_at + pace_s - self._parts.clock.monotonic()
        if wait_s <= 0:
            self._changed(event)
        elif not self._parts.tasks.closed:
            self._later = self._parts.tasks.spawn(self._tell_later(wait_s, event), name=f"template of {self._name}")

    async def _tell_later(self, wait_s: float, event: Event) -> None:
        await self._parts.clock.sleep(wait_s)
        self._later = None
        self._changed(event)
