"""What OpenAI's and Voyage's batch APIs have in common: a file goes up, a job works on it, a file comes down."""

from __future__ import annotations

import json
import logging
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

from integrations.memory.notes.index.embeddings.batch_api import (
    LIST_PAGE,
    LIST_PAGES_LIMIT,
    UPLOAD_TIMEOUT_S,
    JobResult,
    JobState,
    digest_of,
    is_id,
)
from integrations.memory.notes.index.embeddings.client import Client
from integrations.memory.notes.index.embeddings.openai_api import rows_of, tokens_of
from integrations.memory.notes.index.embeddings.provider import Fault, ProviderFailed

_ENDED = frozenset({"completed", "failed", "expired", "cancelled"})
_NONCE = "homarus"

_log = logging.getLogger(__name__)


class FileJobs(ABC):
    """Speaks `/files` and `/batches`; see `BatchApi` for the methods.

    Args:
        client: Of the provider.
        endpoint: Gives the address of a path.
        follows: Whether the content of a file may lie elsewhere.
    """

    def __init__(self, client: Client, endpoint: Callable[[str], str], *, follows: bool) -> None:
        self.client = client
        self._endpoint = endpoint
        self._follows = follows

    @abstractmethod
    def beginning(self, file: str) -> dict[str, Any]:
        """Return what begins a job on a file, without its metadata."""

    async def upload(self, nonce: str, requests: Sequence[bytes]) -> str | None:
        """See `BatchApi.upload`."""
        import aiohttp

        form = aiohttp.FormData()
        form.add_field("purpose", "batch")
        form.add_field(
            "file",
            b"".join(b"%b\n" % each for each in requests),
            filename=_file_name(nonce),
            content_type="application/jsonl",
        )
        answer = await self.client.call("POST", self._endpoint("files"), data=form, timeout_s=UPLOAD_TIMEOUT_S)
        id = answer.get("id") if isinstance(answer, dict) else None
        if not is_id(id):
            raise self.client.failed(Fault.NONSENSE, "took a file without an id")
        return str(id)

    async def uploaded(self, nonce: str) -> str | None:
        """See `BatchApi.uploaded`."""
        async for file in self._listed("files?purpose=batch&"):
            if file.get("filename") == _file_name(nonce):
                return str(file["id"])
        return None

    async def begin(self, nonce: str, file: str | None, requests: Sequence[bytes]) -> str:
        """See `BatchApi.begin`."""
        body = {**self.beginning(str(file)), "metadata": {_NONCE: nonce}}
        answer = await self.client.post(self._endpoint("batches"), body)
        id = answer.get("id") if isinstance(answer, dict) else None
        if not is_id(id):
            raise self.client.failed(Fault.NONSENSE, "began a batch job without an id")
        return str(id)

    async def find(self, nonce: str) -> str | None:
        """See `BatchApi.find`."""
        async for job in self._listed("batches?"):
            metadata = job.get("metadata")
            if isinstance(metadata, dict) and metadata.get(_NONCE) == nonce:
                return str(job["id"])
        return None

    async def look(self, id: str) -> JobState:
        """See `BatchApi.look`."""
        state = await self.client.call("GET", self._endpoint(f"batches/{id}"))
        if not isinstance(state, dict):
            raise self.client.failed(Fault.NONSENSE, "says nothing of a batch job")
        word = str(state.get("status"))[:100]
        files = [state.get(f"{name}_file_id") for name in ("input", "output", "error")]
        return JobState(
            word,
            ended=word in _ENDED,
            completed=word == "completed",
            reason=self.client.cleaned(_why(state)),
            files=tuple(str(each) for each in files if is_id(each)),
            output=state.get("output_file_id"),
        )

    async def results(self, state: JobState) -> AsyncIterator[JobResult]:
        """See `BatchApi.results`; what was refused is in another file, which tells nothing that is needed."""
        if not is_id(state.output):
            return
        url = self._endpoint(f"files/{state.output}/content")
        async for line in self.client.lines(url, elsewhere=self._follows):
            yield self._result(line)

    async def cancel(self, id: str) -> None:
        """See `BatchApi.cancel`."""
        await self.client.call("POST", self._endpoint(f"batches/{id}/cancel"))

    async def delete(self, what: str) -> None:
        """See `BatchApi.delete`."""
        await self.client.call("DELETE", self._endpoint(what))

    def leftovers(self, id: str | None, files: Sequence[str]) -> list[str]:
        """See `BatchApi.leftovers`; the job itself holds nothing."""
        return [f"files/{each}" for each in files]

    async def _listed(self, path: str) -> AsyncIterator[dict[str, Any]]:
        """Give what is listed at a path, as far as it has an id."""
        after = ""
        for _ in range(LIST_PAGES_LIMIT):
            listed = await self.client.call("GET", self._endpoint(f"{path}limit={LIST_PAGE}{after}"))
            entries = listed.get("data") if isinstance(listed, dict) else None
            whole = entries if isinstance(entries, list) else []
            known = [each for each in whole if isinstance(each, dict) and is_id(each.get("id"))]
            for each in known:
                yield each
            if not known or not listed.get("has_more"):
                return
            after = f"&after={known[-1]['id']}"
        raise self.client.failed(Fault.NONSENSE, "lists more than is looked through for a batch job")

    def _result(self, line: bytes) -> JobResult:
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError):
            return JobResult(None)
        digest = digest_of(entry.get("custom_id")) if isinstance(entry, dict) else None
        if digest is None:
            return JobResult(None)
        response = entry.get("response")
        body = response.get("body") if isinstance(response, dict) and response.get("status_code") == 200 else None
        if not isinstance(body, dict):
            return JobResult(digest)
        try:
            row = rows_of(self.client, body, 1)[0]
        except ProviderFailed as error:
            _log.warning("a result of a batch job is no vector: %s", error.text)
            return JobResult(digest)
        return JobResult(digest, row, tokens_of(body, "prompt_tokens") or 0)


def _file_name(nonce: str) -> str:
    return f"{_NONCE}-{nonce}.jsonl"


def _why(state: dict[str, Any]) -> str:
    errors = state.get("errors")
    entries = errors.get("data") if isinstance(errors, dict) else None
    first = entries[0] if isinstance(entries, list) and entries else None
    return str(first.get("message")) if isinstance(first, dict) else ""
