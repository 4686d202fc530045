"""The seams of the memory's index: engines that find passages by word or by meaning, and models that make vectors.

An engine of another integration is found through its manifest: `"engine": "keywords"` says that the module `engine` of
its folder has `open_keywords(directory, settings)`, `"vectors"` that it has `open_vectors(directory, dimensions,
settings)`, `"embeddings"` that it has `open_embeddings(settings)`; `settings` is the integration's section of the
configuration. One that stores anything outside the directory also has `discard(directory, settings)`.

The index worker imports it; nothing of it runs in the hub. Engines block, and are called in one thread at a time. The
catalog of the index is the truth: when the `ids` of an engine are not those of the catalog, the index is rebuilt.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from hub.core.extras import install_command

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vector = NDArray[np.float32]
    """One-dimensional, L2-normalised, finite."""
    Vectors = NDArray[np.float32]
    """One row for each text, each a `Vector`."""


class IndexDamaged(Exception):
    """An index is unreadable, or not as written; it is deleted and rebuilt."""


class EngineMissing(Exception):
    """The package of an engine is not installed; `text` names the command that installs it."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text


class EngineUnavailable(Exception):
    """A remote engine does not answer; `text` says where and what to do. Nothing has to be rebuilt."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text


class EmbeddingRefused(Exception):
    """A model answered a request with an error; what is done about it depends on the status and the words.

    Args:
        status: HTTP status; None when there was no answer.
        said: The model's own words, without keys.
        retry_after_s: When it wants to be asked again.
    """

    def __init__(self, status: int | None, said: str, *, retry_after_s: float | None = None) -> None:
        super().__init__(said)
        self.status = status
        self.said = said
        self.retry_after_s = retry_after_s


class EmbeddedTexts(msgspec.Struct, frozen=True):
    """The vectors of some texts, from a model that counts what it reads.

    Attributes:
        vectors: One for each text; None where it made none.
        tokens: What it counted; None when it did not.
    """

    vectors: Sequence[Sequence[float] | None]
    tokens: int | None = None


class KeywordDocument(msgspec.Struct, frozen=True):
    """A passage in the form of the keyword engine.

    Attributes:
        id: Number of the passage, never used again.
        area: The area it is visible in.
        title: The file's title; `headings` those it is under; `text` the passage.
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
        """Remove passages and add others, durably; existing ids are replaced. Idempotent.

        Raises:
            IndexDamaged: The index cannot be read.
            OSError: It cannot be written.
        """
        ...

    def search(
        self, query: str, areas: Sequence[str], limit: int, allowed: Collection[int] | None = None
    ) -> list[tuple[int, float]]:
        """Return ids and scores (the engine's own, higher is better), best first.

        Args:
            query: The question as written; no character of it is syntax.
            areas: Only passages of these.
            limit: How many at most.
            allowed: Only these ids, when it is given.

        Raises:
            IndexDamaged: The index cannot be read.
        """
        ...

    def ids(self) -> set[int]:
        """Return the passages in it."""
        ...

    def purge(self) -> None:
        """Erase removed passages from the files, as far as the engine can; slow.

        Raises:
            IndexDamaged: The index cannot be read.
            OSError: It cannot be written.
        """
        ...

    def close(self) -> None:
        """Close its files; calling it twice does no harm."""
        ...


class VectorIndex(Protocol):
    """Finds passages by the cosine of their vectors; one collection for each area."""

    name: str

    def apply(self, removed: Collection[int], added: Sequence[tuple[int, str, Vector]]) -> None:
        """Remove passages and add others (id, area, vector), durably; see `KeywordIndex.apply`."""
        ...

    def search(
        self, vector: Vector, areas: Sequence[str], limit: int, allowed: Collection[int] | None = None
    ) -> list[tuple[int, float]]:
        """Return ids and cosines, best first; see `KeywordIndex.search`."""
        ...

    def cosines(self, vector: Vector, ids: Iterable[int]) -> dict[int, float]:
        """Return the exact cosine of each of these passages that has a vector."""
        ...

    def vectors(self, ids: Iterable[int]) -> dict[int, Vector]:
        """Return the vectors of these passages, of those that have one."""
        ...

    def ids(self) -> set[int]:
        """Return the passages in it."""
        ...

    def purge(self) -> None:
        """Erase removed passages from the files; see `KeywordIndex.purge`."""
        ...

    def close(self) -> None:
        """Close its files and connections; calling it twice does no harm."""
        ...


class EmbeddingModel(Protocol):
    """Turns texts into vectors.

    Attributes:
        model: Its name; vectors of models with the same name can be compared.
        dimensions: Length of its vectors.
    """

    model: str
    dimensions: int

    async def embed(self, texts: Sequence[str], *, query: bool) -> Sequence[Sequence[float]] | EmbeddedTexts:
        """Return one vector for each text, which need not be normalised.

        Args:
            texts: A few, none of them empty.
            query: Whether they are searched for, and not what is found.

        Raises:
            EngineUnavailable: It does not answer now; it is tried again later.
            EmbeddingRefused: It answers with an error.
        """
        ...

    async def close(self) -> None:
        """Close its connections."""
        ...


class EngineModule(Protocol):
    """The module of an engine that another integration brings; it has one of the three `open_` functions."""

    def open_keywords(self, directory: Path, settings: Mapping[str, Any]) -> KeywordIndex:
        """Open the engine for words in a directory, or begin an empty one.

        Raises:
            EngineMissing: Its package is not installed.
            IndexDamaged: What is there cannot be read.
            OSError: It cannot be opened or created.
        """
        ...

    def open_vectors(self, directory: Path, dimensions: int, settings: Mapping[str, Any]) -> VectorIndex:
        """Open the engine for vectors; raises as `open_keywords`, and EngineUnavailable when it runs elsewhere."""
        ...

    def open_embeddings(self, settings: Mapping[str, Any]) -> EmbeddingModel:
        """Open the model that makes vectors; blocks.

        Raises:
            EngineMissing: Its package is not installed.
        """
        ...

    def discard(self, directory: Path, settings: Mapping[str, Any]) -> None:
        """Delete data outside a directory that is abandoned.

        Raises:
            EngineMissing, EngineUnavailable: It cannot be deleted now.
        """
        ...


@contextlib.contextmanager
def package(name: str, extra: str, instead: str) -> Iterator[None]:
    """Raise EngineMissing if an import in this context fails.

    Args:
        name: The module that must be there.
        extra: Which of our extras installs it.
        instead: The setting of `memory:` that works without it.
    """
    try:
        yield
    except ImportError as error:
        is_absent = isinstance(error, ModuleNotFoundError) and error.name == name
        why = "is not installed" if is_absent else f"cannot be loaded ({error})"
        raise EngineMissing(
            f"{name} {why}. Install it with: {install_command(extra)}; or set {instead} under memory: in"
            " configuration.yaml, which needs nothing."
        ) from error


def checked_vector(vector: Vector, dimensions: int) -> Vector:
    """Return a vector in the form that engines take.

    Raises:
        ValueError: It has another length, or numbers that are not finite.
    """
    import numpy as np

    found: Vector = np.ascontiguousarray(vector, dtype=np.float32)
    if found.shape != (dimensions,):
        raise ValueError(f"a vector has the shape {found.shape}; it should have {dimensions} numbers.")
    if not np.isfinite(found).all():
        raise ValueError("a vector holds numbers that are not finite.")
    return found
