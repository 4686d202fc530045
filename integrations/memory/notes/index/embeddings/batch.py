"""Large jobs through a provider's batch API: cheaper, done within a day, remembered through every restart."""

from __future__ import annotations

import asyncio
import dataclasses
import logging
import secrets
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from integrations.memory.notes.index.embeddings.batch_api import BatchApi, JobState
from integrations.memory.notes.index.embeddings.cache import Cache, text_hash
from integrations.memory.notes.index.embeddings.jobs import Job, Jobs
from integrations.memory.notes.index.embeddings.packing import pack_jobs
from integrations.memory.notes.index.embeddings.provider import PASSING, Fault, Provider, ProviderFailed
from integrations.memory.notes.index.embeddings.vectors import normalise

if TYPE_CHECKING:
    from integrations.memory.notes.index.contract import Vector

LEAST_TEXTS = 500
"""Fewer are sent at once: who wrote a page wants to find it now."""
GIVEN_UP_S = 26 * 3_600
KEEP_AT_ONCE = 256

_MAY_HAVE_BEGUN = frozenset({Fault.AWAY, Fault.SLOW, Fault.BUSY, Fault.NONSENSE})
"""After anything else the provider has said no."""
_TOLD_BY_REQUESTS = PASSING | {Fault.KEY, Fault.CREDIT}
"""What ordinary requests run into as well, or what is gone at the next job."""
_log = logging.getLogger(__name__)
_DISK = (sqlite3.Error, OSError)


@dataclass(frozen=True, slots=True)
class Collected:
    """What came of jobs that ended: texts with a vector, texts without, tokens, jobs."""

    texts: int = 0
    refused: int = 0
    tokens: int = 0
    requests: int = 0


class Batch:
    """Jobs of one provider.

    Args:
        provider: Whom.
        api: Its batch API.
        jobs: Where they are remembered.
        cache: Where results go.
    """

    def __init__(self, provider: Provider, api: BatchApi, jobs: Jobs, cache: Cache) -> None:
        self._name = provider.id.provider
        self._text_chars = provider.limits.text_chars
        self._api = api
        self._jobs = jobs
        self._cache = cache
        self._busy = asyncio.Lock()
        self.pending = 0
        self._look_at: int | None = None

    @property
    def look_again_s(self) -> float | None:
        """Seconds until the next job is due to be looked at; None when there is none."""
        return None if self._look_at is None else self._jobs.until_s(self._look_at)

    async def take(self, texts: Sequence[str]) -> list[str]:
        """Put many texts into jobs, and return those that are to be sent at once instead.

        Nothing of the provider's is raised: what no job takes is sent at once, and meets the same refusal there.
        """
        async with self._busy:
            try:
                waiting = await self._waiting()
                rest = [text for text in texts if text_hash(text) not in waiting]
                if len(rest) < LEAST_TEXTS or not await self._jobs.allowed():
                    return rest
                await self._submit_all(rest)
                waiting = await self._waiting()
            except _DISK as error:
                _log.warning("batch jobs cannot be remembered, and are not begun: %s", error)
                return list(texts)
            return [text for text in rest if text_hash(text) not in waiting]

    async def collect(self) -> Collected:
        """Look at the jobs that are due, and take in the results of those that ended."""
        total = Collected()
        async with self._busy:
            try:
                jobs = await self._jobs.due()
                for job in jobs:
                    total = _sum(total, await self._look(job))
                await self._waiting()
            except _DISK as error:
                _log.warning("batch jobs cannot be looked at: %s", error)
        return total

    async def _submit_all(self, texts: Sequence[str]) -> None:
        try:
            for hashes, requests in pack_jobs(self._requests(texts), self._api.limits):
                await self._submit(hashes, requests)
        except ProviderFailed as error:
            _log.warning("a batch job could not be begun: %s", error.text)
            if error.fault not in _TOLD_BY_REQUESTS:
                await self._not_again(f"its batch API does not work: {error.text}")

    async def _submit(self, hashes: Sequence[bytes], requests: Sequence[bytes]) -> None:
        api, nonce = self._api, secrets.token_hex(16)
        # First the note, then what it is about: what is at the provider is never forgotten.
        await self._jobs.add(nonce, hashes)
        file = None
        try:
            file = await api.upload(nonce, requests)
            if file is not None:
                await self._jobs.keep_file(nonce, file)
            id = await api.begin(nonce, file, requests)
        except ProviderFailed as error:
            if error.fault in _MAY_HAVE_BEGUN:
                await self._jobs.soon(nonce)
                raise
            await self._jobs.remove(nonce)
            await self._delete(None, _files(file))
            raise
        except _DISK:
            await self._delete(None, _files(file))
            raise
        await self._jobs.name(nonce, id)
        _log.info("%d texts wait in the batch job %s", len(hashes), id)

    async def _look(self, job: Job) -> Collected:
        try:
            if job.id is None and (job := await self._found(job)).id is None:
                file = job.input_file or await self._api.uploaded(job.nonce)
                await self._jobs.remove(job.nonce)
                await self._delete(None, _files(file))
                return Collected()
            state = await self._api.look(job.id)
            if not state.ended:
                if self._jobs.age_s(job) > GIVEN_UP_S:
                    await self._give_up(job, "it did not end within a day")
                return Collected()
            return await self._take_in(job, state)
        except ProviderFailed as error:
            _log.warning("the batch job %s cannot be looked at: %s", job.id, error.text)
            if error.fault is Fault.REFUSED or error.fault is Fault.MODEL:
                await self._give_up(dataclasses.replace(job, id=None), f"{self._name} does not know the job any more")
            elif self._jobs.age_s(job) > GIVEN_UP_S:
                await self._give_up(job, "it could not be looked at for a day")
            return Collected()

    async def _found(self, job: Job) -> Job:
        """Return a job whose beginning was not answered, with its id if it began."""
        id = await self._api.find(job.nonce)
        if id is not None:
            await self._jobs.name(job.nonce, id)
        return dataclasses.replace(job, id=id)

    async def _take_in(self, job: Job, state: JobState) -> Collected:
        """Bring the results of a job that ended into the cache, and clean up behind it."""
        got = await self._results(job, state)
        if not state.completed or not got.texts:
            await self._not_again(f"a batch job ended as {state.word}: {state.reason or 'without a reason'}")
        await self._jobs.remove(job.nonce)
        await self._delete(job.id, state.files or _files(job.input_file))
        return got

    async def _results(self, job: Job, state: JobState) -> Collected:
        """Take results into the cache, as far as their texts are still wanted."""
        wanted = await self._jobs.texts_of(job.nonce)
        total, ready = Collected(), dict[bytes, "Vector"]()
        async for result in self._api.results(state):
            if result.digest is None or result.digest not in wanted:
                continue
            wanted.discard(result.digest)
            vector = _vector(result.row)
            if vector is None:
                total = dataclasses.replace(total, refused=total.refused + 1)
                continue
            ready[result.digest] = vector
            total = Collected(total.texts + 1, total.refused, total.tokens + result.tokens, 1)
            if len(ready) >= KEEP_AT_ONCE:
                await self._cache.put_hashed(ready)
                ready = {}
        await self._cache.put_hashed(ready)
        return total

    async def _waiting(self) -> set[bytes]:
        """Return the hashes of texts that are in jobs, and bring `pending` up to date."""
        hashes, self._look_at = await self._jobs.waiting()
        self.pending = len(hashes)
        return hashes

    async def _not_again(self, reason: str) -> None:
        _log.warning("embeddings go as ordinary requests for a day: %s", reason)
        await self._jobs.forbid(reason)

    async def _give_up(self, job: Job, reason: str) -> None:
        await self._not_again(f"a batch job was given up: {reason}")
        await self._jobs.remove(job.nonce)
        if job.id is not None:
            try:
                await self._api.cancel(job.id)
            except ProviderFailed as error:
                _log.info("the batch job %s cannot be cancelled: %s", job.id, error.text)
        await self._delete(job.id, _files(job.input_file))

    async def _delete(self, id: str | None, files: Sequence[str]) -> None:
        """Delete what a job leaves at the provider: it holds somebody's memory."""
        for what in self._api.leftovers(id, files):
            try:
                await self._api.delete(what)
            except ProviderFailed as error:
                _log.warning("%s of a batch job stays at the provider: %s", what, error.text)

    def _requests(self, texts: Iterable[str]) -> Iterator[tuple[bytes, bytes]]:
        for text in texts:
            digest = text_hash(text)
            # A lone surrogate is no text and can be sent nowhere.
            yield digest, self._api.request(digest, text[: self._text_chars].encode("utf-8", "replace").decode())


def _vector(row: object) -> Vector | None:
    try:
        return normalise([row])[0]
    except ProviderFailed as error:
        _log.warning("a result of a batch job is no vector: %s", error.text)
        return None


def _files(file: str | None) -> list[str]:
    return [] if file is None else [file]


def _sum(one: Collected, other: Collected) -> Collected:
    return Collected(
        one.texts + other.texts, one.refused + other.refused, one.tokens + other.tokens, one.requests + other.requests
    )
