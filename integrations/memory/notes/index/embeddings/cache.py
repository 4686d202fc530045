"""A cache of vectors, so that no text is paid for twice; least recently used ones are evicted."""

from __future__ import annotations

import logging
import sqlite3
import time
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from integrations.memory.notes.index.embeddings.store import Store

if TYPE_CHECKING:
    from hub.memory.engine_contract import Vector

AT_ONCE = 500
USED_STEP_S = 3_600

_log = logging.getLogger(__name__)
_FAILED = (sqlite3.Error, OSError)


def text_hash(text: str) -> bytes:
    """Return the cache key of a text."""
    return sha256(text.encode("utf-8", "surrogatepass")).digest()


class Cache:
    """Keeps the vectors of one model; a failure of the disk costs money, never an answer.

    Args:
        store: The store.
        model: Fingerprint of whom they are from.
        limit: How many are kept of all models together; 0 keeps none.
        clock: Seconds since the epoch.
    """

    def __init__(self, store: Store, model: str, limit: int, clock: Callable[[], float] = time.time) -> None:
        self._store = store
        self._model = model
        self._limit = limit
        self._clock = clock

    async def get(self, texts: Sequence[str]) -> dict[str, Vector]:
        """Return the vectors of those texts that have one."""
        if not self._limit or not texts:
            return {}
        by_hash = {text_hash(text): text for text in texts}
        try:
            found = await self._store.run(lambda database: self._read(database, list(by_hash)))
        except _FAILED as error:
            _log.warning("the embedding cache cannot be read: %s", error)
            return {}
        return {by_hash[digest]: vector for digest, vector in found.items()}

    async def put(self, vectors: Mapping[str, Vector]) -> None:
        """Keep vectors by text; the text itself is not kept."""
        if not self._limit or not vectors:
            return
        hashed = {text_hash(text): vector for text, vector in vectors.items()}
        try:
            await self._store.run(lambda database: self._write(database, hashed))
        except _FAILED as error:
            _log.warning("the embedding cache cannot be written: %s", error)

    async def dimensions(self) -> int | None:
        """Return the length of the model's vectors, if known."""
        try:
            return await self._store.run(lambda database: _dimensions(database, self._model))
        except _FAILED as error:
            _log.warning("the embedding cache cannot be read: %s", error)
            return None

    async def settle(self, dimensions: int) -> None:
        """Note the length of the vectors; others are dropped, because the model behind the name changed."""
        try:
            await self._store.run(lambda database: self._settle(database, dimensions))
        except _FAILED as error:
            _log.warning("the embedding cache cannot be written: %s", error)

    def _read(self, database: sqlite3.Connection, hashes: Sequence[bytes]) -> dict[bytes, Vector]:
        import numpy as np

        model = model_id(database, self._model)
        length = _dimensions(database, self._model)
        step = int(self._clock()) // USED_STEP_S
        found: dict[bytes, Vector] = {}
        stale: list[tuple[int, int]] = []
        bad: list[tuple[int]] = []
        for start in range(0, len(hashes), AT_ONCE):
            some = hashes[start : start + AT_ONCE]
            marks = ",".join("?" * len(some))
            rows = database.execute(
                f"SELECT id, text, used, sum, vector FROM vectors WHERE model=? AND text IN ({marks})",  # noqa: S608
                (model, *some),
            )
            for id, digest, used, check, raw in rows:
                if not isinstance(raw, bytes) or zlib.crc32(raw) != check or (length and len(raw) != 4 * length):
                    bad.append((id,))
                    continue
                found[digest] = np.frombuffer(raw, dtype="<f4").astype(np.float32)
                if used != step:
                    stale.append((step, id))
        database.executemany("UPDATE vectors SET used=? WHERE id=?", stale)
        database.executemany("DELETE FROM vectors WHERE id=?", bad)
        return found

    def _write(self, database: sqlite3.Connection, vectors: Mapping[bytes, Vector]) -> None:
        model = model_id(database, self._model)
        step = int(self._clock()) // USED_STEP_S
        rows = []
        for digest, vector in vectors.items():
            raw = vector.astype("<f4").tobytes()
            rows.append((digest, model, step, zlib.crc32(raw), raw))
        database.executemany(
            "INSERT OR REPLACE INTO vectors (text, model, used, sum, vector) VALUES (?, ?, ?, ?, ?)", rows
        )
        count = database.execute("SELECT count(*) FROM vectors").fetchone()[0]
        if count > self._limit:
            database.execute(
                "DELETE FROM vectors WHERE id IN (SELECT id FROM vectors ORDER BY used, id LIMIT ?)",
                (count - self._limit,),
            )

    def _settle(self, database: sqlite3.Connection, dimensions: int) -> None:
        model = model_id(database, self._model)
        if _dimensions(database, self._model) == dimensions:
            return
        database.execute("DELETE FROM vectors WHERE model=? AND length(vector) != ?", (model, 4 * dimensions))
        database.execute("UPDATE models SET dimensions=? WHERE id=?", (dimensions, model))


def drop(cache_path: Path, texts: Iterable[str]) -> int:
    """Delete the vectors of texts, for every model; return how many were deleted.

    Args:
        cache_path: The path of the database; nothing happens when there is none.
        texts: The texts as they were embedded.

    Raises:
        sqlite3.Error, OSError: It cannot be written.
    """
    if not cache_path.exists():
        return 0
    store = Store(cache_path)
    hashes = [(text_hash(text),) for text in texts]

    def work(database: sqlite3.Connection) -> int:
        before = database.total_changes
        database.executemany("DELETE FROM vectors WHERE text=?", hashes)
        return database.total_changes - before

    try:
        gone = store.run_here(work)
        store.checkpoint()
        store.remove_damaged()
    finally:
        store.close_here()
    return gone


def model_id(database: sqlite3.Connection, name: str) -> int:
    """Return the number of a model, a new one when it was never seen."""
    row = database.execute("SELECT id FROM models WHERE name=?", (name,)).fetchone()
    if row is not None:
        return int(row[0])
    return int(database.execute("INSERT INTO models (name) VALUES (?)", (name,)).lastrowid or 0)


def _dimensions(database: sqlite3.Connection, name: str) -> int | None:
    row = database.execute("SELECT dimensions FROM models WHERE name=?", (name,)).fetchone()
    return None if row is None else row[0]
