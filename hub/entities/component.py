"""The registries of entities, the entities that integrations add, and the services of their domains."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from hub.core.component import Component
from hub.core.phrases import phrase
from hub.core.services import ServiceRegistry
from hub.core.stages import Stage
from hub.core.surfaces import Method, MethodGroups, Route, RouteGroups
from hub.entities.entities import EntityHandle, HomeEntities, OwnService
from hub.entities.helpers.home_helpers import FILE as HELPERS_FILE, VERSION as HELPERS_VERSION, HomeHelpers
from hub.entities.helpers.making import register_groups, register_scenes
from hub.entities.helpers.schema import SECTION_NAMES
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
    sections = SECTION_NAMES
    follows = frozenset({"hub", "people"})

    def __init__(self, base: Foundation, *, services: ServiceRegistry, history: HistoryStore) -> None:
        self._base = base
        self._registry_of_services = services
        self._history = history
        self._file = VersionedFile(base.home.path / FILE, VERSION, documents=base.home.documents)
        self.registry = HomeRegistry(self._file, base.bus, base.states, base.tasks)
        self.entities = HomeEntities(self.registry, base.states, base.bus, base.clock.monotonic)
        self.targets = Targets(self.registry, base.states)
        self._helpers_file = VersionedFile(
            base.home.path / HELPERS_FILE, HELPERS_VERSION, documents=base.home.documents
        )
        self._helpers = HomeHelpers(
            self.entities, services, base.bus, self._helpers_file, base.clock, base.tasks, base.zone, history
        )
        self.entities.own |= {
            f"camera.{name}": self._of_cameras(name) for name in ("snapshot", "record", "play_stream")
        }
        self._services = EntityServices(self.entities, self.targets, services)

    @property
    def is_busy(self) -> bool:
        """Whether a helper waits for a time that it would not know after a start."""
        return self._helpers.is_busy

    @property
    def due(self) -> float | None:
        """When the time of the first helper comes."""
        return self._helpers.due

    def stages(self) -> Sequence[Stage]:
        """Return the stages of the registries and of the helpers."""
        return [
            Stage("registries", self._open, self.registry.close),
            Stage("helpers", self._open_helpers, self._helpers.close),
        ]

    async def apply(self, changed: frozenset[str]) -> None:
        """Take over the sections of helpers."""
        await self._helpers.take_over(self._base.config.current)

    def methods(self) -> MethodGroups:
        """Return the methods about entities and places."""
        return {"entities": self._load_methods}

    def _load_methods(self) -> Iterable[Method]:
        from hub.entities.methods.entities import EntityMethods

        return EntityMethods(self.entities, self.targets, self._history, self._base.clock.time).methods()

    def routes(self) -> RouteGroups:
        """Return the routes of pictures."""
        return {"pictures": self._load_routes}

    def _load_routes(self) -> Iterable[Route]:
        from hub.entities.media_files import MediaFiles
        from hub.entities.picture_routes import picture_routes

        return picture_routes(self.entities, MediaFiles(self._base.home.path))

    def _of_cameras(self, name: str) -> OwnService:
        async def serve(handle: EntityHandle, data: Mapping[str, Any]) -> None:
            from hub.entities.cameras import CameraServices

            await getattr(CameraServices(self._base.home.path, self._base.bus), name)(handle, data)

        return serve

    async def _open(self) -> None:
        await self.registry.open()
        self._services.register()
        watch_new_devices(self.registry, self._base.bus, self._base.repairs, self._base.tasks)
        if (aside := self._file.set_aside) is not None:
            what = phrase("Names, areas and labels are lost. What was in the file is kept as {file}.", file=aside.name)
            self._base.repairs.raise_("entities", "registry", phrase("The registry of entities was damaged"), what)

    async def _open_helpers(self) -> None:
        await self._helpers.open(self._base.config.current)
        register_groups(self._registry_of_services, self._helpers)
        register_scenes(self._registry_of_services, self._helpers, self._base.states)
        if (aside := self._helpers_file.set_aside) is not None:
            what = phrase("They begin anew. What was in the file is kept as {file}.", file=aside.name)
            self._base.repairs.raise_("entities", "helpers", phrase("What helpers held was damaged"), what)
