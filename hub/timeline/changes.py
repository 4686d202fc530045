"""Announces changes of the timeline, at most twice a second, so that open pages reload."""

from __future__ import annotations

import asyncio

from hub.core.clock import Clock
from hub.core.context import system_context
from hub.core.events import Event, EventBus
from hub.core.tasks import TaskOwner
from hub.storage.history import HistoryStore

EVENT_TIMELINE = "timeline_changed"
TOLD_EVERY_S = 0.5
_HEARD = (
    *("run_queued", "run_started", "run_finished", "run_settled", "approval_requested", "approval_resolved"),
    *("command_received", "message_rejected", "automation_finished", "automation_not_run"),
)


class TimelineChanges:
    """Fires `timeline_changed` with an increasing `revision` when a row is added or changed.

    Args:
        bus: Where it listens and fires.
        history: Says when it records a row of the timeline.
        tasks: Owns the task that fires.
    """

    def __init__(self, bus: EventBus, history: HistoryStore, clock: Clock, tasks: TaskOwner) -> None:
        self._bus = bus
        self._history = history
        self._clock = clock
        self._tasks = tasks
        self._changed = asyncio.Event()
        self.revision = 0

    async def start(self) -> None:
        """Start listening."""
        self._unlisten = [self._bus.listen(type, self._heard) for type in _HEARD]
        self._history.on_noted = self._changed.set
        self._telling = self._tasks.spawn(self._tell(), name="tell that the timeline changed")

    async def stop(self) -> None:
        """Stop listening."""
        self._history.on_noted = None
        for unlisten in self._unlisten:
            unlisten()
        self._telling.cancel()

    def _heard(self, event: Event) -> None:
        self._changed.set()

    async def _tell(self) -> None:
        while True:
            await self._changed.wait()
            await self._clock.sleep(TOLD_EVERY_S)
            self._changed.clear()
            self.revision += 1
            self._bus.fire(EVENT_TIMELINE, {"revision": self.revision}, system_context())
