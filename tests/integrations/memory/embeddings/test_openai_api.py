"""OpenAI's API, and the servers that speak it in their own ways."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from integrations.memory.notes.index.contract import EmbeddingFailed
from tests.integrations.memory.embeddings.conftest import Make
from tests.servers.embedding_script import SCALE, vector_of
from tests.servers.embedding_server import EmbeddingServer


async def test_texts_become_unit_vectors_in_their_order(server: EmbeddingServer, make: Make) -> None:
    embedder = await make()

    vectors, spent = await embedder.documents(["a red apple", "the dentist in May", "a red apple"])

    assert [vector is not None for vector in vectors] == [True] * 3
    assert vectors[1] is not None
    assert np.allclose(vectors[1], vector_of("the dentist in May") / SCALE, atol=1e-5)
    assert np.array_equal(np.asarray(vectors[0]), np.asarray(vectors[2]))
    assert (spent.requests, spent.texts, spent.cached) == (1, 2, 0)
    assert spent.tokens > 0


async def test_similar_texts_are_nearer_than_others(make: Make) -> None:
    embedder = await make()

    (apple, car), _ = await embedder.documents(["a red apple from the garden", "the car needs new tyres"])
    query = await embedder.query("red apple")

    assert apple is not None
    assert car is not None
    assert float(apple @ query) > float(car @ query)


async def test_the_key_goes_as_a_bearer_token_and_the_model_as_configured(server: EmbeddingServer, make: Make) -> None:
    server.set(key="sk-secret-key-1234")
    embedder = await make(api_key="sk-secret-key-1234", model="nomic-embed-text:latest")

    await embedder.documents(["hello"])

    asked = server.asked()[-1]
    assert asked.headers["Authorization"] == "Bearer sk-secret-key-1234"
    assert asked.body["model"] == "nomic-embed-text:latest"
    assert asked.body["encoding_format"] == "base64"
    assert "dimensions" not in asked.body


async def test_a_key_found_for_openai_is_not_sent_to_another_server(server: EmbeddingServer, make: Make) -> None:
    embedder = await make(keys={"openai": "sk-openai-only"})

    await embedder.documents(["hello"])

    assert all("Authorization" not in asked.headers for asked in server.asked())


async def test_vectors_go_by_their_index(server: EmbeddingServer, make: Make) -> None:
    embedder = await make()
    server.queue({"kind": "shuffled"})

    vectors, _ = await embedder.documents(["one", "two", "three"])

    assert all(
        np.allclose(vector, vector_of(text) / SCALE, atol=1e-5)
        for vector, text in zip(vectors, ("one", "two", "three"), strict=True)
        if vector is not None
    )


@pytest.mark.parametrize(
    "manner",
    [
        {"base64": "ignored"},
        {"base64": "refused"},
        {"nested": "once"},
        {"usage": False},
        {"v1": False},
        {"dimensions": 1_536},
        {"base64": "refused", "v1": False},
    ],
)
async def test_the_ways_of_other_servers_are_understood(
    server: EmbeddingServer, make: Make, manner: dict[str, Any]
) -> None:
    server.set(**manner)
    embedder = await make(base_url=server.root_url if manner.get("v1") is False else server.base_url)

    vectors, spent = await embedder.documents(["one", "two"])

    length = manner.get("dimensions", 384)
    assert [None if vector is None else len(vector) for vector in vectors] == [length] * 2
    assert embedder.id.dimensions == length
    assert spent.tokens > 0


async def test_an_address_without_v1_is_found(server: EmbeddingServer, make: Make) -> None:
    embedder = await make(base_url=f"{server.root_url}/")

    vectors, _ = await embedder.documents(["one"])
    await embedder.documents(["two"])

    assert vectors[0] is not None
    assert [asked.path for asked in server.asked()][-1] == "/v1/embeddings"
    assert [asked.path for asked in server.asked()].count("/embeddings") == 1


async def test_the_length_that_is_asked_for_is_sent(server: EmbeddingServer, make: Make) -> None:
    embedder = await make(dimensions=128)

    vectors, _ = await embedder.documents(["one"])

    assert vectors[0] is not None
    assert len(vectors[0]) == 128
    assert embedder.id.dimensions == 128
    assert server.asked()[-1].body["dimensions"] == 128


async def test_a_model_without_that_length_is_told(server: EmbeddingServer, make: Make) -> None:
    server.set(sizes="refused")
    embedder = await make(dimensions=128)

    with pytest.raises(EmbeddingFailed, match=r"memory\.embeddings\.dimensions"):
        await embedder.documents(["one"])


async def test_a_server_that_ignores_the_length_is_told(server: EmbeddingServer, make: Make) -> None:
    server.set(sizes="ignored")
    embedder = await make(dimensions=128)

    with pytest.raises(EmbeddingFailed, match=r"384.*128"):
        await embedder.documents(["one"])


@pytest.mark.parametrize("kind", ["nan", "infinity", "zero", "null"])
async def test_a_vector_that_is_none_costs_only_its_text(server: EmbeddingServer, make: Make, kind: str) -> None:
    embedder = await make()
    server.queue({"kind": kind})

    vectors, _ = await embedder.documents(["one", "two"])
    again, spent = await embedder.documents(["one", "two"])

    assert vectors[0] is None
    assert vectors[1] is not None
    assert embedder.rejected == 1
    assert again[0] is not None
    assert (spent.requests, spent.texts, spent.cached) == (1, 1, 1)


@pytest.mark.parametrize("encoding", ["yes", "ignored"])
@pytest.mark.parametrize(
    ("kind", "words"),
    [("fewer", "1 vectors for 2"), ("more", "3 vectors for 2"), ("twice", "numbers"), ("short", "lengths")],
)
async def test_an_answer_that_does_not_fit_is_refused_whole(
    server: EmbeddingServer, make: Make, kind: str, words: str, encoding: str
) -> None:
    server.set(base64=encoding)
    embedder = await make()
    server.queue({"kind": kind})

    with pytest.raises(EmbeddingFailed, match=words):
        await embedder.documents(["one", "two"])


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ({"kind": "html"}, "not JSON"),
        ({"kind": "redirect"}, "redirects"),
        ({"kind": "flood"}, "64 MiB"),
        ({"status": 404, "message": 'model "words" not found'}, "makes no vectors with the model words"),
        ({"status": 401, "message": "Incorrect API key"}, "refuses the key"),
        ({"status": 403, "message": "no access"}, "refuses the key"),
        ({"status": 402, "message": "Payment required"}, "credit"),
        ({"status": 429, "message": "You exceeded your current quota", "code": "insufficient_quota"}, "credit"),
    ],
)
async def test_what_somebody_has_to_put_right_is_said_at_once(
    server: EmbeddingServer, make: Make, fault: dict[str, Any], words: str
) -> None:
    embedder = await make()
    before = server.requests
    server.queue({**fault, "times": 5})

    with pytest.raises(EmbeddingFailed, match=words) as caught:
        await embedder.documents(["one"])

    assert server.requests - before <= 2
    assert "sk-" not in caught.value.text


async def test_vectors_for_each_token_are_told(server: EmbeddingServer, make: Make) -> None:
    server.set(nested="tokens")
    embedder = await make()

    with pytest.raises(EmbeddingFailed, match="pooling"):
        await embedder.documents(["one"])


async def test_nobody_at_the_address_is_told_with_it(make: Make, server: EmbeddingServer) -> None:
    embedder = await make()
    server.stop()

    with pytest.raises(EmbeddingFailed, match=rf"cannot be reached at {server.base_url}"):
        await embedder.documents(["one"])


async def test_a_server_that_says_nothing_is_given_up(server: EmbeddingServer, make: Make) -> None:
    embedder = await make(timeout_s=0.2)
    server.set(delay_s=30.0)

    with pytest.raises(EmbeddingFailed, match=r"0\.2 s"):
        await embedder.documents(["one"])


async def test_a_key_never_stands_in_an_error(server: EmbeddingServer, make: Make) -> None:
    server.set(key="right")
    embedder = await make(api_key="zz-my-very-own-key")

    with pytest.raises(EmbeddingFailed) as caught:
        await embedder.documents(["one"])

    assert "zz-my-very-own-key" not in caught.value.text


async def test_a_password_in_the_address_is_shown_nowhere(server: EmbeddingServer, make: Make) -> None:
    embedder = await make(base_url=server.base_url.replace("http://", "http://user:pass-word-1@"))
    server.queue({"status": 400, "message": "bad pass-word-1", "times": 9})

    with pytest.raises(EmbeddingFailed) as caught:
        await embedder.documents(["one"])

    assert "pass-word-1" not in caught.value.text + embedder.id.fingerprint + " ".join(embedder.notes)
    assert server.asked()[0].headers["Authorization"].startswith("Basic ")


async def test_the_proxy_of_the_environment_is_not_asked(
    server: EmbeddingServer, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    embedder = await make()

    vectors, _ = await embedder.documents(["one"])

    assert vectors[0] is not None


async def test_a_lone_surrogate_does_no_harm(make: Make) -> None:
    embedder = await make()

    vectors, _ = await embedder.documents(["broken \ud800 text", "whole"])

    assert all(vector is not None for vector in vectors)
    assert await embedder.query("\ud800 what") is not None


async def test_blank_texts_are_not_sent(server: EmbeddingServer, make: Make) -> None:
    embedder = await make()
    before = server.texts

    vectors, spent = await embedder.documents(["", "  \n", "word"])

    assert [vector is not None for vector in vectors] == [False, False, True]
    assert server.texts - before == 1
    assert spent.texts == 1


async def test_nothing_to_do_takes_no_request(server: EmbeddingServer, make: Make) -> None:
    embedder = await make()
    before = server.requests

    assert (await embedder.documents([]))[0] == []

    assert server.requests == before


async def test_cancelling_ends_all_requests_and_keeps_what_was_made(
    server: EmbeddingServer, make: Make, cache_path: Path
) -> None:
    embedder = await make(parallel=2)
    server.queue({"match": "slow", "delay_s": 60.0, "always": True})
    texts = [f"text {number}" for number in range(64)] + [f"slow {number}" for number in range(64)]
    task = asyncio.create_task(embedder.documents(texts))
    while _kept(cache_path) != 64:  # noqa: ASYNC110  it is written in another thread
        await asyncio.sleep(0.01)

    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    server.reset()
    _, spent = await embedder.documents(texts)

    assert spent.cached == 64
    assert spent.texts == 64


def _kept(cache_path: Path) -> int:
    with closing(sqlite3.connect(cache_path)) as database, suppress(sqlite3.OperationalError):  # there is no table yet
        return int(database.execute("SELECT count(*) FROM vectors").fetchone()[0])
    return 0
