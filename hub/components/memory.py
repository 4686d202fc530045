"""The memory, and what agents remember by themselves."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hub.agent.remembering import AgentMemory, MemoryDependencies
from hub.components.agents import AgentsComponent
from hub.components.component import Component
from hub.components.foundation import Foundation
from hub.core.services import ServiceRegistry
from hub.core.stages import Stage
from hub.memory.registry import MemoryRegistry
from hub.security.people import People
from hub.storage.database import Database


class MemoryComponent(Component):
    """The registry of the memory, and recall, notes, intents and tidying up; these read their section each time."""

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
