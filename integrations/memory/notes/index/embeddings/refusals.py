"""Keys that were refused, remembered by hash, so that `auto` goes on to the next provider at the next choice."""

from __future__ import annotations

import logging
import sqlite3
import time
from collections.abc import Callable
from hashlib import sha256

from integrations.memory.notes.index.embeddings.store import Store

_log = logging.getLogger(__name__)
_FAILED = (sqlite3.Error, OSError)


class EmbeddingRefusal:
    """Whether one address refused one key.

    Args:
        store: Where it is noted.
        endpoint: The address.
        key: The key, of which only a hash is kept; None for none.
        clock: Seconds since the epoch.
    """

    def __init__(self, store: Store, endpoint: str, key: str | None, clock: Callable[[], float] = time.time) -> None:
        self._store = store
        self._endpoint = endpoint
        self._who = sha256(f"{endpoint}|{key or ''}".encode("utf-8", "surrogatepass")).hexdigest()[:32]
        self._clock = clock

    async def note(self, reason: str) -> None:
        """Remember that it was refused."""
        row = (self._endpoint, self._who, reason, int(self._clock()))
        try:
            await self._store.run(
                lambda database: database.execute("INSERT OR REPLACE INTO refusals VALUES (?, ?, ?, ?)", row)
            )
        except _FAILED as error:
            _log.warning("a refused key cannot be noted: %s", error)

    async def forget(self) -> None:
        """The key was taken after all."""
        try:
            await self._store.run(
                lambda database: database.execute("DELETE FROM refusals WHERE endpoint=?", (self._endpoint,))
            )
        except _FAILED as error:
            _log.warning("a refused key cannot be forgotten: %s", error)

    async def reason(self) -> str | None:
        """Return why the key was refused; None when it was not."""
        try:
            rows = await self._store.run(
                lambda database: database.execute(
                    "SELECT reason FROM refusals WHERE endpoint=? AND who=?", (self._endpoint, self._who)
                ).fetchall()
            )
        except _FAILED as error:
            _log.warning("refused keys cannot be read: %s", error)
            return None
        return str(rows[0][0]) if rows else None
