"""The interface of the index to embedders. Everything here runs in the worker process."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from hub.memory.engine_contract import Vector


@dataclass(frozen=True, slots=True)
class EmbedderId:
    """The identity of vectors; only vectors with the same identity can be compared.

    Attributes:
        provider: `openai`, `gemini`, `voyage`, `local`, …
        model: Its name there.
        endpoint: The address, or the package and version of a local model.
        dimensions: Length of its vectors; None until the first answer when the provider decides.
    """

    provider: str
    model: str
    endpoint: str
    dimensions: int | None = None

    @property
    def maker(self) -> str:
        """Provider and model, without the length."""
        return f"{self.provider}|{self.model}|{self.endpoint}"

    @property
    def shown(self) -> str:
        """The embedder for people: `openai` may be a private server with its API."""
        return f"{self.provider} ({self.endpoint})"

    @property
    def fingerprint(self) -> str:
        """The identity as one string."""
        return f"{self.maker}|{self.dimensions or ''}"


@dataclass(frozen=True, slots=True)
class Spent:
    """The cost of making vectors."""

    requests: int = 0
    texts: int = 0
    tokens: int = 0
    cached: int = 0


class EmbeddingFailed(Exception):
    """Vectors could not be made; `text` explains it to people, and never holds a key."""

    def __init__(self, text: str, *, retry_after_s: float | None = None) -> None:
        super().__init__(text)
        self.text = text
        self.retry_after_s = retry_after_s


class Embedder(Protocol):
    """Turns texts into vectors."""

    id: EmbedderId
    notes: Sequence[str]
    """Why those before it in the chain are not used, a sentence each."""

    async def documents(self, texts: Sequence[str]) -> tuple[list[Vector | None], Spent]:
        """Return a vector for each text, None for one that was refused or not finite; large lists go in few requests.

        Raises:
            EmbeddingFailed: The provider cannot be used now.
        """
        ...

    async def query(self, text: str) -> Vector:
        """Return the vector of a query.

        Raises:
            EmbeddingFailed: The provider cannot be used now.
        """
        ...

    async def close(self) -> None:
        """Close connections and models."""
        ...
