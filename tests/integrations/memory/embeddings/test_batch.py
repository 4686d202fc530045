"""Large jobs through OpenAI's batch API, and what becomes of them."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from integrations.memory.notes.index.contract import EmbeddingFailed
from integrations.memory.notes.index.embeddings.cache import drop
from integrations.memory.notes.index.embeddings.chain import EmbeddingSettings, choose
from integrations.memory.notes.index.embeddings.costs import spent
from integrations.memory.notes.index.embeddings.embedder import CachingEmbedder
from tests.integrations.memory.embeddings.conftest import Make
from tests.servers.embedding_script import SCALE, vector_of
from tests.servers.embedding_server import EmbeddingServer

TEXTS = [f"passage {number} of a long diary" for number in range(600)]


def _due(cache_path: Path) -> None:
    """Make all jobs due to be looked at now."""
    with closing(sqlite3.connect(cache_path)) as database, database:
        database.execute("UPDATE jobs SET look_at=0")


def _aged(cache_path: Path) -> None:
    """Make all jobs older than a day."""
    with closing(sqlite3.connect(cache_path)) as database, database:
        database.execute("UPDATE jobs SET look_at=0, created=created-200000")


def _waits(embedder: CachingEmbedder) -> tuple[int, float | None]:
    return embedder.pending, embedder.look_again_s


async def _begun(make: Make) -> CachingEmbedder:
    embedder = await make(batch=True)
    vectors, took = await embedder.documents(TEXTS)
    assert vectors == [None] * 600
    assert (took.texts, took.requests) == (0, 0)
    return embedder


async def test_a_large_job_waits_and_comes_into_the_cache(
    server: EmbeddingServer, make: Make, cache_path: Path
) -> None:
    embedder = await _begun(make)
    assert embedder.pending == 600
    assert embedder.look_again_s is not None
    before = server.requests
    _due(cache_path)

    vectors, took = await embedder.documents(TEXTS)

    assert server.requests == before
    assert took.cached == 600
    assert _waits(embedder) == (0, None)
    assert all(
        vector is not None and np.allclose(vector, vector_of(text) / SCALE, atol=1e-5)
        for vector, text in zip(vectors, TEXTS, strict=True)
    )


async def test_files_with_memories_are_deleted_at_the_provider(
    server: EmbeddingServer, make: Make, cache_path: Path
) -> None:
    embedder = await _begun(make)
    _due(cache_path)

    await embedder.collect()

    assert len(server.asked("DELETE /v1/files/")) == 2


async def test_what_waits_is_neither_sent_nor_begun_again(server: EmbeddingServer, make: Make) -> None:
    embedder = await _begun(make)

    vectors, took = await embedder.documents([*TEXTS, "a new page"])

    assert len(server.asked("/v1/batches")) == 1
    assert [vector is not None for vector in vectors[-2:]] == [False, True]
    assert took.texts == 1


async def test_a_small_job_goes_at_once(server: EmbeddingServer, make: Make) -> None:
    embedder = await make(batch=True)

    vectors, _ = await embedder.documents(TEXTS[:499])

    assert all(vector is not None for vector in vectors)
    assert server.asked("/v1/batches") == []


async def test_a_job_outlives_the_worker(server: EmbeddingServer, make: Make, cache_path: Path) -> None:
    await (await _begun(make)).close()
    _due(cache_path)

    vectors, took = await (await make(batch=True)).documents(TEXTS)

    assert took.cached == 600
    assert all(vector is not None for vector in vectors)


async def test_a_job_that_still_runs_is_looked_at_less_and_less_often(
    server: EmbeddingServer, make: Make, cache_path: Path
) -> None:
    server.set(batch_looks=100)
    embedder = await _begun(make)
    waits = []
    for _ in range(3):
        _due(cache_path)
        assert await embedder.collect() == 0
        assert await embedder.collect() == 0
        waits.append(embedder.look_again_s or 0.0)

    assert len(server.asked("/v1/batches/")) == 3
    assert waits == sorted(waits)
    assert waits[2] > 100


@pytest.mark.parametrize("end", ["failed", "expired", "cancelled"])
async def test_after_a_job_that_failed_the_rest_goes_as_ordinary_requests(
    server: EmbeddingServer, make: Make, cache_path: Path, end: str
) -> None:
    server.set(batch_end=end, batch_share=0.5)
    embedder = await _begun(make)
    _due(cache_path)

    vectors, took = await embedder.documents(TEXTS)

    assert all(vector is not None for vector in vectors)
    assert (took.cached, took.texts) == ((0, 600) if end == "failed" else (300, 300))
    assert embedder.pending == 0


async def test_a_job_that_never_ends_is_given_up_after_a_day(
    server: EmbeddingServer, make: Make, cache_path: Path
) -> None:
    server.set(batch_end="in_progress")
    embedder = await _begun(make)
    _aged(cache_path)

    vectors, took = await embedder.documents(TEXTS)

    assert all(vector is not None for vector in vectors)
    assert took.texts == 600
    assert len(server.asked("/cancel")) == 1
    assert len(server.asked("DELETE /v1/files/")) == 1


async def test_a_file_of_results_that_does_not_come_is_waited_for_in_vain_no_longer_than_a_request(
    server: EmbeddingServer, make: Make, cache_path: Path
) -> None:
    await (await _begun(make)).close()
    server.set(file_delay_s=60.0)
    embedder = await make(batch=True, timeout_s=0.3)
    _due(cache_path)

    assert await embedder.collect() == 0

    assert embedder.pending == 600


async def test_a_job_that_gave_nothing_is_not_begun_again(
    server: EmbeddingServer, make: Make, cache_path: Path
) -> None:
    server.set(batch_share=0.0)
    embedder = await _begun(make)
    _due(cache_path)

    vectors, took = await embedder.documents(TEXTS)

    assert all(vector is not None for vector in vectors)
    assert took.texts == 600


async def test_a_line_that_failed_is_sent_again(server: EmbeddingServer, make: Make, cache_path: Path) -> None:
    embedder = await _begun(make)
    server.queue({"match": "passage 7 ", "status": 500}, {"match": "passage 8 ", "kind": "nan"})
    _due(cache_path)

    vectors, took = await embedder.documents(TEXTS)

    assert all(vector is not None for vector in vectors)
    assert (took.cached, took.texts) == (598, 2)


async def test_a_server_without_batches_gets_ordinary_requests(server: EmbeddingServer, make: Make) -> None:
    server.set(batches=False)
    embedder = await make(batch=True)

    first, _ = await embedder.documents(TEXTS)
    await embedder.documents([f"{text} again" for text in TEXTS])

    assert all(vector is not None for vector in first)
    assert len(server.asked("/v1/files")) == 1


async def test_a_job_whose_beginning_was_not_answered_is_found(
    server: EmbeddingServer, make: Make, cache_path: Path
) -> None:
    embedder = await make(batch=True)
    server.queue({"match": "/batches", "kind": "disconnect"})
    vectors, _ = await embedder.documents(TEXTS)
    assert vectors == [None] * 600
    _due(cache_path)

    _, took = await embedder.documents(TEXTS)

    assert took.cached == 600
    assert len(server.asked("GET /v1/batches")) == 1


async def test_a_job_that_never_began_is_forgotten(server: EmbeddingServer, make: Make, cache_path: Path) -> None:
    embedder = await make(batch=True)
    server.queue({"match": "/batches", "status": 400, "message": "billing hard limit reached"})

    with pytest.raises(EmbeddingFailed, match="credit"):
        await embedder.documents(TEXTS)

    assert embedder.pending == 0


async def test_what_was_forgotten_meanwhile_does_not_come_back(
    server: EmbeddingServer, make: Make, cache_path: Path
) -> None:
    embedder = await _begun(make)
    drop(cache_path, [TEXTS[3]])
    _due(cache_path)

    assert await embedder.collect() == 599


async def test_half_a_price_is_counted_once(server: EmbeddingServer, make: Make, cache_path: Path) -> None:
    embedder = await _begun(make)
    _due(cache_path)
    await embedder.documents(TEXTS)
    await embedder.documents(TEXTS)

    (row,) = spent(cache_path)
    assert (row["texts"], row["requests"]) == (600, 1)


@pytest.mark.parametrize(
    "settings",
    [{"cache": 0}, {"provider": "local"}, {"provider": "voyage", "api_key": "k"}],
)
async def test_where_there_is_no_batch_api_it_is_said(
    server: EmbeddingServer, cache_path: Path, settings: dict[str, Any]
) -> None:
    given = {"provider": "openai", "base_url": server.base_url, "model": "words", "batch": True, **settings}
    if given["provider"] == "local":
        given.update(base_url=None, model=None)

    embedder, notes = await choose(EmbeddingSettings(**given), cache_path)

    assert embedder is not None
    assert any("batch API is not used" in note for note in notes)
    await embedder.close()
