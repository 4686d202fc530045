"""The engine for vectors that the index worker opens."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hub.memory.engine_contract import VectorIndex, package
from integrations.memory.chroma.settings import ChromaSettings


def open_vectors(directory: Path, dimensions: int, settings: Mapping[str, Any]) -> VectorIndex:
    """See `EngineModule.open_vectors`."""
    with package("numpy", "embeddings", "embeddings: {provider: none}"):
        from integrations.memory.chroma.index import open_chroma
    return open_chroma(directory, dimensions, ChromaSettings(**settings))


def discard(directory: Path, settings: Mapping[str, Any]) -> None:
    """See `EngineModule.discard`."""
    if settings.get("url") is None:
        return
    with package("numpy", "embeddings", "embeddings: {provider: none}"):
        from integrations.memory.chroma.index import discard as discard_collections
    discard_collections(directory, ChromaSettings(**settings))
