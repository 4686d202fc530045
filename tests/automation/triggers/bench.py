"""A bench to arm single triggers on: a real bus, states, timetable and templates, and a clock that stands still."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import tzinfo
from pathlib import Path
from types import FrameType
from typing import Any, TypeVar
from zoneinfo import ZoneInfo

from msgspec.structs import replace

from hub.automation.contract import Location
from hub.automation.definition.fields import triggers
from hub.automation.definition.kinds import OUR_KINDS
from hub.automation.engine.firing_queue import FiringQueue
from hub.automation.engine.parts import AutomationParts
from hub.automation.schedule.timetable import Timetable
from hub.core.clock import ManualClock
from hub.core.context import SYSTEM, Authority, Context
from hub.core.events import EventBus, Unsubscribe
from hub.core.repairs import Repairs
from hub.core.services import ServiceRegistry
from hub.core.states import StateMachine
from hub.core.tasks import TaskOwner
from hub.security.people import People, Person
from hub.template.engine import TemplateEngine

T = TypeVar("T")

START = 1_767_225_600.0
"""2026-01-01 00:00 in UTC, a Thursday."""
OWNER = Authority(principal="peer:test:user:1", person="me", owner=True)
STRANGER = Authority(principal="peer:test:user:2")


@dataclass(frozen=True, slots=True)
class Fired:
    """One call of `site.fire`."""

    trigger: Mapping[str, Any]
    context: Context | None
    tainted: bool
    planned: float | None
    missed: int
    skipped: bool


@dataclass
class BenchSite:
    """The host of an armed trigger: it records its calls."""

    parts: AutomationParts
    automation_id: str = "test"
    index: str = "0"
    variables: Mapping[str, Any] = field(default_factory=dict)
    templates: bool = True
    catch_up: Mapping[str, Any] = field(default_factory=lambda: {"mode": "none", "within": 86_400.0})
    since: float | None = None
    last: float | None = None
    fired: list[Fired] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)

    def armed(self) -> float | None:
        return self.since

    def handled(self) -> float | None:
        return self.last if self.last is not None else self.since

    def fire(
        self,
        trigger: Mapping[str, Any],
        context: Context | None = None,
        *,
        tainted: bool = False,
        planned: float | None = None,
        missed: int = 0,
        skipped: bool = False,
    ) -> None:
        self.fired.append(Fired(trigger, context, tainted, planned, missed, skipped))

    def fail(self, message: str) -> None:
        self.failures.append(message)


def valid(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return a trigger as the grammar hands it to its kind."""
    found: dict[str, Any] = triggers([dict(config)])[0]
    return found


def explained(config: Mapping[str, Any]) -> str:
    """Return the plain words for a trigger."""
    checked = valid(config)
    return OUR_KINDS.trigger(checked["trigger"]).explain(checked)


class Bench:
    """Holds the parts, arms triggers and disarms them at the end."""

    def __init__(self, home: Path) -> None:
        self.clock = ManualClock(START)
        self.tasks = TaskOwner("bench")
        self.bus = EventBus(self.tasks, self.clock.time)
        self.states = StateMachine(self.bus, self.clock.time)
        self.zone: tzinfo = ZoneInfo("UTC")
        self.location: Location | None = Location(52.52, 13.405)
        self.ends: list[Unsubscribe] = []
        people = People([Person("me", "Me", owner=True, identities=("test:user:1",)), Person("kid", "Kid")])
        self.parts = AutomationParts(
            bus=self.bus,
            states=self.states,
            services=ServiceRegistry(self.bus),
            clock=self.clock,
            timetable=Timetable(self.clock, self.tasks),
            templates=TemplateEngine(self.states, self.clock, lambda: self.zone),
            tasks=self.tasks,
            repairs=Repairs(self.bus, self.clock.time),
            home=home,
            zone=lambda: self.zone,
            location=lambda: self.location,
            people=lambda: people,
            kinds=OUR_KINDS,
            firings=FiringQueue(sys.maxsize),
        )

    def site(self, **changes: Any) -> BenchSite:
        """Return a place for a trigger."""
        return BenchSite(self.parts, **changes)

    def arm(self, config: Mapping[str, Any], site: BenchSite | None = None, **changes: Any) -> BenchSite:
        """Validate and arm a trigger; return the place it stands on."""
        site = site or self.site(**changes)
        checked = valid(config)
        self.ends.append(OUR_KINDS.trigger(checked["trigger"]).arm(checked, site))
        return site

    def disarm(self) -> None:
        """Disarm all that was armed."""
        for end in self.ends:
            end()
        self.ends.clear()

    def next_due(self, config: Mapping[str, Any], **changes: Any) -> float | None:
        """Return what a schedule says of its next occurrence."""
        checked = valid(config)
        ask = OUR_KINDS.trigger(checked["trigger"]).next_due
        assert ask is not None
        return ask(checked, self.site(**changes))

    def with_source(self, kind: type[T], source: T) -> None:
        """Hand triggers something to watch."""
        self.parts = replace(self.parts, sources={**self.parts.sources, kind: source})

    def fire(self, type: str, data: dict[str, Any] | None = None, authority: Authority = SYSTEM) -> Context:
        """Fire an event; return its context."""
        context = Context(authority)
        self.bus.fire(type, data, context)
        return context

    async def close(self) -> None:
        """Disarm everything and stop."""
        self.disarm()
        await self.tasks.cancel_all()


def calls_during(act: Callable[[], object]) -> int:
    """Return how many Python functions were called while `act` ran."""
    count = 0

    def count_call(frame: FrameType, what: str, argument: object) -> None:
        nonlocal count
        count += what == "call"

    gc.disable()  # whoever listens to the collector would be counted
    sys.setprofile(count_call)
    try:
        act()
    finally:
        sys.setprofile(None)
        gc.enable()
    return count
