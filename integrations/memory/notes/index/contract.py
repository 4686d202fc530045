"""The seams of the index: an engine for words, an engine for vectors, who makes vectors. Each is a file, not a rewrite.

Everything here runs in the worker process; engines block and are called in one thread at a time.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vector = NDArray[np.float32]
    """One-dimensional, L2-normalised, finite."""
    Vectors = NDArray[np.float32]
    """One row for each text, each a `Vector`."""


class IndexDamaged(Exception):
    """An engine's files cannot be read, or are not what was written; the library builds them anew."""


class EngineMissing(Exception):
    """The package of an engine is not installed; `text` names the command that installs it."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text


class EngineUnavailable(Exception):
    """An engine that runs elsewhere does not answer; `text` says where and what to do. Nothing has to be rebuilt."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text


@dataclass(frozen=True, slots=True)
class KeywordDocument:
    """A passage as the engine for words gets it.

    Attributes:
        id: Number of the passage, never used again.
        area: Who sees it.
        title: The file's title; `headings` those it stands under; `text` the passage.
        marks: Dates that belong to it, such as `@2026-05-12` (`hub.memory.dates`).
    """

    id: int
    area: str
    title: str
    headings: str
    text: str
    marks: Sequence[str] = ()


class KeywordIndex(Protocol):
    """Finds passages by word: BM25 over title, headings and text, English stems, Chinese pairs."""

    name: str

    def apply(self, removed: Collection[int], added: Sequence[KeywordDocument]) -> None:
        """Take passages out and put others in, durably; ids that are there already are replaced. Idempotent.

        Raises:
            IndexDamaged: The index cannot be read.
            OSError: It cannot be written; nothing changed.
        """
        ...

    def search(
        self, query: str, areas: Sequence[str], limit: int, allowed: Collection[int] | None = None
    ) -> list[tuple[int, float]]:
        """Return ids and scores (the engine's own, higher is better), best first.

        Args:
            query: What somebody asks, as they wrote it; no character of it is syntax.
            areas: Only passages of these.
            limit: How many at most.
            allowed: Only these ids, when it is given.

        Raises:
            IndexDamaged: The index cannot be read.
        """
        ...

    def ids(self) -> set[int]:
        """Return what is in it."""
        ...

    def purge(self) -> None:
        """Leave nothing in the files of passages that were taken out, as far as the engine can; takes its time.

        Raises:
            IndexDamaged: The index cannot be read.
            OSError: It cannot be written.
        """
        ...

    def close(self) -> None:
        """Let go of the files; calling it twice does no harm."""
        ...


class VectorIndex(Protocol):
    """Finds passages by the cosine of their vectors; one collection for each area."""

    name: str

    def apply(self, removed: Collection[int], added: Sequence[tuple[int, str, Vector]]) -> None:
        """Take passages out and put others (id, area, vector) in, durably; see `KeywordIndex.apply`."""
        ...

    def search(
        self, vector: Vector, areas: Sequence[str], limit: int, allowed: Collection[int] | None = None
    ) -> list[tuple[int, float]]:
        """Return ids and cosines, best first; see `KeywordIndex.search`."""
        ...

    def cosines(self, vector: Vector, ids: Iterable[int]) -> dict[int, float]:
        """Return the true cosine of each of these passages that has a vector."""
        ...

    def vectors(self, ids: Iterable[int]) -> dict[int, Vector]:
        """Return the vectors of these passages, of those that have one."""
        ...

    def ids(self) -> set[int]:
        """Return what is in it."""
        ...

    def purge(self) -> None:
        """Leave nothing in the files of passages that were taken out, as far as the engine can; takes its time.

        Raises:
            IndexDamaged: The index cannot be read.
            OSError: It cannot be written.
        """
        ...

    def close(self) -> None:
        """Let go of the files and connections; calling it twice does no harm."""
        ...


@dataclass(frozen=True, slots=True)
class EmbedderId:
    """What vectors depend on; other vectors cannot be compared with these.

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
        """Who makes them, whatever their length."""
        return f"{self.provider}|{self.model}|{self.endpoint}"

    @property
    def shown(self) -> str:
        """Who makes them, for people: `openai` may as well be a server of one's own that speaks its API."""
        return f"{self.provider} ({self.endpoint})"

    @property
    def fingerprint(self) -> str:
        """What of it must be equal, as one string."""
        return f"{self.maker}|{self.dimensions or ''}"


@dataclass(frozen=True, slots=True)
class Spent:
    """What making vectors took."""

    requests: int = 0
    texts: int = 0
    tokens: int = 0
    cached: int = 0


class EmbeddingFailed(Exception):
    """Vectors could not be made; `text` says why and what to do, for people; never holds a key."""

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
        """Return the vector of what somebody asks.

        Raises:
            EmbeddingFailed: The provider cannot be used now.
        """
        ...

    async def close(self) -> None:
        """Let go of connections and models."""
        ...
