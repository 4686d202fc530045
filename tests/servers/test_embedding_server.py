"""The scripted embedding server is understood by OpenAI's own client, and runs as a process."""

from __future__ import annotations

import numpy as np
import openai
import pytest

from tests.servers.embedding_script import vector_of
from tests.servers.embedding_server import EmbeddingServer, EmbeddingServerProcess


def test_openais_client_gets_vectors() -> None:
    with EmbeddingServer() as server, openai.OpenAI(base_url=server.base_url, api_key="k", max_retries=0) as client:
        made = client.embeddings.create(model="text-embedding-3-small", input=["one", "two"])

    assert np.allclose(made.data[1].embedding, vector_of("two"), atol=1e-6)
    assert made.usage.total_tokens == 2


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        ({"status": 401}, openai.AuthenticationError),
        ({"status": 429}, openai.RateLimitError),
        ({"status": 500}, openai.InternalServerError),
    ],
)
def test_openais_client_sees_its_errors(fault: dict[str, int], error: type[Exception]) -> None:
    with EmbeddingServer() as server, openai.OpenAI(base_url=server.base_url, api_key="k", max_retries=0) as client:
        server.queue(fault)

        with pytest.raises(error):
            client.embeddings.create(model="m", input="one")


def test_it_runs_as_a_process_and_counts() -> None:
    with EmbeddingServerProcess() as server, openai.OpenAI(base_url=server.base_url, api_key="k") as client:
        server.set(dimensions=8)
        made = client.embeddings.create(model="m", input=["one", "two"])

        assert len(made.data[0].embedding) == 8
        assert server.counts() == {"requests": 1, "texts": 2, "busiest": 1}
