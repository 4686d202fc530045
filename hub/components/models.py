"""The model providers."""

from __future__ import annotations

from collections.abc import Sequence

from hub.components.component import Component
from hub.components.foundation import Foundation
from hub.core.stages import Stage
from hub.integration.catalog import model_apis
from hub.models.registry import ModelRegistry


class ModelsComponent(Component):
    """The registry of models."""

    name = "models"
    sections = frozenset({"models"})

    def __init__(self, base: Foundation) -> None:
        self._base = base
        self.models = ModelRegistry(
            base.section("models"), base.bus, base.clock, base.repairs, speakers=model_apis(base.catalog)
        )

    def stages(self) -> Sequence[Stage]:
        """Return the stage of the registry."""
        return [Stage("models", self.models.start, self.models.close)]

    async def apply(self, changed: frozenset[str]) -> None:
        """Take over the providers."""
        self.models.configure(self._base.section("models"))
