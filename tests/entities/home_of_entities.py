"""The registries, entities and services of a home in a test, with their real file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hub.core.context import SYSTEM, Context
from hub.core.events import EventBus
from hub.core.services import ServiceQuestion, ServiceRegistry
from hub.core.states import StateMachine
from hub.core.tasks import TaskOwner
from hub.entities.description import DeviceInfo, EntityDescription
from hub.entities.entities import EntityHandle, HomeEntities
from hub.entities.registry import VERSION, HomeRegistry
from hub.entities.services import EntityServices
from hub.entities.targets import Targets
from hub.storage.versioned_file import VersionedFile

PLUG = DeviceInfo(frozenset({"plug"}), name="Desk plug", manufacturer="Acme", suggested_area="Office")


class TestHome:
    """What is done to the entities is in `done`: `(entity id, service, data)`."""

    __test__ = False

    def __init__(self, folder: Path) -> None:
        self.tasks = TaskOwner("test")
        self.bus = EventBus(self.tasks)
        self.states = StateMachine(self.bus)
        self.asked: list[ServiceQuestion] = []
        self.answer: str | None = None
        self.services = ServiceRegistry(self.bus, self._ask)
        self.registry = HomeRegistry(VersionedFile(folder / "r.json", VERSION), self.bus, self.states, self.tasks)
        self.entities = HomeEntities(self.registry, self.states, self.bus)
        self.targets = Targets(self.registry, self.states)
        EntityServices(self.entities, self.targets, self.services).register()
        self.done: list[tuple[str, str, dict[str, Any]]] = []

    async def _ask(self, question: ServiceQuestion) -> str | None:
        self.asked.append(question)
        return self.answer

    def add(
        self,
        domain: str,
        name: str | None,
        *commands: str,
        device: DeviceInfo | None = None,
        state: str | None = None,
        unique_id: str | None = None,
        **more: Any,
    ) -> EntityHandle:
        """Add an entity whose commands are written down."""
        description = EntityDescription(domain, unique_id or f"{domain} {name}", name, device=device, **more)
        handle = self.entities.add(
            description, {each: self._command(each, description) for each in commands}, source="test"
        )
        handle.set(state)
        return handle

    def _command(self, name: str, description: EntityDescription) -> Any:
        async def run(data: Mapping[str, Any]) -> None:
            entity_id = self.registry.entity_for("test", description).entity_id
            self.done.append((entity_id, name, dict(data)))

        return run

    async def call(self, service: str, **data: Any) -> None:
        """Call a service as the hub itself."""
        domain, _, name = service.partition(".")
        await self.services.call(domain, name, data, context=Context(SYSTEM))

    async def call_for_agent(self, service: str, **data: Any) -> None:
        """Call a service as a model does."""
        domain, _, name = service.partition(".")
        await self.services.call_for_agent(domain, name, data, context=Context(SYSTEM))
