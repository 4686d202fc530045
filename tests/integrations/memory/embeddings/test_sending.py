"""Many texts: few requests, several at a time, again after what passes, smaller when too large."""

from __future__ import annotations

from typing import Any

import pytest

from integrations.memory.notes.index.contract import EmbeddingFailed
from tests.integrations.memory.embeddings.conftest import Make
from tests.servers.embedding_server import EmbeddingServer

CHUNKS = [f"passage number {number} " + "about the garden and the house " * 50 for number in range(400)]


async def test_many_texts_go_in_few_requests_a_few_at_a_time(server: EmbeddingServer, make: Make) -> None:
    server.set(together=3)
    embedder = await make(parallel=3)
    before = server.requests

    vectors, spent = await embedder.documents(CHUNKS)

    assert all(vector is not None for vector in vectors)
    assert server.requests - before == spent.requests == 7
    assert server.busiest == 3


@pytest.mark.parametrize(
    "fault",
    [
        {"status": 500, "message": "internal server error"},
        {"status": 503, "message": "loading model"},
        {"status": 429, "message": "Rate limit reached", "headers": {"Retry-After": "0.05"}},
        {"status": 429, "message": "Please try again in 20ms."},
        {"kind": "disconnect"},
    ],
)
async def test_what_passes_is_waited_out(server: EmbeddingServer, make: Make, fault: dict[str, Any]) -> None:
    embedder = await make()
    server.queue({**fault, "times": 2})

    vectors, spent = await embedder.documents(["one"])

    assert vectors[0] is not None
    assert spent.requests == 1


async def test_it_is_not_waited_for_ever(server: EmbeddingServer, make: Make) -> None:
    embedder = await make()
    before = server.requests
    server.queue({"status": 500, "always": True})

    with pytest.raises(EmbeddingFailed, match="is failing"):
        await embedder.documents(["one"])

    assert server.requests - before == 4


async def test_a_long_wait_is_said_instead_of_waited(server: EmbeddingServer, make: Make) -> None:
    embedder = await make()
    before = server.requests
    server.queue({"status": 429, "message": "slow down", "headers": {"Retry-After": "3600"}})

    with pytest.raises(EmbeddingFailed) as caught:
        await embedder.documents(["one"])

    assert caught.value.retry_after_s == 3600
    assert server.requests - before == 1


async def test_a_request_that_is_too_large_is_halved(server: EmbeddingServer, make: Make) -> None:
    server.set(inputs_limit=10)
    embedder = await make()

    vectors, spent = await embedder.documents([f"text {number}" for number in range(40)])

    assert all(vector is not None for vector in vectors)
    assert spent.requests == 4


@pytest.mark.parametrize("status", [400, 413, 500])
async def test_a_text_that_is_too_long_is_shortened_and_the_next_is_cut_before(
    server: EmbeddingServer, make: Make, status: int
) -> None:
    server.set(text_tokens_limit=512, text_status=status)
    embedder = await make()

    vectors, _ = await embedder.documents(["word " * 1_000, "short"])
    before = server.requests
    more, _ = await embedder.documents(["other " * 1_000, "brief"])

    assert all(vector is not None for vector in [*vectors, *more])
    assert server.requests - before == 1


async def test_a_query_that_is_too_long_is_shortened(server: EmbeddingServer, make: Make) -> None:
    server.set(text_tokens_limit=512)
    embedder = await make()

    assert len(await embedder.query("word " * 1_000)) == 384


async def test_one_text_that_is_refused_does_not_spoil_the_others(server: EmbeddingServer, make: Make) -> None:
    embedder = await make()
    server.queue({"match": "poison", "status": 400, "message": "content policy", "always": True})

    vectors, _ = await embedder.documents([*(f"text {number}" for number in range(20)), "the poison", "more"])

    assert [number for number, vector in enumerate(vectors) if vector is None] == [20]
    assert embedder.rejected == 1


async def test_when_everything_is_refused_it_is_said_and_not_taken_for_the_texts(
    server: EmbeddingServer, make: Make
) -> None:
    embedder = await make()
    before = server.requests
    server.queue({"status": 400, "message": "no such deployment", "always": True})

    with pytest.raises(EmbeddingFailed, match="no such deployment"):
        await embedder.documents([f"text {number}" for number in range(60)])

    assert server.requests - before < 15


async def test_what_was_made_before_a_failure_is_not_made_again(server: EmbeddingServer, make: Make) -> None:
    embedder = await make(parallel=1)
    server.queue({"match": "number 399", "status": 401, "message": "key revoked"})

    with pytest.raises(EmbeddingFailed, match="refuses the key"):
        await embedder.documents(CHUNKS)
    _, spent = await embedder.documents(CHUNKS)

    assert spent.cached == 384
    assert spent.texts == 16


async def test_a_query_is_asked_once_and_a_failing_provider_is_left_alone_for_a_while(
    server: EmbeddingServer, make: Make
) -> None:
    embedder = await make()
    before = server.requests
    server.queue({"status": 401, "message": "wrong key", "always": True})

    for _ in range(3):
        with pytest.raises(EmbeddingFailed, match="refuses the key"):
            await embedder.query("who is there")

    assert server.requests - before == 1


async def test_a_query_that_was_asked_is_remembered(server: EmbeddingServer, make: Make) -> None:
    embedder = await make()
    first = await embedder.query("who is there")
    before = server.requests

    again = await embedder.query("who is there")

    assert first is again
    assert server.requests == before


async def test_documents_that_succeed_end_the_rest_of_a_failed_provider(server: EmbeddingServer, make: Make) -> None:
    embedder = await make()
    server.queue({"status": 503, "message": "overloaded"})
    with pytest.raises(EmbeddingFailed):
        await embedder.query("one")

    await embedder.documents(["two"])

    assert len(await embedder.query("one")) == 384


async def test_a_blank_query_has_no_vector(make: Make) -> None:
    embedder = await make()

    with pytest.raises(EmbeddingFailed):
        await embedder.query("  ")


async def test_of_a_server_of_ones_own_the_address_is_told_and_not_only_whose_api_it_speaks(
    server: EmbeddingServer, make: Make
) -> None:
    embedder = await make()
    server.queue({"kind": "zero"})

    with pytest.raises(EmbeddingFailed, match=server.base_url):
        await embedder.query("boiler")
