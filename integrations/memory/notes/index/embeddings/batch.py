"""Large jobs through OpenAI's batch API: half the price, done within a day, remembered through every restart."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import logging
import secrets
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from integrations.memory.notes.index.embeddings.cache import Cache, text_hash
from integrations.memory.notes.index.embeddings.jobs import Job, Jobs
from integrations.memory.notes.index.embeddings.openai_api import OpenAI, rows_of, tokens_of
from integrations.memory.notes.index.embeddings.provider import OURS, PASSING, Fault, ProviderFailed
from integrations.memory.notes.index.embeddings.vectors import normalise

if TYPE_CHECKING:
    from integrations.memory.notes.index.contract import Vector

LEAST_TEXTS = 500
"""Fewer are sent at once: who wrote a page wants to find it now."""
JOB_TEXTS = 5_000
GIVEN_UP_S = 26 * 3_600
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


class Batch:
    """Jobs of one provider.

    Args:
        provider: Whom.
        jobs: Where they are remembered.
        cache: Where results go.
    """

    def __init__(self, provider: OpenAI, jobs: Jobs, cache: Cache) -> None:
        self._provider = provider
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
        """Put many texts into a job, and return those that are to be sent at once instead.

        Raises:
            ProviderFailed: The key is refused, or there is no credit.
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
            for start in range(0, len(texts), JOB_TEXTS):
                await self._submit(texts[start : start + JOB_TEXTS])
        except ProviderFailed as error:
            if error.fault in OURS:
                raise
            _log.warning("a batch job could not be begun: %s", error.text)
            if error.fault not in PASSING:
                await self._not_again(f"its batch API does not work: {error.text}")

    async def _look(self, job: Job) -> Collected:
        client = self._provider.client
        try:
            state = await self._state_of(job)
            if state is None:
                await self._jobs.remove(job.nonce)
                await self._delete(job.input_file)
                return Collected()
            if state.get("status") not in _ENDED:
                if self._jobs.age_s(job) > GIVEN_UP_S:
                    await self._give_up(job, "it did not end within a day")
                return Collected()
            got = await self._results(job, state.get("output_file_id"))
            if state["status"] != "completed" or not got.texts:
                await self._not_again(f"a batch job ended as {state['status']}: {_why(state)}")
            await self._jobs.remove(job.nonce)
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
            elif self._jobs.age_s(job) > GIVEN_UP_S:
                await self._give_up(job, "it could not be looked at for a day")
            return Collected()

    async def _state_of(self, job: Job) -> dict[str, Any] | None:
        """Return what the provider says of a job; None when it never began."""
        client = self._provider.client
        id = job.id or await self._adopted(job)
        if id is None:
            return None
        state = await client.call("GET", self._provider.endpoint(f"batches/{id}"))
        return state if isinstance(state, dict) else {}

    async def _adopted(self, job: Job) -> str | None:
        """Return the id of a job that was begun without an answer; None when it was not begun."""
        listed = await self._provider.client.call("GET", self._provider.endpoint("batches"))
        entries = listed.get("data") if isinstance(listed, dict) else None
        for entry in entries if isinstance(entries, list) else []:
            metadata = entry.get("metadata") if isinstance(entry, dict) else None
            if isinstance(metadata, dict) and metadata.get("homarus") == job.nonce and _is_id(entry.get("id")):
                await self._jobs.name(job.nonce, entry["id"])
                return str(entry["id"])
        return None

    async def _submit(self, texts: Sequence[str]) -> None:
        provider, client = self._provider, self._provider.client
        nonce = secrets.token_hex(16)
        hashes = [text_hash(text) for text in texts]
        file = await self._upload(_lines(provider, zip(hashes, texts, strict=True)))
        # First the note, then the job: what is begun is never forgotten.
        try:
            await self._jobs.add(nonce, file, hashes)
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
                await self._jobs.remove(nonce)
                await self._delete(file)
            raise
        id = state.get("id") if isinstance(state, dict) else None
        if not _is_id(id):
            await self._jobs.remove(nonce)
            raise client.failed(Fault.NONSENSE, "began a batch job without an id")
        await self._jobs.name(nonce, str(id))
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

    async def _results(self, job: Job, file: Any) -> Collected:
        """Take the lines of a file of results into the cache, as far as their texts are still wanted."""
        if not _is_id(file):
            return Collected()
        wanted = await self._jobs.texts_of(job.nonce)
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
                await self._provider.client.call("POST", self._provider.endpoint(f"batches/{job.id}/cancel"))
            except ProviderFailed as error:
                _log.info("the batch job %s cannot be cancelled: %s", job.id, error.text)
        await self._delete(job.input_file)

    async def _delete(self, file: Any) -> None:
        """Delete a file at the provider: what it holds is somebody's memory."""
        if not _is_id(file):
            return
        try:
            await self._provider.client.call("DELETE", self._provider.endpoint(f"files/{file}"))
        except ProviderFailed as error:
            _log.warning("the file %s of a batch job stays at the provider: %s", file, error.text)


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
