"""The entities of an integration; they are removed when it is unloaded."""

from __future__ import annotations

from collections.abc import Mapping

from hub.entities.description import EntityDescription
from hub.entities.entities import Command, EntityHandle, HomeEntities
from hub.entities.registry import HomeRegistry
from hub.entities.targets import Targets
from hub.integration.registrations import Registrations


class HostEntities:
    """The entities of an integration, and all entities of the home for reading."""

    def __init__(self, entities: HomeEntities, targets: Targets, registrations: Registrations, domain: str) -> None:
        self._entities, self._registrations, self._domain = entities, registrations, domain
        self.targets = targets

    @property
    def all(self) -> HomeEntities:
        """All entities that integrations have added."""
        return self._entities

    @property
    def registry(self) -> HomeRegistry:
        """Floors, areas, labels, devices and entities."""
        return self._entities.registry

    def add(
        self, description: EntityDescription, commands: Mapping[str, Command] | None = None, source: str | None = None
    ) -> EntityHandle:
        """Add an entity; see `HomeEntities.add`. Its `source` is the integration unless another is given."""
        self._registrations.require_open()
        handle = self._entities.add(description, commands, source=source or self._domain)
        handle.on_removed = self._registrations.forgettable(handle.remove)
        return handle
