"""The server of embeddings that memories whose parts fail are given."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.servers.embedding_server import EmbeddingServer


@pytest.fixture
def server() -> Iterator[EmbeddingServer]:
    with EmbeddingServer() as running:
        yield running
