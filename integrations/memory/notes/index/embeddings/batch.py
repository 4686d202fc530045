"""Large jobs through OpenAI's batch API: half the price, done within a day, remembered through every restart."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import logging
import secrets
import sqlite3
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from integrations.memory.notes.index.embeddings.cache import Cache, model_id, text_hash
from integrations.memory.notes.index.embeddings.openai_api import OpenAI, rows_of, tokens_of
from integrations.memory.notes.index.embeddings.provider import OURS, PASSING, Fault, ProviderFailed
from integrations.memory.notes.index.embeddings.store import Store
from integrations.memory.notes.index.embeddings.vectors import normalise

if TYPE_CHECKING:
    from integrations.memory.notes.index.contract import Vector

LEAST_TEXTS = 500
"""Fewer are sent at once: who wrote a page wants to find it now."""
JOB_TEXTS = 5_000
LOOK_FIRST_S = 15
LOOK_MOST_S = 600
GIVEN_UP_S = 26 * 3_600
NOT_AGAIN_S = 24 * 3_600
KEEP_AT_ONCE = 256
UPLOAD_TIMEOUT_S = 600.0

_ENDED = frozenset({"completed", "failed", "expired", "cancelled"})
_log = logging.getLogger(__name__)
_DISK = (sqlite3.Error, OSError)


@dataclass(frozen=True, slots=True)
class Collected:
    """What came of jobs that ended: texts with a vector, texts without, tokens, jobs."""

    texts: int = 0
    refused: int = 0
    tokens: int = 0
    requests: int = 0


@dataclass(frozen=True, slots=True)
class _Job:
    nonce: str
    id: str | None
    input_file: str | None
    created: int
    looks: int


class Batch:
    """Jobs of one provider.

    Args:
        provider: Whom.
        store: Where jobs are remembered.
        cache: Where results go.
        model: As `cache` calls it.
        clock: Seconds since the epoch.
    """

    def __init__(
        self, provider: OpenAI, store: Store, cache: Cache, model: str, clock: Callable[[], float] = time.time
    ) -> None:
        self._provider = provider
        self._store = store
        self._cache = cache
        self._model = model
        self._clock = clock
        self._busy = asyncio.Lock()
        self.pending = 0
        self._look_at: int | None = None

    @property
    def look_again_s(self) -> float | None:
        """Seconds until the next job is due to be looked at; None when there is none."""
        return None if self._look_at is None else max(0.0, self._look_at - self._clock())

    async def take(self, texts: Sequence[str]) -> list[str]:
        """Put many texts into a job, and return those that are to be sent at once instead.

        Raises:
            ProviderFailed: The key is refused, or there is no credit.
        """
        async with self._busy:
            waiting = await self._waiting()
            rest = [text for text in texts if text_hash(text) not in waiting]
            if len(rest) < LEAST_TEXTS or not await self._may():
                return rest
            try:
                for start in range(0, len(rest), JOB_TEXTS):
                    await self._submit(rest[start : start + JOB_TEXTS])
            except ProviderFailed as error:
                if error.fault in OURS:
                    raise
                _log.warning("a batch job could not be begun: %s", error.text)
                if error.fault not in PASSING:
                    await self._not_again(f"its batch API does not work: {error.text}")
            except _DISK as error:
                _log.warning("a batch job cannot be remembered and is not begun: %s", error)
            waiting = await self._waiting()
            return [text for text in rest if text_hash(text) not in waiting]

    async def collect(self) -> Collected:
        """Look at the jobs that are due, and take in the results of those that ended."""
        total = Collected()
        async with self._busy:
            try:
                jobs = await self._store.run(self._due)
                for job in jobs:
                    total = _sum(total, await self._look(job))
                await self._waiting()
            except _DISK as error:
                _log.warning("batch jobs cannot be looked at: %s", error)
        return total

    async def _look(self, job: _Job) -> Collected:
        client = self._provider.client
        try:
            state = await self._state_of(job)
            if state is None:
                await self._forget(job)
                await self._delete(job.input_file)
                return Collected()
            if state.get("status") not in _ENDED:
                if self._clock() - job.created > GIVEN_UP_S:
                    await self._give_up(job, "it did not end within a day")
                return Collected()
            got = await self._results(job, state.get("output_file_id"))
            if state["status"] != "completed":
                await self._not_again(f"a batch job {state['status']}: {_why(state)}")
            await self._forget(job)
            for file in (
                state.get("input_file_id") or job.input_file,
                state.get("output_file_id"),
                state.get("error_file_id"),
            ):
                await self._delete(file)
            return got
        except ProviderFailed as error:
            _log.warning("the batch job %s cannot be looked at: %s", job.id, error.text)
            if error.fault is Fault.REFUSED or error.fault is Fault.MODEL:
                await self._give_up(job, f"{client.name} does not know the job any more")
            elif self._clock() - job.created > GIVEN_UP_S:
                await self._give_up(job, "it could not be looked at for a day")
            return Collected()

    async def _state_of(self, job: _Job) -> dict[str, Any] | None:
        """Return what the provider says of a job; None when it never began."""
        client = self._provider.client
        id = job.id or await self._adopted(job)
        if id is None:
            return None
        state = await client.call("GET", self._provider.endpoint(f"batches/{id}"))
        return state if isinstance(state, dict) else {}

    async def _adopted(self, job: _Job) -> str | None:
        """Return the id of a job that was begun without an answer; None when it was not begun."""
        listed = await self._provider.client.call("GET", self._provider.endpoint("batches"))
        entries = listed.get("data") if isinstance(listed, dict) else None
        for entry in entries if isinstance(entries, list) else []:
            metadata = entry.get("metadata") if isinstance(entry, dict) else None
            if isinstance(metadata, dict) and metadata.get("homarus") == job.nonce and _is_id(entry.get("id")):
                await self._name(job.nonce, entry["id"])
                return str(entry["id"])
        return None

    async def _name(self, nonce: str, id: str) -> None:
        await self._store.run(lambda database: database.execute("UPDATE jobs SET id=? WHERE nonce=?", (id, nonce)))

    async def _submit(self, texts: Sequence[str]) -> None:
        provider, client = self._provider, self._provider.client
        nonce = secrets.token_hex(16)
        hashes = [text_hash(text) for text in texts]
        file = await self._upload(_lines(provider, zip(hashes, texts, strict=True)))
        # First the note, then the job: what is begun is never forgotten.
        try:
            await self._store.run(lambda database: self._note(database, nonce, file, hashes))
        except _DISK:
            await self._delete(file)
            raise
        body = {
            "input_file_id": file,
            "endpoint": "/v1/embeddings",
            "completion_window": "24h",
            "metadata": {"homarus": nonce},
        }
        try:
            state = await client.post(provider.endpoint("batches"), body)
        except ProviderFailed as error:
            if error.fault not in {Fault.AWAY, Fault.SLOW}:
                # It said no; otherwise it may have begun, and the next look finds out.
                await self._store.run(lambda database: _remove(database, nonce))
                await self._delete(file)
            raise
        id = state.get("id") if isinstance(state, dict) else None
        if not _is_id(id):
            await self._store.run(lambda database: _remove(database, nonce))
            raise client.failed(Fault.NONSENSE, "began a batch job without an id")
        await self._name(nonce, str(id))
        _log.info("%d texts wait in the batch job %s", len(texts), id)

    async def _upload(self, data: bytes) -> str:
        import aiohttp

        form = aiohttp.FormData()
        form.add_field("purpose", "batch")
        form.add_field("file", data, filename="embeddings.jsonl", content_type="application/jsonl")
        answer = await self._provider.client.call(
            "POST", self._provider.endpoint("files"), data=form, timeout_s=UPLOAD_TIMEOUT_S
        )
        id = answer.get("id") if isinstance(answer, dict) else None
        if not _is_id(id):
            raise self._provider.client.failed(Fault.NONSENSE, "took a file without an id")
        return str(id)

    async def _results(self, job: _Job, file: Any) -> Collected:
        """Take the lines of a file of results into the cache, as far as their texts are still wanted."""
        if not _is_id(file):
            return Collected()
        wanted = await self._store.run(
            lambda database: {
                row[0] for row in database.execute("SELECT text FROM job_texts WHERE job=?", (job.nonce,))
            }
        )
        total, ready = Collected(), dict[bytes, "Vector"]()
        async for line in self._provider.client.lines(self._provider.endpoint(f"files/{file}/content")):
            digest, vector, tokens = self._result(line)
            if digest is None or digest not in wanted:
                continue
            wanted.discard(digest)
            if vector is None:
                total = dataclasses.replace(total, refused=total.refused + 1)
                continue
            ready[digest] = vector
            total = dataclasses.replace(total, texts=total.texts + 1, tokens=total.tokens + tokens, requests=1)
            if len(ready) >= KEEP_AT_ONCE:
                await self._cache.put_hashed(ready)
                ready = {}
        await self._cache.put_hashed(ready)
        return total

    def _result(self, line: bytes) -> tuple[bytes | None, Vector | None, int]:
        """Return hash, vector and tokens of a line of results; no hash when it is not one of ours."""
        try:
            entry = json.loads(line)
            digest = bytes.fromhex(entry["custom_id"])
        except (ValueError, TypeError, KeyError, RecursionError):
            return None, None, 0
        response = entry.get("response")
        body = response.get("body") if isinstance(response, dict) and response.get("status_code") == 200 else None
        if not isinstance(body, dict):
            return digest, None, 0
        try:
            vector = normalise(rows_of(self._provider.client, body, 1))[0]
        except ProviderFailed as error:
            _log.warning("a result of a batch job is no vector: %s", error.text)
            return digest, None, 0
        return digest, vector, tokens_of(body, "prompt_tokens") or 0

    async def _waiting(self) -> set[bytes]:
        """Return the hashes of texts that are in jobs, and bring `pending` up to date."""
        try:
            hashes, self._look_at = await self._store.run(self._read_waiting)
        except _DISK as error:
            _log.warning("batch jobs cannot be read: %s", error)
            return set()
        self.pending = len(hashes)
        return hashes

    async def _may(self) -> bool:
        endpoint = self._provider.id.endpoint
        try:
            rows = await self._store.run(
                lambda database: database.execute("SELECT until FROM no_jobs WHERE endpoint=?", (endpoint,)).fetchall()
            )
        except _DISK as error:
            _log.warning("batch jobs cannot be read: %s", error)
            return False
        return not rows or rows[0][0] <= self._clock()

    async def _not_again(self, reason: str) -> None:
        _log.warning("embeddings go as ordinary requests for a day: %s", reason)
        row = (self._provider.id.endpoint, int(self._clock()) + NOT_AGAIN_S, reason)
        try:
            await self._store.run(
                lambda database: database.execute("INSERT OR REPLACE INTO no_jobs VALUES (?, ?, ?)", row)
            )
        except _DISK as error:
            _log.warning("a batch job's failure cannot be noted: %s", error)

    async def _give_up(self, job: _Job, reason: str) -> None:
        await self._not_again(f"a batch job was given up: {reason}")
        await self._forget(job)
        if job.id is not None:
            try:
                await self._provider.client.call("POST", self._provider.endpoint(f"batches/{job.id}/cancel"))
            except ProviderFailed as error:
                _log.info("the batch job %s cannot be cancelled: %s", job.id, error.text)
        await self._delete(job.input_file)

    async def _forget(self, job: _Job) -> None:
        await self._store.run(lambda database: _remove(database, job.nonce))

    async def _delete(self, file: Any) -> None:
        """Delete a file at the provider: what it holds is somebody's memory."""
        if not _is_id(file):
            return
        try:
            await self._provider.client.call("DELETE", self._provider.endpoint(f"files/{file}"))
        except ProviderFailed as error:
            _log.warning("the file %s of a batch job stays at the provider: %s", file, error.text)

    def _note(self, database: sqlite3.Connection, nonce: str, file: str, hashes: Sequence[bytes]) -> None:
        now = int(self._clock())
        database.execute(
            "INSERT INTO jobs (nonce, id, model, endpoint, input_file, created, look_at, looks) "
            "VALUES (?, NULL, ?, ?, ?, ?, ?, 0)",
            (nonce, model_id(database, self._model), self._provider.id.endpoint, file, now, now + LOOK_FIRST_S),
        )
        database.executemany("INSERT INTO job_texts VALUES (?, ?)", [(nonce, digest) for digest in hashes])

    def _due(self, database: sqlite3.Connection) -> list[_Job]:
        """Return the jobs to look at now, and set when each is looked at next."""
        now = int(self._clock())
        rows = database.execute(
            "SELECT nonce, id, input_file, created, looks FROM jobs WHERE model=? AND look_at<=? ORDER BY created",
            (model_id(database, self._model), now),
        ).fetchall()
        for nonce, _, _, _, looks in rows:
            pause = min(LOOK_MOST_S, LOOK_FIRST_S * 2 ** min(looks + 1, 10))
            database.execute("UPDATE jobs SET look_at=?, looks=looks+1 WHERE nonce=?", (now + pause, nonce))
        return [_Job(*row) for row in rows]

    def _read_waiting(self, database: sqlite3.Connection) -> tuple[set[bytes], int | None]:
        model = model_id(database, self._model)
        hashes = {
            row[0]
            for row in database.execute(
                "SELECT text FROM job_texts JOIN jobs ON job_texts.job = jobs.nonce WHERE jobs.model=?", (model,)
            )
        }
        return hashes, database.execute("SELECT min(look_at) FROM jobs WHERE model=?", (model,)).fetchone()[0]


def _lines(provider: OpenAI, texts: Iterable[tuple[bytes, str]]) -> bytes:
    limit = provider.limits.text_chars
    lines = (
        {
            "custom_id": digest.hex(),
            "method": "POST",
            "url": "/v1/embeddings",
            "body": provider.request_body([text[:limit].encode("utf-8", "replace").decode()]),
        }
        for digest, text in texts
    )
    return "".join(f"{json.dumps(line)}\n" for line in lines).encode()


def _remove(database: sqlite3.Connection, nonce: str) -> None:
    database.execute("DELETE FROM job_texts WHERE job=?", (nonce,))
    database.execute("DELETE FROM jobs WHERE nonce=?", (nonce,))


def _sum(one: Collected, other: Collected) -> Collected:
    return Collected(
        one.texts + other.texts, one.refused + other.refused, one.tokens + other.tokens, one.requests + other.requests
    )


def _why(state: dict[str, Any]) -> str:
    errors = state.get("errors")
    entries = errors.get("data") if isinstance(errors, dict) else None
    first = entries[0] if isinstance(entries, list) and entries else None
    return str(first.get("message"))[:300] if isinstance(first, dict) else "without a reason"


def _is_id(value: Any) -> bool:
    """Whether it can stand in an address."""
    return isinstance(value, str) and 0 < len(value) <= 128 and all(each.isalnum() or each in "-_." for each in value)
