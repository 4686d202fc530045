"""The part of the hub that shows what happened."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

from hub.agent.runner import AgentRunner
from hub.automation.assembly import AutomationEngine
from hub.automation.definition.kinds import Kinds
from hub.core.component import Component
from hub.core.errors import HubError
from hub.core.events import Event
from hub.core.schema import All, Length, Optional, Range, Required, Schema, integer, string
from hub.core.stages import Stage
from hub.core.surfaces import ADMIN, Method, MethodGroups, Push
from hub.entities.entities import HomeEntities
from hub.foundation import Foundation
from hub.gateway.push.broadcast import Broadcast
from hub.security.people import People
from hub.sessions.store import SessionStore
from hub.storage.component import StorageComponent
from hub.timeline.changes import EVENT_TIMELINE, TimelineChanges
from hub.tools.contract import READS_HOME, Tool, ToolCall, ToolResult
from hub.tools.parameters import from_schema
from hub.tools.registry import ToolRegistry

if TYPE_CHECKING:
    from hub.timeline.listing import Timeline
    from hub.timeline.one import OneHappening

WHY = Schema(
    {
        Required(
            "about", description="An entity id or an automation's id or name; get_state with search finds it."
        ): All(string, Length(min=1, max=200)),
        Optional("hours", default=48, description="How far to look back."): All(integer, Range(min=1, max=24 * 31)),
    }
)


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
        self._made: tuple[Timeline, OneHappening] | None = None
        self._started_ms = int(base.clock.time() * 1000)
        self._changes = TimelineChanges(base.bus, storage.history, base.clock, base.tasks)

    def offering(self, tools: ToolRegistry, entities: HomeEntities) -> Self:
        """Return it, once agents have the tool that tells why; about entities, of those that they may see."""
        about = "Why a device changed, or why an automation ran or did not: triggers, conditions with their values."

        async def run(call: ToolCall) -> ToolResult:
            from hub.timeline.why import Why

            why = Why(*self._parts(), entities, self._automation_of, self._base.redactor, self._base.zone)
            since_ms = int(self._base.clock.time() - call.arguments["hours"] * 3_600) * 1_000
            told = await why.tell(call.arguments["about"], since_ms, call.context.authority)
            return ToolResult.of(told.data, trusted=told.trusted)

        tools.register(Tool("why", about, from_schema(WHY), run, "home", READS_HOME))
        return self

    def stages(self) -> Sequence[Stage]:
        """Return the stage that announces new happenings."""
        return [Stage("timeline", self._start, self._changes.stop)]

    def methods(self) -> MethodGroups:
        """Return the methods of the timeline."""
        return {"timeline": self._load_methods}

    def _load_methods(self) -> Iterable[Method]:
        from hub.timeline.methods import TimelineMethods

        return TimelineMethods(*self._parts(), self._base.redactor, self._base.zone).methods()

    def _parts(self) -> tuple[Timeline, OneHappening]:
        from hub.timeline.listing import Timeline
        from hub.timeline.one import OneHappening

        if self._made is None:
            timeline = Timeline(self._storage.db, self._storage.history, self._sessions, self._people, self._started_ms)
            kinds = Kinds(self._base.schemas.kinds)
            self._made = timeline, OneHappening(timeline, self._runner, self._engine.traces, self._config_of, kinds)
        return self._made

    def _automation_of(self, name: str) -> tuple[str, Mapping[str, Any]] | None:
        try:
            found = self._engine.automations.get(name)
        except HubError:
            return None
        return found.id, found.config

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
