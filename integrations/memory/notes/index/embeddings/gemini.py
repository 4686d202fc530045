"""Gemini's API for embeddings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from hub.core.secret import Secret
from integrations.memory.notes.index.contract import EmbedderId
from integrations.memory.notes.index.embeddings.address import Endpoint
from integrations.memory.notes.index.embeddings.client import Client
from integrations.memory.notes.index.embeddings.provider import EmbeddingBatch, EmbeddingRole, Fault, Limits

GEMINI_URL = "https://generativelanguage.googleapis.com/v1beta"
DEFAULT_MODEL = "gemini-embedding-001"
DEFAULT_DIMENSIONS = 768
"""Of 3,072 that it can: as good to a point or two, at a quarter of the room and time."""

_LIMITS = Limits(texts=100, tokens=60_000, text_chars=8_000)
_TASKS = {EmbeddingRole.DOCUMENT: "RETRIEVAL_DOCUMENT", EmbeddingRole.QUERY: "RETRIEVAL_QUERY"}
# Since its second generation the task is said in words before the text.
_WORDS = {EmbeddingRole.DOCUMENT: "title: none | text: ", EmbeddingRole.QUERY: "task: search result | query: "}


class Gemini:
    """Speaks `batchEmbedContents`; see `OpenAI` for the arguments."""

    def __init__(self, where: Endpoint, model: str, key: Secret, dimensions: int | None, timeout_s: float) -> None:
        model = model.removeprefix("models/")
        self.limits = _LIMITS
        self.priced = where.host == "generativelanguage.googleapis.com"
        self.length: int | None = dimensions or DEFAULT_DIMENSIONS
        self.id = EmbedderId("gemini", model, where.shown, self.length)
        self.client = Client("Gemini", model, where, {"x-goog-api-key": key.reveal()}, (key,), timeout_s=timeout_s)
        self._in_words = model.startswith("gemini-embedding-2")

    async def embed(self, texts: Sequence[str], role: EmbeddingRole) -> EmbeddingBatch:
        """See `Provider.embed`."""
        url = self.client.where.endpoint(f"models/{quote(self.id.model, safe='')}:batchEmbedContents")
        answer = await self.client.post(url, {"requests": [self.request(text, role) for text in texts]})
        entries = answer.get("embeddings") if isinstance(answer, dict) else None
        if not isinstance(entries, list) or len(entries) != len(texts):
            count = len(entries) if isinstance(entries, list) else "no"
            raise self.client.failure(Fault.NONSENSE, f"sent {count} vectors for {len(texts)} texts")
        rows = [entry.get("values") if isinstance(entry, dict) else None for entry in entries]
        return EmbeddingBatch(rows, usage_of(answer))

    async def close(self) -> None:
        """See `Provider.close`."""
        await self.client.close()

    def request(self, text: str, role: EmbeddingRole) -> dict[str, Any]:
        """Return the request for one text."""
        words = _WORDS[role] if self._in_words else ""
        request: dict[str, Any] = {
            "model": f"models/{self.id.model}",
            "content": {"parts": [{"text": f"{words}{text}"}]},
            "outputDimensionality": self.length,
        }
        return request if self._in_words else {**request, "taskType": _TASKS[role]}


def usage_of(answer: dict[str, Any]) -> int | None:
    """Return the tokens in an answer; None if not reported."""
    usage = answer.get("usageMetadata")
    count = usage.get("promptTokenCount") if isinstance(usage, dict) else None
    return count if isinstance(count, int) and not isinstance(count, bool) and 0 <= count < 2**53 else None
