"""The model providers."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from hub.core.component import Component
from hub.core.errors import HubError
from hub.core.stages import Stage
from hub.foundation import Foundation
from hub.integration.catalog import model_apis
from hub.models.cooldowns import Cooldowns
from hub.models.credential_file import ModelCredentials
from hub.models.registry import ModelRegistry
from hub.storage.database import Database

if TYPE_CHECKING:
    from hub.models.model_list import ModelList
    from hub.security.egress import Egress

LIST_FILE = "model_list.json"

_log = logging.getLogger(__name__)


class ModelsComponent(Component):
    """The registry of models."""

    name = "models"
    sections = frozenset({"models"})

    def __init__(self, base: Foundation, *, db: Database, egress: Egress) -> None:
        self._base, self._egress = base, egress
        self._cooldowns = Cooldowns(base.clock, db)
        documents = base.home.documents
        self.credentials = ModelCredentials(base.home.storage, base.clock, base.redactor.register, documents)
        self._load_later = db.holds_files
        if not self._load_later:
            self._load_credentials()
        self.models = ModelRegistry(
            base.section("models"),
            base.bus,
            base.clock,
            base.repairs,
            speakers=model_apis(base.catalog),
            cooldowns=self._cooldowns,
            tokens=self.credentials,
        )

    def stages(self) -> Sequence[Stage]:
        """Return the stage of the registry."""
        return [Stage("models", self._start, self.models.close)]

    async def _start(self) -> None:
        await self._cooldowns.load()
        if self._load_later:  # the database was not open before
            await asyncio.to_thread(self._load_credentials)
            self.models.reread()
        if (self._base.home.storage / LIST_FILE).exists():
            try:
                self._list().load()
            except HubError as error:
                _log.error("the list of models that was fetched cannot be used: %s", error.message)
        await self.models.start()

    async def apply(self, changed: frozenset[str]) -> None:
        """Take over the providers."""
        self.models.configure(self._base.section("models"))

    async def refresh_list(self) -> Mapping[str, Any]:
        """Fetch the public list of models; see `ModelList.refresh`."""
        found = await self._list().refresh(self._egress)
        self.models.refresh()
        return found

    def _load_credentials(self) -> None:
        try:
            self.credentials.load()
        except HubError as error:
            _log.error("the credentials that were added for models cannot be used: %s", error.message)

    def _list(self) -> ModelList:
        from hub.models.model_list import ModelList

        infos = self.models.infos
        infos.listed = infos.listed or ModelList(self._base.home.storage / LIST_FILE, self._base.clock)
        return infos.listed
