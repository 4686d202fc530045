"""The memory, and what agents remember automatically."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from hub.agent.component.agents import AgentsComponent
from hub.agent.recall.remembering import AgentMemory, MemoryDependencies
from hub.core.component import Component
from hub.core.services import ServiceRegistry
from hub.core.stages import Stage
from hub.core.surfaces import Method, MethodGroups
from hub.foundation import Foundation
from hub.memory.registry import MemoryRegistry
from hub.security.people import People
from hub.storage.database import Database


class MemoryComponent(Component):
    """The registry of the memory, and recall, flushing, intents and tidying; these read their section each time."""

    name = "memory"
    sections = frozenset({"memory"})

    def __init__(
        self,
        base: Foundation,
        *,
        db: Database,
        agents: AgentsComponent,
        services: ServiceRegistry,
        people: Callable[[], People],
    ) -> None:
        self._base = base
        self._agents = agents.agents
        self.memory = MemoryRegistry()
        self.remembering = AgentMemory(
            MemoryDependencies(
                home=base.home,
                db=db,
                runner=agents.runner,
                lanes=agents.lanes,
                services=services,
                memory=self.memory,
                people=people,
                section=base.section,
            )
        )

    def stages(self) -> Sequence[Stage]:
        """Return the stage of what agents remember."""
        return [Stage("remembering", self.remembering.open, self.remembering.close)]

    def methods(self) -> MethodGroups:
        """Return the methods about entries, files, intents and tidying up."""
        return {"memory": self._load_methods}

    def _load_methods(self) -> Iterable[Method]:
        from hub.memory.methods.memory import MemoryMethods
        from hub.memory.methods.memory_api import MemoryApi
        from hub.memory.methods.memory_files import MemoryFileMethods
        from hub.memory.methods.memory_intents import IntentMethods
        from hub.memory.methods.memory_tidy import TidyMethods

        api = MemoryApi(self.memory, self._agents, self._base.clock, self._base.redactor)
        return [
            *MemoryMethods(api).methods(),
            *MemoryFileMethods(api).methods(),
            *IntentMethods(api, self.remembering.intents).methods(),
            *TidyMethods(api, self._agents, self.remembering.tidy).methods(),
        ]
