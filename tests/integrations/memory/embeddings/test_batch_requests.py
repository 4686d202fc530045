"""What each provider's batch API is asked, and where they differ."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

import pytest

from integrations.memory.notes.index.embeddings.address import Where, moved
from integrations.memory.notes.index.embeddings.chain import EmbeddingSettings, choose
from tests.integrations.memory.embeddings.conftest import Make
from tests.integrations.memory.embeddings.vendors import TEXTS, VENDORS, Vendor, due, jobs
from tests.servers.embedding_server import EmbeddingServer

OPENAI, VOYAGE, GEMINI = VENDORS


async def test_openai_is_asked_line_by_line(server: EmbeddingServer, make: Make) -> None:
    await OPENAI.begun(server, make)

    (began,) = OPENAI.asked(server, OPENAI.began)
    assert began.headers["Authorization"] == "Bearer the-right-key"
    assert began.body.pop("metadata").keys() == {"homarus"}
    assert began.body == {"input_file_id": "file-1", "endpoint": "/v1/embeddings", "completion_window": "24h"}


async def test_voyage_is_told_the_parameters_once(server: EmbeddingServer, make: Make) -> None:
    await VOYAGE.begun(server, make)

    (began,) = VOYAGE.asked(server, VOYAGE.began)
    assert began.headers["Authorization"] == "Bearer the-right-key"
    assert began.body.pop("metadata").keys() == {"homarus"}
    assert began.body == {
        "input_file_id": "file-1",
        "endpoint": "/v1/embeddings",
        "completion_window": "12h",
        "request_params": {
            "model": "voyage-4",
            "input_type": "document",
            "truncation": True,
            "output_dimension": 384,
        },
    }


async def test_gemini_is_sent_all_requests_with_their_hashes(server: EmbeddingServer, make: Make) -> None:
    await GEMINI.begun(server, make)

    (began,) = GEMINI.asked(server, GEMINI.began)
    assert began.headers["x-goog-api-key"] == "the-right-key"
    assert "the-right-key" not in began.path
    batch = began.body["batch"]
    assert batch["displayName"].startswith("homarus-")
    assert batch["inputConfig"]["requests"]["requests"][0] == {
        "request": {
            "model": "models/gemini-embedding-001",
            "content": {"parts": [{"text": TEXTS[0]}]},
            "outputDimensionality": 384,
            "taskType": "RETRIEVAL_DOCUMENT",
        },
        "metadata": {"key": sha256(TEXTS[0].encode()).hexdigest()},
    }


async def test_geminis_jobs_are_as_small_as_their_results_have_to_be(
    server: EmbeddingServer, make: Make, cache_path: Path
) -> None:
    embedder = await GEMINI.begun(server, make, dimensions=3_072)
    due(cache_path)

    _, took = await embedder.documents(TEXTS)

    assert len(GEMINI.asked(server, GEMINI.began)) == 5
    assert took.cached == 600


@pytest.mark.parametrize("vendor", VENDORS, ids=lambda vendor: vendor.name)
async def test_long_texts_are_cut_and_lone_surrogates_are_sent_to_nobody(
    server: EmbeddingServer, make: Make, cache_path: Path, vendor: Vendor
) -> None:
    texts = [*TEXTS, "\ud800 is no text", "长" * 30_000]
    embedder = await make(**vendor.settings(server))
    await embedder.documents(texts)
    due(cache_path)

    assert await embedder.collect() == 602


@pytest.mark.parametrize("page", [1, 100])
@pytest.mark.parametrize(("kind", "deleted"), [("disconnect", 3), ("lost", 2)])
@pytest.mark.parametrize("vendor", [OPENAI, VOYAGE], ids=lambda vendor: vendor.name)
async def test_a_file_whose_upload_was_not_answered_is_deleted_with_those_of_other_jobs(
    server: EmbeddingServer, make: Make, cache_path: Path, vendor: Vendor, kind: str, deleted: int, page: int
) -> None:
    server.set(batch_page=page)
    server.queue({"match": "/files", "kind": kind})
    embedder = await vendor.begun(server, make)
    await embedder.documents([f"{text} again" for text in TEXTS])
    due(cache_path)

    assert await embedder.collect() == 600

    assert jobs(cache_path) == []
    assert len(vendor.asked(server, vendor.deleted)) == deleted


@pytest.mark.parametrize("moved_to", ["here", "no"])
async def test_voyages_results_may_lie_elsewhere(
    server: EmbeddingServer, make: Make, cache_path: Path, moved_to: str
) -> None:
    server.set(batch_moved=moved_to)
    embedder = await VOYAGE.begun(server, make)
    due(cache_path)

    assert await embedder.collect() == 600


@pytest.mark.parametrize("moved_to", ["plain", "round"])
async def test_results_are_not_fetched_from_just_anywhere(
    server: EmbeddingServer, make: Make, cache_path: Path, moved_to: str
) -> None:
    server.set(batch_moved=moved_to)
    embedder = await VOYAGE.begun(server, make)
    due(cache_path)

    assert await embedder.collect() == 0
    assert len(VOYAGE.asked(server, "GET /voyage/v1/files/.*/content")) <= 4


@pytest.mark.parametrize(
    ("location", "there"),
    [
        ("stored?a=%2F", ("https://api.example/v1/files/f/stored?a=%2F", True)),
        ("https://storage.example/f?signed=%2B", ("https://storage.example/f?signed=%2B", False)),
        ("https://api.example:8443/f", ("https://api.example:8443/f", False)),
        ("http://api.example/f", (None, False)),
        ("http://127.0.0.1/f", (None, False)),
        ("file:///etc/passwd", (None, False)),
        ("https://[broken/f", (None, False)),
        ("https://api.example:port/f", (None, False)),
    ],
)
def test_only_under_tls_an_answer_may_send_to_another_server(location: str, there: tuple[str | None, bool]) -> None:
    assert moved("https://api.example/v1/files/f/content", location) == there


def test_an_endpoint_may_have_a_query_beside_that_of_the_address() -> None:
    where = Where("https://gate.example/v1?tenant=a")

    assert where.endpoint("batches?limit=9") == "https://gate.example/v1/batches?tenant=a&limit=9"
    assert where.endpoint("batches") == "https://gate.example/v1/batches?tenant=a"


async def test_where_there_is_no_batch_api_it_is_said(cache_path: Path) -> None:
    embedder, notes = await choose(EmbeddingSettings(provider="local", batch=True), cache_path)

    assert embedder is not None
    assert any("batch API is not used" in note for note in notes)
    await embedder.close()
