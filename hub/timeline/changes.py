"""Says that the timeline has changed, at most twice a second, so that an open page asks for it again."""

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
    """Listens to what becomes a row, or changes one, and fires `timeline_changed` with a `revision` that grows.

    Args:
        bus: Listened to, and told.
        history: Says when it records a row of the timeline.
        tasks: Owns the task that tells.
    """

    def __init__(self, bus: EventBus, history: HistoryStore, clock: Clock, tasks: TaskOwner) -> None:
        self._bus = bus
        self._history = history
        self._clock = clock
        self._tasks = tasks
        self._changed = asyncio.Event()
        self.revision = 0

    async def start(self) -> None:
        """Begin to listen."""
        self._unlisten = [self._bus.listen(type, self._heard) for type in _HEARD]
        self._history.on_noted = self._changed.set
        self._telling = self._tasks.spawn(self._tell(), name="tell that the timeline changed")

    async def stop(self) -> None:
        """Listen no more."""
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
