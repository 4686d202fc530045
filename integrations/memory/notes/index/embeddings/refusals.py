"""Keys that were refused, remembered by hash, so that `auto` goes on to the next provider at the next choice."""

from __future__ import annotations

import logging
import sqlite3
import time
from collections.abc import Callable, Mapping
from hashlib import sha256

from integrations.memory.notes.index.embeddings.store import Store

_log = logging.getLogger(__name__)
_FAILED = (sqlite3.Error, OSError)


class Refusals:
    """Notes and tells who refused which key.

    Args:
        store: Where.
        keys: By provider; of a key only a hash is kept.
        clock: Seconds since the epoch.
    """

    def __init__(self, store: Store, keys: Mapping[str, str], clock: Callable[[], float] = time.time) -> None:
        self._store = store
        self._who = {
            provider: sha256(f"{provider}|{key}".encode("utf-8", "surrogatepass")).hexdigest()[:32]
            for provider, key in keys.items()
        }
        self._clock = clock

    async def note(self, provider: str, reason: str) -> None:
        """Remember that a provider refused its key."""
        if provider not in self._who:
            return
        row = (provider, self._who[provider], reason, int(self._clock()))
        try:
            await self._store.run(
                lambda database: database.execute("INSERT OR REPLACE INTO refusals VALUES (?, ?, ?, ?)", row)
            )
        except _FAILED as error:
            _log.warning("a refused key cannot be noted: %s", error)

    async def forget(self, provider: str) -> None:
        """A provider took its key after all."""
        try:
            await self._store.run(
                lambda database: database.execute("DELETE FROM refusals WHERE provider=?", (provider,))
            )
        except _FAILED as error:
            _log.warning("a refused key cannot be forgotten: %s", error)

    async def of(self, provider: str) -> str | None:
        """Return why a provider refused the key that it has now; None when it did not."""
        try:
            rows = await self._store.run(
                lambda database: database.execute(
                    "SELECT reason FROM refusals WHERE provider=? AND who=?", (provider, self._who.get(provider, ""))
                ).fetchall()
            )
        except _FAILED as error:
            _log.warning("refused keys cannot be read: %s", error)
            return None
        return str(rows[0][0]) if rows else None
