"""OpenAI's batch API, half the price within a day: platform.openai.com/docs/api-reference/batch and …/files.

Its input file has at most 50,000 requests and 200 MB; `custom_id` finds a result, whose order is not that of the
requests. Files stay until they are deleted; one is found by its `filename`, a job by its `metadata`.
"""

from __future__ import annotations

from typing import Any

import orjson

from integrations.memory.notes.index.embeddings.batch_api import JobLimits
from integrations.memory.notes.index.embeddings.batch_files import FileJobs
from integrations.memory.notes.index.embeddings.openai_api import OpenAI


class OpenAIJobs(FileJobs):
    """Speaks OpenAI's batch API, or that of a server that imitates it."""

    limits = JobLimits(texts=5_000, size_bytes=100_000_000)

    def __init__(self, provider: OpenAI) -> None:
        super().__init__(provider.client, provider.endpoint, follows=False)
        self._provider = provider

    def request(self, digest: bytes, text: str) -> bytes:
        """See `BatchApi.request`."""
        body = self._provider.request_body([text])
        return orjson.dumps({"custom_id": digest.hex(), "method": "POST", "url": "/v1/embeddings", "body": body})

    def beginning(self, file: str) -> dict[str, Any]:
        """See `FileJobs.beginning`."""
        return {"input_file_id": file, "endpoint": "/v1/embeddings", "completion_window": "24h"}
