"""Voyage's API for embeddings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hub.core.secret import Secret
from integrations.memory.notes.index.contract import EmbedderId
from integrations.memory.notes.index.embeddings.address import Endpoint
from integrations.memory.notes.index.embeddings.client import Client
from integrations.memory.notes.index.embeddings.openai_api import bearer, rows_of, tokens_of
from integrations.memory.notes.index.embeddings.provider import EmbeddingBatch, EmbeddingRole, Limits

VOYAGE_URL = "https://api.voyageai.com/v1"
DEFAULT_MODEL = "voyage-4"
DIMENSIONS = {
    **dict.fromkeys(("voyage-4-large", "voyage-4", "voyage-4-lite"), 1_024),
    **dict.fromkeys(("voyage-3-large", "voyage-3.5", "voyage-3.5-lite", "voyage-code-3"), 1_024),
    **dict.fromkeys(("voyage-finance-2", "voyage-law-2"), 1_024),
}

# It takes 1,000 texts, and 120,000 tokens for its large models, 320,000 and more for the others.
_LARGE = ("voyage-4-large", "voyage-3-large", "voyage-code-3", "voyage-finance-2", "voyage-law-2")


class Voyage:
    """Speaks Voyage's `/embeddings`; see `OpenAI` for the arguments."""

    def __init__(
        self,
        where: Endpoint,
        model: str,
        key: Secret,
        dimensions: int | None,
        timeout_s: float,
        *,
        known_dimensions: int | None = None,
    ) -> None:
        self.limits = Limits(texts=512, tokens=90_000 if model in _LARGE else 240_000)
        self.priced = where.host == "api.voyageai.com"
        length = dimensions or DIMENSIONS.get(model) or known_dimensions
        self.id = EmbedderId("voyage", model, where.shown, length)
        self.client = Client("Voyage", model, where, bearer(key), (key,), timeout_s=timeout_s)
        self.length = dimensions

    async def embed(self, texts: Sequence[str], role: EmbeddingRole) -> EmbeddingBatch:
        """See `Provider.embed`."""
        body = {**self.parameters(role), "input": list(texts), "encoding_format": "base64"}
        answer = await self.client.post(self.client.where.endpoint("embeddings"), body)
        return EmbeddingBatch(rows_of(self.client, answer, len(texts)), tokens_of(answer))

    def parameters(self, role: EmbeddingRole) -> dict[str, Any]:
        """Return the parameters that hold for all texts of a request."""
        parameters: dict[str, Any] = {"model": self.id.model, "input_type": role.value, "truncation": True}
        if self.length is not None:
            parameters["output_dimension"] = self.length
        return parameters

    async def close(self) -> None:
        """See `Provider.close`."""
        await self.client.close()
