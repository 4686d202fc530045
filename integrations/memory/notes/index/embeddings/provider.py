"""The seam under the embedder: one request to one provider, and its failures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

from integrations.memory.notes.index.contract import EmbedderId, EmbeddingFailed


class EmbeddingRole(StrEnum):
    """The role of a text; some models embed queries and documents differently."""

    DOCUMENT = "document"
    QUERY = "query"


class Fault(StrEnum):
    """The kind of a failure, which decides the next step."""

    KEY = "key"
    CREDIT = "credit"
    MODEL = "model"
    LIMITED = "limited"
    TOO_LARGE = "too_large"
    REFUSED = "refused"
    AWAY = "away"
    BUSY = "busy"
    SLOW = "slow"
    NONSENSE = "nonsense"


PASSING = frozenset({Fault.LIMITED, Fault.AWAY, Fault.BUSY, Fault.SLOW})
"""What may be gone a moment later."""
OURS = frozenset({Fault.KEY, Fault.CREDIT, Fault.MODEL})
"""What somebody has to put right first."""


class ProviderFailed(EmbeddingFailed):
    """A request failed; `fault` says how."""

    def __init__(self, fault: Fault, text: str, *, retry_after_s: float | None = None, said: str = "") -> None:
        super().__init__(text, retry_after_s=retry_after_s)
        self.fault = fault
        self.said = said
        """What the server itself said, cleaned of keys; for quirks."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of one request.

    Attributes:
        texts: Texts at most.
        tokens: Estimated tokens at most, all together.
        text_chars: Characters of one text at most; the rest of it is not embedded.
    """

    texts: int
    tokens: int
    text_chars: int = 24_000


@dataclass(frozen=True, slots=True)
class EmbeddingBatch:
    """The vectors of one request.

    Attributes:
        rows: For each text its raw numbers (a list, an array or bytes of float32), None when there were none.
        tokens: The tokens as the provider counts them; None when it does not say.
    """

    rows: Sequence[Any]
    tokens: int | None = None


class Provider(Protocol):
    """Asks one model of one provider; it neither retries, nor caches, nor normalises."""

    id: EmbedderId
    limits: Limits
    length: int | None
    """How long the vectors must be, because it was asked for."""
    priced: bool
    """Whether it is the provider's own address, so that its list prices hold."""

    async def embed(self, texts: Sequence[str], role: EmbeddingRole) -> EmbeddingBatch:
        """Return the vectors of the texts, in order.

        Raises:
            ProviderFailed: It did not; cancelling closes the connection.
        """
        ...

    async def close(self) -> None:
        """Close connections and models."""
        ...
