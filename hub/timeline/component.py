"""The part of the hub that shows what happened."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from hub.agent.runner import AgentRunner
from hub.automation.assembly import AutomationEngine
from hub.automation.definition.kinds import Kinds
from hub.core.component import Component
from hub.core.errors import HubError
from hub.core.events import Event
from hub.core.stages import Stage
from hub.core.surfaces import ADMIN, Method, MethodGroups, Push
from hub.foundation import Foundation
from hub.gateway.push.broadcast import Broadcast
from hub.security.people import People
from hub.sessions.store import SessionStore
from hub.storage.component import StorageComponent
from hub.timeline.changes import EVENT_TIMELINE, TimelineChanges


class TimelineComponent(Component):
    """Lists happenings and shows one, from the records of the other parts.

    Args:
        storage: The databases.
        sessions: The conversations.
        runner: Has the active runs of agents.
        engine: Automations, and the traces of their runs.
        people: Returns the people of this home.
        broadcast: Notifies clients of changes.
    """

    name = "timeline"

    def __init__(
        self,
        base: Foundation,
        storage: StorageComponent,
        sessions: SessionStore,
        runner: AgentRunner,
        engine: AutomationEngine,
        *,
        people: Callable[[], People],
        broadcast: Broadcast,
    ) -> None:
        self._base = base
        self._storage = storage
        self._sessions = sessions
        self._runner = runner
        self._engine = engine
        self._people = people
        self._broadcast = broadcast
        self._started_ms = int(base.clock.time() * 1000)
        self._changes = TimelineChanges(base.bus, storage.history, base.clock, base.tasks)

    def stages(self) -> Sequence[Stage]:
        """Return the stage that announces new happenings."""
        return [Stage("timeline", self._start, self._changes.stop)]

    def methods(self) -> MethodGroups:
        """Return the methods of the timeline."""
        return {"timeline": self._load_methods}

    def _load_methods(self) -> Iterable[Method]:
        from hub.timeline.listing import Timeline
        from hub.timeline.methods import TimelineMethods
        from hub.timeline.one import OneHappening

        timeline = Timeline(self._storage.db, self._storage.history, self._sessions, self._people, self._started_ms)
        one = OneHappening(
            timeline, self._runner, self._engine.traces, self._config_of, Kinds(self._base.schemas.kinds)
        )
        return TimelineMethods(timeline, one, self._base.redactor, self._base.zone).methods()

    def _config_of(self, automation_id: str) -> Mapping[str, Any]:
        try:
            return self._engine.automations.get(automation_id).config
        except HubError:
            return {}

    async def _start(self) -> None:
        self._base.bus.listen(EVENT_TIMELINE, self._push)
        await self._changes.start()

    def _push(self, event: Event) -> None:
        if self._broadcast.readers:
            self._broadcast.push(Push("timeline", dict(event.data), scope=ADMIN, droppable=True))
