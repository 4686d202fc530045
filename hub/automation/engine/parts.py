"""The dependencies of the engine; each sort of kind is shown the part of them that `hub.automation.contract` names."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from datetime import tzinfo
from pathlib import Path
from typing import Any, TypeVar

from msgspec import Struct, field

from hub.automation.contract import Judge, Location, RunSpending
from hub.automation.definition.kinds import Kinds
from hub.automation.definition.registry_ids import RegistryIds
from hub.automation.engine.firing_queue import FiringQueue
from hub.automation.schedule.timetable import Timetable
from hub.core.clock import Clock
from hub.core.events import EventBus
from hub.core.repairs import Repairs
from hub.core.services import ServiceRegistry
from hub.core.states import StateMachine
from hub.core.tasks import TaskOwner
from hub.security.people import People
from hub.storage.files import FILES, Documents
from hub.storage.history import HistoryStore
from hub.template.engine import TemplateEngine

T = TypeVar("T")


class AutomationParts(Struct, frozen=True):
    """The dependencies of the engine; a backtest gives the same engine its own bus, states and clock.

    Attributes:
        home: The home directory; triggers on files see only what is in it.
        zone: The home's time zone as configured now.
        location: The home's location, when it is configured.
        people: The people of this home as configured now.
        kinds: The kinds of triggers, conditions and actions.
        judge: Asks a model; None in a simulation.
        spending: Recent spending; None where it is not counted.
        history: The store of traces; None in a simulation.
        sources: What triggers watch beside bus, states and clock, by its class; empty in a simulation.
        firings: Orders what triggers fire.
        ids: Knows entities and devices by the ids of another registry.
        documents: Keeps what triggers have to know after a restart.
        holding: The waits of triggers for their `for` to pass; they do not survive a restart.
    """

    bus: EventBus
    states: StateMachine
    services: ServiceRegistry
    clock: Clock
    timetable: Timetable
    templates: TemplateEngine
    tasks: TaskOwner
    repairs: Repairs
    home: Path
    zone: Callable[[], tzinfo]
    location: Callable[[], Location | None]
    people: Callable[[], People]
    kinds: Kinds
    judge: Judge | None = None
    spending: RunSpending | None = None
    history: HistoryStore | None = None
    sources: Mapping[type, Any] = {}
    firings: FiringQueue = field(default_factory=FiringQueue)
    ids: RegistryIds = field(default_factory=RegistryIds)
    documents: Documents = FILES
    holding: set[asyncio.Task[None]] = field(default_factory=set)

    def source(self, kind: type[T]) -> T | None:
        """Return the source that triggers watch; None if there is none."""
        found: T | None = self.sources.get(kind)
        return found
