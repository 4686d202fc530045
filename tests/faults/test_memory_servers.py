"""Who makes or keeps vectors is away, refuses, or hangs: search goes by word, says why, and comes right by itself."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.memories import Memories, at_server, corpus
from tests.e2e.talk import until
from tests.integrations.memory.engines.conftest import ChromaServer
from tests.servers.embedding_server import EmbeddingServer
from tests.servers.hub_process import HubProcess
from tests.servers.ports import free_port

QUESTION, PLACE = "boiler number7", "memory/2015-01-01.md"
WORDS = ["keywords:fts5"]
BOTH = ["vectors:exact", "keywords:fts5"]


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Memories]:
    hub = HubProcess(tmp_path / "home")
    home = Memories(hub, {})
    for path, text in corpus(3, 10).items():
        home.write(path, text)
    before = home.texts()
    yield home
    assert {path: home.texts()[path] for path in before} == before
    hub.__exit__(None, None, None)
    log = hub.log.read_text()
    assert "Traceback" not in log, log[-4000:]
    assert "a-secret-key" not in log


def by_word(home: Memories, why: str) -> Any:
    """Wait until the words are indexed and it is known why there are no vectors, and return what was found by them."""
    return until(lambda: (found := home.until_told(QUESTION, why))["engines"] == WORDS and found)


@pytest.mark.slow
def test_a_server_that_is_away_at_the_start_and_comes_later_is_used_then(home: Memories) -> None:
    port = free_port()
    home.configure(embeddings=at_server(f"http://127.0.0.1:{port}/v1"))
    home.hub.start()

    away = by_word(home, "cannot be reached")
    told = until(home.repairs, 60)
    server = EmbeddingServer()
    server.start(port)
    try:
        back = home.until_found(QUESTION, PLACE, by="vectors:exact")
        home.write("memory/2026-01-02.md", "# A day\n")  # whatever changes is looked at sooner than after a failure
        until(lambda: home.repairs() == [], 60)
    finally:
        server.stop()

    assert away["hits"][0]["path"] == PLACE
    assert "retried automatically" in told[0]
    assert back["degraded"] is None


def test_a_key_that_is_refused_is_told_and_a_better_one_is_used_at_once(
    home: Memories, server: EmbeddingServer
) -> None:
    server.set(key="the-right-key")
    home.configure(embeddings=at_server(server.base_url, api_key="a-secret-key"))
    home.hub.start()
    refused = by_word(home, "key")
    told = until(home.repairs, 60)

    home.configure(embeddings=at_server(server.base_url, api_key="the-right-key"))

    home.until_found(QUESTION, PLACE, by="vectors:exact")
    until(lambda: home.repairs() == [], 60)
    assert refused["hits"][0]["path"] == PLACE
    assert "a-secret-key" not in refused["degraded"] + told[0] + str(home.status())
    home.until_complete(QUESTION)


def test_a_server_that_is_busy_is_asked_again_until_it_is_not(home: Memories, server: EmbeddingServer) -> None:
    server.queue({"status": 429, "headers": {"Retry-After": "0"}, "times": 3})
    home.configure(embeddings=at_server(server.base_url))

    home.hub.start()

    home.until_found(QUESTION, PLACE, by="vectors:exact")
    assert home.until_whole()["chunks"] == 30
    assert home.repairs() == []


def test_a_server_that_fails_while_it_is_searched_costs_the_meaning_of_that_search_alone(
    home: Memories, server: EmbeddingServer
) -> None:
    home.configure(embeddings=at_server(server.base_url))
    home.hub.start()
    home.until_found(QUESTION, PLACE, by="vectors:exact")
    home.until_whole()
    server.queue({"status": 401, "message": "no more credit", "always": True, "match": "piano"})

    failed = home.until_told("piano number3", "credit")
    other = home.search("bicycle number2")

    assert failed["engines"] == WORDS
    assert failed["hits"][0]["path"] == PLACE
    assert other["hits"][0]["path"] == PLACE


def test_a_server_that_hangs_holds_up_neither_searches_nor_the_hub(home: Memories, server: EmbeddingServer) -> None:
    server.set(delay_s=60)
    home.configure(embeddings=at_server(server.base_url, timeout=600))
    home.hub.start()
    home.write("memory/2026-01-01.md", "# A day\n\n- The zebrafish likes algae\n")

    found = home.until_found("zebrafish", "memory/2026-01-01.md", by="keywords:fts5")

    assert found["engines"] == WORDS
    assert found["degraded"]
    assert home.hub.rpc("health")
    assert home.hub.stop() == 0


def test_strange_vectors_are_not_taken_and_told(home: Memories, server: EmbeddingServer) -> None:
    server.queue({"kind": "nan", "always": True})
    home.configure(embeddings=at_server(server.base_url))
    home.hub.start()

    found = by_word(home, "vectors cannot be asked")

    assert found["hits"][0]["path"] == PLACE


@pytest.mark.slow
def test_a_chroma_server_that_goes_and_comes_is_done_without_meanwhile(
    home: Memories, server: EmbeddingServer, tmp_path: Path
) -> None:
    chroma = ChromaServer(tmp_path / "chroma")
    chroma.stop()
    home.sections["chroma"] = {"url": chroma.url}
    home.configure(embeddings=at_server(server.base_url), vectors="chroma")
    home.hub.start()
    try:
        told = until(lambda: [each for each in home.repairs() if "Chroma" in each], 60)
        away = by_word(home, "Chroma")
        chroma.start()

        back = home.until_found(QUESTION, PLACE, by="vectors:chroma")
        home.write("memory/2026-01-02.md", "# A day\n")  # whatever changes is looked at sooner than after a failure
        until(lambda: home.repairs() == [], 60)
    finally:
        chroma.stop()
    assert away["hits"][0]["path"] == PLACE
    assert told
    assert back["degraded"] is None
