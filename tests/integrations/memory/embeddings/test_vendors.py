"""Vendors that are asked through litellm: Gemini's and Voyage's own APIs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from integrations.memory.notes.index.contract import EmbeddingFailed
from tests.integrations.memory.embeddings.conftest import Make
from tests.servers.embedding_script import SCALE, vector_of
from tests.servers.embedding_server import EmbeddingServer


def _at(server: EmbeddingServer, provider: str, **more: Any) -> dict[str, Any]:
    url = server.gemini_url if provider == "gemini" else server.voyage_url
    return {"provider": provider, "base_url": url, "model": None, "api_key": "the-right-key", **more}


async def test_gemini_is_asked_by_task_with_its_key_in_a_header(server: EmbeddingServer, make: Make) -> None:
    server.set(key="the-right-key")
    embedder = await make(**_at(server, "gemini"))

    (vector, _), spent = await embedder.documents(["one", "two"])
    await embedder.query("one")

    documents, query = server.asked()
    assert documents.path == "/v1beta/models/gemini-embedding-001:batchEmbedContents"
    assert "the-right-key" not in documents.path
    assert documents.body["requests"][0] == {
        "model": "models/gemini-embedding-001",
        "content": {"parts": [{"text": "one"}]},
        "outputDimensionality": 768,
        "taskType": "RETRIEVAL_DOCUMENT",
    }
    assert query.body["requests"][0]["taskType"] == "RETRIEVAL_QUERY"
    assert vector is not None
    assert np.allclose(vector, vector_of("one", 768) / SCALE, atol=1e-5)
    assert spent.tokens > 0
    assert embedder.id.fingerprint == f"gemini|gemini-embedding-001|{server.gemini_url}|768"


async def test_geminis_second_generation_is_told_the_task_in_words(server: EmbeddingServer, make: Make) -> None:
    embedder = await make(**_at(server, "gemini", model="models/gemini-embedding-2", dimensions=256))

    await embedder.documents(["one"])
    await embedder.query("two")

    texts = [asked.body["requests"][0]["content"]["parts"][0]["text"] for asked in server.asked()]
    assert texts == ["title: none | text: one", "task: search result | query: two"]
    assert all("taskType" not in asked.body["requests"][0] for asked in server.asked())


async def test_gemini_gets_a_hundred_texts_at_most(server: EmbeddingServer, make: Make) -> None:
    embedder = await make(**_at(server, "gemini"))

    vectors, spent = await embedder.documents([f"text {number}" for number in range(250)])

    assert all(vector is not None for vector in vectors)
    assert spent.requests == 3


async def test_voyage_is_told_whether_it_is_a_query(server: EmbeddingServer, make: Make) -> None:
    server.set(key="the-right-key")
    embedder = await make(**_at(server, "voyage", dimensions=512))

    (vector,), _ = await embedder.documents(["one"])
    await embedder.query("one")

    documents, query = server.asked()
    assert (documents.body["input_type"], query.body["input_type"]) == ("document", "query")
    assert (documents.body["model"], documents.body["output_dimension"]) == ("voyage-4", 512)
    assert documents.headers["Authorization"] == "Bearer the-right-key"
    assert vector is not None
    assert len(vector) == 512


@pytest.mark.parametrize("provider", ["gemini", "voyage"])
@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ({"status": 400, "message": "API key not valid. Please pass a valid API key."}, "refuses the key"),
        ({"status": 401, "message": "Provided API key is invalid."}, "refuses the key"),
        ({"status": 404, "message": "models/x is not found for API version v1beta"}, "makes no vectors with the model"),
        ({"status": 403, "message": "billing is not enabled"}, "credit"),
        ({"kind": "fewer"}, "sent vectors for other texts"),
    ],
)
async def test_their_refusals_are_understood(
    server: EmbeddingServer, make: Make, provider: str, fault: dict[str, Any], words: str
) -> None:
    embedder = await make(**_at(server, provider, dimensions=384))
    server.queue({**fault, "times": 3})

    with pytest.raises(EmbeddingFailed, match=words) as caught:
        await embedder.documents(["one", "two"])

    assert "the-right-key" not in caught.value.text


@pytest.mark.parametrize(
    ("provider", "kind"),
    [("gemini", "zero"), ("gemini", "nan"), ("voyage", "zero"), ("voyage", "null"), ("voyage", "nan")],
)
async def test_their_broken_vectors_cost_only_their_text(
    server: EmbeddingServer, make: Make, provider: str, kind: str
) -> None:
    embedder = await make(**_at(server, provider, dimensions=384))
    server.queue({"kind": kind})

    vectors, _ = await embedder.documents(["one", "two"])

    assert [vector is not None for vector in vectors] == [False, True]


@pytest.mark.parametrize("provider", ["gemini", "voyage"])
async def test_they_are_asked_again_after_what_passes(server: EmbeddingServer, make: Make, provider: str) -> None:
    embedder = await make(**_at(server, provider, dimensions=384))
    server.queue({"status": 429, "message": "Resource has been exhausted"}, {"status": 503, "message": "overloaded"})

    vectors, _ = await embedder.documents(["one"])

    assert vectors[0] is not None


@pytest.mark.parametrize(
    "text", ["files/abc", "data:text/plain;base64,aGVsbG8=", "gs://bucket/a.png", "https://x.test/"]
)
async def test_what_looks_like_a_file_is_a_text(server: EmbeddingServer, make: Make, text: str) -> None:
    embedder = await make(**_at(server, "gemini", dimensions=384))

    await embedder.documents([text])

    (asked,) = server.asked()
    assert asked.body["requests"][0]["content"]["parts"] == [{"text": f" {text}"}]


async def test_any_vendor_of_litellm_is_asked_by_its_name(server: EmbeddingServer, make: Make) -> None:
    server.set(key="the-right-key")
    embedder = await make(**_at(server, "voyage") | {"provider": "litellm", "model": "voyage/voyage-code-3"})

    vectors, spent = await embedder.documents(["one two three"])

    assert server.asked()[0].body["model"] == "voyage-code-3"
    assert vectors[0] is not None
    assert spent.tokens > 0


@pytest.mark.parametrize("provider", ["gemini", "voyage"])
@pytest.mark.parametrize(("kind", "told"), [("redirect", "redirects to 127.0.0.1"), ("flood", "64 MiB")])
async def test_a_vendors_server_leads_no_key_elsewhere_and_floods_no_memory(
    server: EmbeddingServer, make: Make, provider: str, kind: str, told: str
) -> None:
    embedder = await make(**_at(server, provider))
    server.queue({"kind": kind, "times": 9})

    with pytest.raises(EmbeddingFailed, match=told):
        await embedder.documents(["one"])

    assert all(asked.path != "/elsewhere" for asked in server.asked())
