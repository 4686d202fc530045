"""What must be known later of what was sent: texts, which replies name by id alone, and values of buttons."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Mapping

from hub.core.errors import HubError
from hub.integration.json_storage import JsonStorage

_log = logging.getLogger(__name__)

KEPT = 300
TEXT_LENGTH = 300
BUTTON_LENGTH = 256
"""The longest id of a button."""
_MARK = "~"


class SentTexts:
    """Remembers the last of them, over restarts.

    Args:
        storage: Where they are kept.
    """

    def __init__(self, storage: JsonStorage) -> None:
        self._storage = storage
        self._kept: dict[str, str] = {}

    async def load(self) -> None:
        """Read what earlier runs kept."""
        try:
            self._kept = {str(key): str(value) for key, value in (await self._storage.load({})).items()}
        except (HubError, OSError, AttributeError) as error:
            _log.warning("whatsapp: what was sent before is not known: %s", error)

    def get(self, id: str) -> str | None:
        """Return what was kept under an id."""
        return self._kept.get(id)

    async def sent(self, id: str, text: str) -> None:
        """Remember a message."""
        await self._keep({id: text[:TEXT_LENGTH]})

    async def button_id(self, value: str) -> str:
        """Return what a button carries: its value, or a short name for one that is too long."""
        if value and len(value) <= BUTTON_LENGTH and not value.startswith(_MARK):
            return value
        id = _MARK + hashlib.sha256(value.encode()).hexdigest()
        if id not in self._kept:
            await self._keep({id: value})
        return id

    async def _keep(self, new: Mapping[str, str]) -> None:
        self._kept = dict([*self._kept.items(), *new.items()][-KEPT:])
        try:
            await self._storage.save(self._kept)
        except (HubError, OSError) as error:
            _log.warning("whatsapp: what was sent is not kept: %s", error)
