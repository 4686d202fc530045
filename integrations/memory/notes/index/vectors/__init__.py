"""Engines that find passages by the cosine of their vectors, and the choice among them; each imports its library.

Who makes vectors is not known here (`index/embeddings/`), nor how hits are ranked; the contract is `index/contract.py`.
"""

from __future__ import annotations

from pathlib import Path

from integrations.memory.notes.index.contract import VectorIndex
from integrations.memory.notes.index.packages import loaded
from integrations.memory.notes.index.vectors.settings import ChromaSettings

ENGINES = ("exact", "chroma")
__all__ = ["ENGINES", "ChromaSettings", "discard_vectors", "open_vectors"]


def open_vectors(engine: str, directory: Path, dimensions: int, chroma: ChromaSettings | None = None) -> VectorIndex:
    """Open an engine for vectors, or begin an empty one; it blocks.

    Args:
        engine: One of `ENGINES`.
        directory: Where its files are; made when it is missing.
        dimensions: Length of the vectors.
        chroma: How Chroma is reached; embedded without it.

    Raises:
        EngineMissing: Its package is not installed; the text names the command that installs it.
        EngineUnavailable: The Chroma server does not answer.
        IndexDamaged: What is there cannot be read, or is of other vectors.
        OSError: Nothing can be written there.
        ValueError: There is no such engine.
    """
    match engine:
        case "exact":
            with loaded("numpy", "embeddings", "embeddings: {provider: none}"):
                from integrations.memory.notes.index.vectors.exact import ExactIndex
            return ExactIndex(directory, dimensions)
        case "chroma":
            with loaded("numpy", "embeddings", "embeddings: {provider: none}"):
                from integrations.memory.notes.index.vectors.chroma import open_chroma
            return open_chroma(directory, dimensions, chroma or ChromaSettings())
    raise ValueError(f"there is no engine for vectors called {engine!r}; there are: {', '.join(ENGINES)}")


def discard_vectors(engine: str, directory: Path, chroma: ChromaSettings | None = None) -> None:
    """Delete what an engine keeps elsewhere for a directory that is given up; the directory itself is the caller's.

    Raises:
        EngineMissing, EngineUnavailable: See `open_vectors`; what is kept elsewhere is still there.
    """
    if engine == "chroma" and chroma is not None and chroma.url is not None:
        with loaded("numpy", "embeddings", "embeddings: {provider: none}"):
            from integrations.memory.notes.index.vectors.chroma import discard
        discard(directory, chroma)
