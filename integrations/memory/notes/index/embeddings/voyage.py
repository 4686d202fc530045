"""Voyage's API for embeddings: OpenAI's, with the purpose of a text and another name for the dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hub.core.secret import Secret
from integrations.memory.notes.index.contract import EmbedderId
from integrations.memory.notes.index.embeddings.address import Endpoint
from integrations.memory.notes.index.embeddings.openai_api import OpenAI
from integrations.memory.notes.index.embeddings.provider import EmbeddingRole, Limits

VOYAGE_URL = "https://api.voyageai.com/v1"
DEFAULT_MODEL = "voyage-4"
DIMENSIONS = {
    **dict.fromkeys(("voyage-4-large", "voyage-4", "voyage-4-lite"), 1_024),
    **dict.fromkeys(("voyage-3-large", "voyage-3.5", "voyage-3.5-lite", "voyage-code-3"), 1_024),
    **dict.fromkeys(("voyage-finance-2", "voyage-law-2"), 1_024),
}

# It takes 1,000 texts, and 120,000 tokens for its large models, 320,000 and more for the others.
_LARGE = ("voyage-4-large", "voyage-3-large", "voyage-code-3", "voyage-finance-2", "voyage-law-2")


class Voyage(OpenAI):
    """See `OpenAI`."""

    def __init__(self, where: Endpoint, model: str, key: Secret, dimensions: int | None, *, timeout_s: float) -> None:
        super().__init__("Voyage", where, model, key, dimensions, timeout_s=timeout_s)
        self.limits = Limits(texts=512, tokens=90_000 if model in _LARGE else 240_000)
        self.priced = where.host == "api.voyageai.com"
        self.id = EmbedderId("voyage", model, where.shown, dimensions or DIMENSIONS.get(model))

    def _body(self, texts: Sequence[str], role: EmbeddingRole) -> dict[str, Any]:
        body = super()._body(texts, role) | {"input_type": role.value, "truncation": True}
        if "dimensions" in body:
            body["output_dimension"] = body.pop("dimensions")
        return body
