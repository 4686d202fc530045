"""Gemini's batch API, half the price within a day: ai.google.dev/api/batch-api and ai.google.dev/api/embeddings.

A job is a long-running operation that carries its requests (20 MB at most: ai.google.dev/gemini-api/docs/batch-api)
and, once it is done, its results: both in `metadata.output` and in `response`, so that an answer is twice as long as it
has to be. `displayName` is all by which a job can be found again; each request's `metadata` comes back with its result.
The states are those of `BatchState`; an expired job has no results. Deleting a job does not cancel it, and takes its
requests and results with it. Names of fields as googleapis/python-genai (google/genai/batches.py) sends and reads them.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any
from urllib.parse import quote

import orjson

from integrations.memory.notes.index.embeddings.batch_api import (
    LIST_PAGE,
    LIST_PAGES_LIMIT,
    UPLOAD_TIMEOUT_S,
    JobLimits,
    JobResult,
    JobState,
    digest_of,
    is_id,
)
from integrations.memory.notes.index.embeddings.gemini import Gemini, usage_of
from integrations.memory.notes.index.embeddings.provider import Fault, Role

_NUMBERS_LIMIT = 400_000
"""In the results of one job: 25 MB, since a number takes about 62 bytes, sent twice and indented, all read at once."""
_SIZE_LIMIT_BYTES = 15_000_000
_ENDED = ("SUCCEEDED", "FAILED", "CANCELLED", "EXPIRED")


class GeminiJobs:
    """Speaks Gemini's batch API; see `BatchApi` for the methods."""

    def __init__(self, provider: Gemini) -> None:
        texts = _NUMBERS_LIMIT // max(1, provider.length or 1)
        self.limits = JobLimits(texts=texts, size_bytes=_SIZE_LIMIT_BYTES)
        self._provider = provider
        self._client = provider.client

    def request(self, digest: bytes, text: str) -> bytes:
        """See `BatchApi.request`."""
        request = self._provider.request(text, Role.DOCUMENT)
        return orjson.dumps({"request": request, "metadata": {"key": digest.hex()}})

    async def upload(self, nonce: str, requests: Sequence[bytes]) -> str | None:
        """See `BatchApi.upload`."""
        return None

    async def uploaded(self, nonce: str) -> str | None:
        """See `BatchApi.uploaded`."""
        return None

    async def begin(self, nonce: str, file: str | None, requests: Sequence[bytes]) -> str:
        """See `BatchApi.begin`."""
        model = quote(self._provider.id.model, safe="")
        name = orjson.dumps(_name(nonce))
        body = b'{"batch":{"displayName":%b,"inputConfig":{"requests":{"requests":[%b]}}}}' % (
            name,
            b",".join(requests),
        )
        answer = await self._client.call(
            "POST",
            self._client.where.endpoint(f"models/{model}:asyncBatchEmbedContent"),
            data=body,
            headers={"Content-Type": "application/json"},
            timeout_s=UPLOAD_TIMEOUT_S,
        )
        id = _id_of(answer)
        if id is None:
            raise self._client.failed(Fault.NONSENSE, "began a batch job without a name")
        return id

    async def find(self, nonce: str) -> str | None:
        """See `BatchApi.find`."""
        page = ""
        for _ in range(LIST_PAGES_LIMIT):
            listed = await self._client.call(
                "GET", self._client.where.endpoint(f"batches?pageSize={LIST_PAGE}{page}"), grows=True
            )
            entries = listed.get("operations") if isinstance(listed, dict) else None
            for job in entries if isinstance(entries, list) else []:
                id = _id_of(job)
                if id is not None and _dict(job.get("metadata")).get("displayName") == _name(nonce):
                    return id
            token = listed.get("nextPageToken") if isinstance(listed, dict) else None
            if not isinstance(token, str) or not token:
                return None
            page = f"&pageToken={quote(token, safe='')}"
        raise self._client.failed(Fault.NONSENSE, "lists more than is looked through for a batch job")

    async def look(self, id: str) -> JobState:
        """See `BatchApi.look`."""
        job = await self._client.call("GET", self._client.where.endpoint(f"batches/{id}"), grows=True)
        if not isinstance(job, dict):
            raise self._client.failed(Fault.NONSENSE, "says nothing of a batch job")
        batch = _dict(job.get("metadata"))
        word = str(batch.get("state"))[:100]
        error = _dict(job.get("error"))
        return JobState(
            word,
            ended=word.endswith(_ENDED) or bool(error),
            completed=word.endswith("SUCCEEDED"),
            reason=self._client.cleaned(str(error.get("message") or "")),
            output=_responses(batch.get("output")) or _responses(job.get("response")),
        )

    async def results(self, state: JobState) -> AsyncIterator[JobResult]:
        """See `BatchApi.results`."""
        for entry in state.output or []:
            yield _result(_dict(entry))

    async def cancel(self, id: str) -> None:
        """See `BatchApi.cancel`."""
        await self._client.post(self._client.where.endpoint(f"batches/{id}:cancel"), {})

    async def delete(self, what: str) -> None:
        """See `BatchApi.delete`."""
        await self._client.call("DELETE", self._client.where.endpoint(what))

    def leftovers(self, id: str | None, files: Sequence[str]) -> list[str]:
        """See `BatchApi.leftovers`; it is the job that holds requests and results."""
        return [] if id is None else [f"batches/{id}"]


def _result(entry: dict[str, Any]) -> JobResult:
    digest = digest_of(_dict(entry.get("metadata")).get("key"))
    if digest is None:
        return JobResult(None)
    response = _dict(entry.get("response"))
    row = _dict(response.get("embedding")).get("values")
    return JobResult(digest, row, usage_of(response) or 0)


def _responses(output: Any) -> list[Any]:
    entries = _dict(_dict(output).get("inlinedResponses")).get("inlinedResponses")
    return entries if isinstance(entries, list) else []


def _id_of(job: Any) -> str | None:
    name = _dict(job).get("name")
    id = name.removeprefix("batches/") if isinstance(name, str) else None
    return id if is_id(id) else None


def _name(nonce: str) -> str:
    return f"homarus-{nonce}"


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
