"""The registries of entities, the entities that integrations add, and the services of their domains."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from hub.core.component import Component
from hub.core.phrases import phrase
from hub.core.services import ServiceRegistry
from hub.core.stages import Stage
from hub.core.surfaces import Method, MethodGroups
from hub.entities.entities import HomeEntities
from hub.entities.new_devices import watch_new_devices
from hub.entities.registry import FILE, VERSION, HomeRegistry
from hub.entities.services import EntityServices
from hub.entities.targets import Targets
from hub.foundation import Foundation
from hub.storage.history import HistoryStore
from hub.storage.versioned_file import VersionedFile


class EntitiesComponent(Component):
    """The component of entities."""

    name = "entities"

    def __init__(self, base: Foundation, *, services: ServiceRegistry, history: HistoryStore) -> None:
        self._base = base
        self._history = history
        self._file = VersionedFile(base.home.path / FILE, VERSION)
        self.registry = HomeRegistry(self._file, base.bus, base.states, base.tasks)
        self.entities = HomeEntities(self.registry, base.states, base.bus, base.clock.monotonic)
        self.targets = Targets(self.registry, base.states)
        self._services = EntityServices(self.entities, self.targets, services)

    def stages(self) -> Sequence[Stage]:
        """Return the stage of the registries."""
        return [Stage("registries", self._open, self.registry.close)]

    def methods(self) -> MethodGroups:
        """Return the methods about entities and places."""
        return {"entities": self._load_methods}

    def _load_methods(self) -> Iterable[Method]:
        from hub.entities.methods.entities import EntityMethods

        return EntityMethods(self.entities, self.targets, self._history, self._base.clock.time).methods()

    async def _open(self) -> None:
        await self.registry.open()
        self._services.register()
        watch_new_devices(self.registry, self._base.bus, self._base.repairs, self._base.tasks)
        if self._file.set_aside is not None:
            self._base.repairs.raise_(
                "entities",
                "registry",
                phrase("The registry of entities was damaged"),
                phrase(
                    "Names, areas and labels are lost. What was in the file is kept as {file}.",
                    file=self._file.set_aside.name,
                ),
            )
