"""A scripted server, and embedders that ask it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from integrations.memory.notes.index.embeddings.chain import choose
from integrations.memory.notes.index.embeddings.embedder import CachingEmbedder
from integrations.memory.notes.index.embeddings.sender import RetryPolicy
from integrations.memory.notes.index.embeddings.settings import EmbeddingSettings
from tests.servers.embedding_server import EmbeddingServer

QUICK = RetryPolicy(tries=4, first_s=0.01, most_s=0.02, asked_s=1.0)
ENGINES = {"litellm": {"module": "integrations.models.litellm.engine"}}
Make = Callable[..., Awaitable[CachingEmbedder]]


@pytest.fixture
def server() -> Iterator[EmbeddingServer]:
    """A scripted server of this test's own."""
    with EmbeddingServer() as running:
        yield running


@pytest.fixture
def cache_path(tmp_path: Path) -> Path:
    """Where the cache is."""
    return tmp_path / "memory" / "embeddings.db"


@pytest.fixture
async def make(server: EmbeddingServer, cache_path: Path) -> AsyncIterator[Make]:
    """Make embedders for the scripted server, OpenAI's way unless told otherwise; they are closed at the end."""
    made: list[CachingEmbedder] = []

    async def one(**settings: Any) -> CachingEmbedder:
        given: dict[str, Any] = {"provider": "openai", "base_url": server.base_url, "model": "words"}
        given |= {"timeout_s": 60.0, "engines": ENGINES, **settings}
        embedder, notes = await choose(EmbeddingSettings(**given), cache_path, retries=QUICK)
        assert isinstance(embedder, CachingEmbedder), notes
        made.append(embedder)
        return embedder

    yield one
    for embedder in made:
        await embedder.close()
