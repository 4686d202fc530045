"""The model providers."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from hub.core.component import Component
from hub.core.errors import HubError
from hub.core.stages import Stage
from hub.foundation import Foundation
from hub.integration.catalog import model_apis
from hub.models.cooldowns import Cooldowns
from hub.models.credential_file import ModelCredentials
from hub.models.model_list import ModelList
from hub.models.registry import ModelRegistry
from hub.storage.database import Database

_log = logging.getLogger(__name__)


class ModelsComponent(Component):
    """The registry of models."""

    name = "models"
    sections = frozenset({"models"})

    def __init__(self, base: Foundation, *, db: Database) -> None:
        self._base = base
        self._cooldowns = Cooldowns(base.clock, db)
        self.credentials = ModelCredentials(base.home.storage, base.clock, base.redactor.register)
        try:
            self.credentials.load()
        except HubError as error:
            _log.error("the credentials that were added for models cannot be used: %s", error.message)
        self.models = ModelRegistry(
            base.section("models"),
            base.bus,
            base.clock,
            base.repairs,
            speakers=model_apis(base.catalog),
            cooldowns=self._cooldowns,
            tokens=self.credentials,
        )
        self.listed = self.models.infos.listed = ModelList(base.home.storage, base.clock)

    def stages(self) -> Sequence[Stage]:
        """Return the stage of the registry."""
        return [Stage("models", self._start, self.models.close)]

    async def _start(self) -> None:
        await self._cooldowns.load()
        try:
            self.listed.load()
        except HubError as error:
            _log.error("the list of models that was fetched cannot be used: %s", error.message)
        await self.models.start()

    async def apply(self, changed: frozenset[str]) -> None:
        """Take over the providers."""
        self.models.configure(self._base.section("models"))
