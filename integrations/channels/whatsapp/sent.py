"""Texts that were sent: replies name them by their ids alone."""

from __future__ import annotations

import logging

from hub.core.errors import HubError
from hub.integration.json_storage import JsonStorage

_log = logging.getLogger(__name__)

KEPT = 300
TEXT_LENGTH = 300


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
        self._kept = dict([*self._kept.items(), (id, text[:TEXT_LENGTH])][-KEPT:])
        try:
            await self._storage.save(self._kept)
        except (HubError, OSError) as error:
            _log.warning("whatsapp: what was sent is not kept: %s", error)
