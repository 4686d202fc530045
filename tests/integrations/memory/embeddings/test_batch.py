"""Large jobs through the batch APIs of OpenAI, Voyage and Gemini, and what becomes of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from integrations.memory.notes.index.embeddings.cache import drop
from integrations.memory.notes.index.embeddings.chain import EmbeddingSettings, choose
from integrations.memory.notes.index.embeddings.costs import spent
from tests.integrations.memory.embeddings.conftest import Make
from tests.integrations.memory.embeddings.vendors import TEXTS, VENDORS, Vendor, aged, due, jobs
from tests.servers.embedding_script import SCALE, vector_of
from tests.servers.embedding_server import EmbeddingServer

pytestmark = pytest.mark.parametrize("vendor", VENDORS, ids=lambda vendor: vendor.name)


async def test_a_large_job_waits_and_comes_into_the_cache(
    vendor: Vendor, server: EmbeddingServer, make: Make, cache_path: Path
) -> None:
    embedder = await vendor.begun(server, make)
    assert embedder.pending == 600
    assert embedder.look_again_s is not None
    due(cache_path)

    vectors, took = await embedder.documents(TEXTS)

    assert server.requests == 0
    assert took.cached == 600
    assert (embedder.pending, jobs(cache_path)) == (0, [])
    assert all(
        vector is not None and np.allclose(vector, vector_of(text) / SCALE, atol=1e-5)
        for vector, text in zip(vectors, TEXTS, strict=True)
    )


@pytest.mark.parametrize("shuffled", [True, False])
async def test_results_find_their_texts_in_any_order_and_beside_foreign_ones(
    vendor: Vendor, server: EmbeddingServer, make: Make, cache_path: Path, shuffled: bool
) -> None:
    server.set(batch_shuffled=shuffled, batch_foreign=True)
    embedder = await vendor.begun(server, make)
    due(cache_path)

    assert await embedder.collect() == 600
    vectors, _ = await embedder.documents([TEXTS[0], TEXTS[599]])

    assert vectors[0] is not None
    assert np.allclose(vectors[0], vector_of(TEXTS[0]) / SCALE, atol=1e-5)
    assert vectors[1] is not None
    assert np.allclose(vectors[1], vector_of(TEXTS[599]) / SCALE, atol=1e-5)


async def test_what_holds_memories_is_deleted_at_the_provider(
    vendor: Vendor, server: EmbeddingServer, make: Make, cache_path: Path
) -> None:
    embedder = await vendor.begun(server, make)
    due(cache_path)

    await embedder.collect()

    assert len(vendor.asked(server, vendor.deleted)) == vendor.files


async def test_what_waits_is_neither_sent_nor_begun_again(vendor: Vendor, server: EmbeddingServer, make: Make) -> None:
    embedder = await vendor.begun(server, make)

    vectors, took = await embedder.documents([*TEXTS, "a new page"])

    assert len(vendor.asked(server, vendor.began)) == 1
    assert [vector is not None for vector in vectors[-2:]] == [False, True]
    assert took.texts == 1


async def test_a_small_job_goes_at_once(vendor: Vendor, server: EmbeddingServer, make: Make) -> None:
    embedder = await make(**vendor.settings(server))

    vectors, _ = await embedder.documents(TEXTS[:499])

    assert all(vector is not None for vector in vectors)
    assert vendor.asked(server, vendor.began) == []


async def test_a_job_outlives_the_worker(vendor: Vendor, server: EmbeddingServer, make: Make, cache_path: Path) -> None:
    await (await vendor.begun(server, make)).close()
    due(cache_path)

    vectors, took = await (await make(**vendor.settings(server))).documents(TEXTS)

    assert took.cached == 600
    assert all(vector is not None for vector in vectors)


async def test_a_job_that_still_runs_is_looked_at_less_and_less_often(
    vendor: Vendor, server: EmbeddingServer, make: Make, cache_path: Path
) -> None:
    server.set(batch_looks=100)
    embedder = await vendor.begun(server, make)
    waits = []
    for _ in range(3):
        due(cache_path)
        assert await embedder.collect() == 0
        assert await embedder.collect() == 0
        waits.append(embedder.look_again_s or 0.0)

    assert len(vendor.asked(server, vendor.looked)) == 3
    assert waits == sorted(waits)
    assert waits[2] > 100


@pytest.mark.parametrize("end", ["failed", "expired", "cancelled"])
async def test_after_a_job_that_failed_the_rest_goes_as_ordinary_requests(
    vendor: Vendor, server: EmbeddingServer, make: Make, cache_path: Path, end: str
) -> None:
    server.set(batch_end=end, batch_share=0.5)
    embedder = await vendor.begun(server, make)
    due(cache_path)

    vectors, took = await embedder.documents(TEXTS)

    assert all(vector is not None for vector in vectors)
    assert (took.cached, took.texts) == ((300, 300) if vendor.partial and end != "failed" else (0, 600))
    assert embedder.pending == 0
    assert len(vendor.asked(server, vendor.began)) == 1


async def test_a_job_that_never_ends_is_given_up_after_a_day(
    vendor: Vendor, server: EmbeddingServer, make: Make, cache_path: Path
) -> None:
    server.set(batch_end="in_progress")
    embedder = await vendor.begun(server, make)
    aged(cache_path)

    vectors, took = await embedder.documents(TEXTS)

    assert all(vector is not None for vector in vectors)
    assert took.texts == 600
    # First it is cancelled: to delete a job does not end it everywhere.
    last = [each.path for each in server.asked("") if each not in server.asked()][-2:]
    assert [vendor.asked(server, what)[0].path for what in (vendor.cancelled, vendor.deleted)] == last


async def test_results_that_do_not_come_are_waited_for_in_vain_no_longer_than_for_a_request(
    vendor: Vendor, server: EmbeddingServer, make: Make, cache_path: Path
) -> None:
    await (await vendor.begun(server, make)).close()
    server.set(file_delay_s=60.0)
    embedder = await make(**vendor.settings(server, timeout_s=0.3))
    due(cache_path)

    assert await embedder.collect() == 0

    assert embedder.pending == 600


async def test_a_job_that_gave_nothing_is_not_begun_again(
    vendor: Vendor, server: EmbeddingServer, make: Make, cache_path: Path
) -> None:
    server.set(batch_share=0.0)
    embedder = await vendor.begun(server, make)
    due(cache_path)

    vectors, took = await embedder.documents(TEXTS)

    assert all(vector is not None for vector in vectors)
    assert took.texts == 600
    assert len(vendor.asked(server, vendor.began)) == 1


async def test_a_text_that_was_refused_is_sent_again(
    vendor: Vendor, server: EmbeddingServer, make: Make, cache_path: Path
) -> None:
    embedder = await vendor.begun(server, make)
    server.queue({"match": "passage 7 ", "status": 500}, {"match": "passage 8 ", "kind": "nan"})
    due(cache_path)

    vectors, took = await embedder.documents(TEXTS)

    assert all(vector is not None for vector in vectors)
    assert (took.cached, took.texts) == (598, 2)
    # The file of errors with it, where there is one.
    assert len(vendor.asked(server, vendor.deleted)) == (vendor.files + 1 if vendor.partial else 1)


async def test_what_was_forgotten_meanwhile_does_not_come_back(
    vendor: Vendor, server: EmbeddingServer, make: Make, cache_path: Path
) -> None:
    embedder = await vendor.begun(server, make)
    drop(cache_path, [TEXTS[3]])
    due(cache_path)

    assert await embedder.collect() == 599


async def test_a_job_is_counted_once_with_its_tokens(
    vendor: Vendor, server: EmbeddingServer, make: Make, cache_path: Path
) -> None:
    embedder = await vendor.begun(server, make)
    due(cache_path)
    await embedder.documents(TEXTS)
    await embedder.documents(TEXTS)

    (row,) = spent(cache_path)
    assert (row["provider"], row["texts"], row["requests"]) == (vendor.name, 600, 1)
    assert row["tokens"] == sum(max(1, len(text) // 4) for text in TEXTS)


async def test_without_a_cache_it_is_said_that_jobs_are_not_used(
    vendor: Vendor, server: EmbeddingServer, cache_path: Path
) -> None:
    given: dict[str, Any] = vendor.settings(server, cache=0)

    embedder, notes = await choose(EmbeddingSettings(**given), cache_path)

    assert embedder is not None
    assert not embedder.takes_jobs
    assert any("batch API is not used" in note for note in notes)
    await embedder.close()
