"""Batch jobs as they are remembered: which texts wait in which, when each is looked at next."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from integrations.memory.notes.index.embeddings.cache import model_id
from integrations.memory.notes.index.embeddings.store import Store

LOOK_FIRST_S = 60
LOOK_UNNAMED_S = 1_800
"""Whoever begins a job may be at it as long as this: another must not take it for one that never began."""
LOOK_MOST_S = 900
NOT_AGAIN_S = 24 * 3_600


@dataclass(frozen=True, slots=True)
class Job:
    """A job.

    Attributes:
        nonce: By which it is found at the provider when its id is not known.
        id: The provider's; None when its beginning was not answered.
        input_file: The file that was uploaded for it; None where there is none, or it is not known.
        created: Seconds since the epoch.
    """

    nonce: str
    id: str | None
    input_file: str | None
    created: int


class Jobs:
    """The jobs of one model; all methods raise `sqlite3.Error` or `OSError` when the disk fails.

    Args:
        store: Where.
        model: As the cache calls it.
        endpoint: Whose.
        clock: Seconds since the epoch.
    """

    def __init__(self, store: Store, model: str, endpoint: str, clock: Callable[[], float] = time.time) -> None:
        self._store = store
        self._model = model
        self._endpoint = endpoint
        self._clock = clock

    def age_s(self, job: Job) -> float:
        """Return how old a job is."""
        return self._clock() - job.created

    def until_s(self, moment: int) -> float:
        """Return seconds until a moment, 0 when it has come."""
        return max(0.0, moment - self._clock())

    async def add(self, nonce: str, hashes: Sequence[bytes]) -> None:
        """Remember a job that is about to begin."""
        now = int(self._clock())

        def work(database: sqlite3.Connection) -> None:
            database.execute(
                "INSERT INTO jobs (nonce, id, model, endpoint, input_file, created, look_at, looks) "
                "VALUES (?, NULL, ?, ?, NULL, ?, ?, 0)",
                (nonce, model_id(database, self._model), self._endpoint, now, now + LOOK_UNNAMED_S),
            )
            database.executemany("INSERT INTO job_texts VALUES (?, ?)", [(nonce, digest) for digest in hashes])

        await self._store.run(work)

    async def keep_file(self, nonce: str, file: str) -> None:
        """Remember what was uploaded for a job."""
        await self._change("input_file=?", file, nonce)

    async def name(self, nonce: str, id: str) -> None:
        """Remember the provider's id of a job."""
        await self._change("id=?", id, nonce)
        await self.soon(nonce)

    async def soon(self, nonce: str) -> None:
        """Look at a job as soon as at one that has just begun."""
        await self._change("look_at=?", int(self._clock()) + LOOK_FIRST_S, nonce)

    async def remove(self, nonce: str) -> None:
        """Forget a job; its texts do not wait any more."""

        def work(database: sqlite3.Connection) -> None:
            database.execute("DELETE FROM job_texts WHERE job=?", (nonce,))
            database.execute("DELETE FROM jobs WHERE nonce=?", (nonce,))

        await self._store.run(work)

    async def due(self) -> list[Job]:
        """Return the jobs to look at now, each of which is then due again later and later."""
        return await self._store.run(self._due)

    async def waiting(self) -> tuple[set[bytes], int | None]:
        """Return the hashes of all texts that wait, and when the next job is due."""
        return await self._store.run(self._waiting)

    async def texts_of(self, nonce: str) -> set[bytes]:
        """Return the hashes of a job's texts, as far as they are still wanted."""
        return await self._store.run(
            lambda database: {row[0] for row in database.execute("SELECT text FROM job_texts WHERE job=?", (nonce,))}
        )

    async def allowed(self) -> bool:
        """Whether jobs may begin: none failed within a day."""
        rows = await self._store.run(
            lambda database: database.execute(
                "SELECT until FROM no_jobs WHERE endpoint=?", (self._endpoint,)
            ).fetchall()
        )
        return not rows or rows[0][0] <= self._clock()

    async def forbid(self, reason: str) -> None:
        """Begin no job for a day."""
        row = (self._endpoint, int(self._clock()) + NOT_AGAIN_S, reason)
        await self._store.run(lambda database: database.execute("INSERT OR REPLACE INTO no_jobs VALUES (?, ?, ?)", row))

    async def _change(self, what: str, value: str | int, nonce: str) -> None:
        change = f"UPDATE jobs SET {what} WHERE nonce=?"  # noqa: S608  only our own words
        await self._store.run(lambda database: database.execute(change, (value, nonce)))

    def _due(self, database: sqlite3.Connection) -> list[Job]:
        now = int(self._clock())
        rows = database.execute(
            "SELECT nonce, id, input_file, created, looks FROM jobs WHERE model=? AND look_at<=? ORDER BY created",
            (model_id(database, self._model), now),
        ).fetchall()
        for nonce, _, _, _, looks in rows:
            pause = min(LOOK_MOST_S, LOOK_FIRST_S * 2 ** min(looks, 10))
            database.execute("UPDATE jobs SET look_at=?, looks=looks+1 WHERE nonce=?", (now + pause, nonce))
        return [Job(*row[:4]) for row in rows]

    def _waiting(self, database: sqlite3.Connection) -> tuple[set[bytes], int | None]:
        model = model_id(database, self._model)
        hashes = {
            row[0]
            for row in database.execute(
                "SELECT text FROM job_texts JOIN jobs ON job_texts.job = jobs.nonce WHERE jobs.model=?", (model,)
            )
        }
        return hashes, database.execute("SELECT min(look_at) FROM jobs WHERE model=?", (model,)).fetchone()[0]
