"""Voyage's batch API, a third off within 12 hours: docs.voyageai.com/docs/batch-inference and …/reference/create-batch.

Like OpenAI's, but that model and parameters are the job's (`request_params`), and a line of the input has only
`custom_id` and `body.input`. At most 100,000 inputs a job; what is not done in time is in the error file of a job that
is `completed` all the same. Not said are how large a file may be, and whether vectors can come in base64: they come as
numbers. The reference fetches a file's content with `curl -L`, so that it may lie elsewhere. Files stay for 30 days
unless they are deleted (docs.voyageai.com/docs/pricing).
"""

from __future__ import annotations

from typing import Any

import orjson

from integrations.memory.notes.index.embeddings.batch_api import JobLimits
from integrations.memory.notes.index.embeddings.batch_files import FileJobs
from integrations.memory.notes.index.embeddings.provider import Role
from integrations.memory.notes.index.embeddings.voyage import Voyage


class VoyageJobs(FileJobs):
    """Speaks Voyage's batch API."""

    limits = JobLimits(texts=5_000, size_bytes=100_000_000)

    def __init__(self, provider: Voyage) -> None:
        super().__init__(provider.client, provider.client.where.endpoint, follows=True)
        self._parameters = provider.parameters(Role.DOCUMENT)

    def request(self, digest: bytes, text: str) -> bytes:
        """See `BatchApi.request`."""
        return orjson.dumps({"custom_id": digest.hex(), "body": {"input": [text]}})

    def beginning(self, file: str) -> dict[str, Any]:
        """See `FileJobs.beginning`."""
        return {
            "input_file_id": file,
            "endpoint": "/v1/embeddings",
            "completion_window": "12h",
            "request_params": self._parameters,
        }
