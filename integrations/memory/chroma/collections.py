"""The interface of a store to the engine on Chroma, in this process or at an address."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from hub.memory.engine_contract import Vector, Vectors

CONFIGURATION = {"hnsw": {"space": "cosine"}}


class Collections(Protocol):
    """Named sets of vectors; everything blocks.

    Every method raises `EngineUnavailable` when a store that runs elsewhere does not answer, `IndexDamaged` when what
    is kept cannot be read, and `OSError` when it cannot be written.
    """

    largest_batch: int
    """How many vectors it takes at a time."""

    def names(self) -> Mapping[str, Mapping[str, str]]:
        """Return the metadata of each collection by its name."""
        ...

    def make(self, name: str, metadata: Mapping[str, str]) -> None:
        """Make a collection, if there is none with that name."""
        ...

    def drop(self, name: str) -> None:
        """Delete a collection, if there is one with that name."""
        ...

    def upsert(self, name: str, ids: Sequence[str], vectors: Vectors) -> None:
        """Store vectors, replacing those with the same ids."""
        ...

    def delete(self, name: str, ids: Sequence[str]) -> None:
        """Remove vectors."""
        ...

    def nearest(
        self, name: str, vector: Vector, limit: int, allowed: Collection[str] | None
    ) -> list[tuple[str, float]]:
        """Return ids and cosine distances (1 - cosine)."""
        ...

    def vectors(self, name: str, ids: Sequence[str]) -> Mapping[str, Vector]:
        """Return the vectors of those that are there."""
        ...

    def ids(self, name: str) -> list[str]:
        """Return all ids."""
        ...

    def close(self) -> None:
        """Close files and connections; a second call does no harm."""
        ...
