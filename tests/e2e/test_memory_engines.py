"""Who finds and who makes vectors, by configuration: the pairs of engines, a Chroma server, and providers over HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from integrations.memory.notes.memory import SEARCH_LIMIT_S
from tests.e2e.memories import WORDS_ALONE, Memories, at_server, corpus, paid_for
from tests.e2e.talk import until
from tests.integrations.memory.engines.conftest import ChromaServer
from tests.lengths import rounds
from tests.servers.embedding_server import EmbeddingServer
from tests.servers.hub_process import HubProcess

LATER = "memory/2026-01-01.md"
LATE = f"the index did not answer within {SEARCH_LIMIT_S:.0f} s"


@pytest.fixture
def server() -> Iterator[EmbeddingServer]:
    with EmbeddingServer() as running:
        yield running


@pytest.fixture
def home(tmp_path: Path, server: EmbeddingServer) -> Iterator[Memories]:
    hub = HubProcess(tmp_path / "home")
    yield Memories(hub, {"memory": {"embeddings": at_server(server.base_url)}})
    hub.__exit__(None, None, None)
    assert "Traceback" not in hub.log.read_text(), hub.log.read_text()[-4000:]


def fill(home: Memories, files: int, each: int) -> None:
    for path, text in corpus(files, each).items():
        home.write(path, text)


@pytest.mark.slow
def test_many_passages_are_indexed_in_few_requests_and_once(home: Memories, server: EmbeddingServer) -> None:
    files = rounds(100, 20)
    fill(home, files, 20)
    home.hub.start()

    indexed = home.call("index")
    built = home.until_whole()

    assert (indexed["files"], indexed["chunks"], indexed["waiting"]) == (files, files * 20, 0)
    assert built["engines"] == ["vectors:exact", "keywords:fts5"]
    assert paid_for(server) == files * 20
    assert server.requests < rounds(40, 20)
    home.hub.stop()
    home.hub.start()
    home.until_whole()
    assert home.indexed(force=True)["chunks"] == files * 20
    assert paid_for(server) == files * 20


@pytest.mark.slow
def test_engines_are_changed_while_the_hub_runs_and_search_goes_on(home: Memories, server: EmbeddingServer) -> None:
    fill(home, 20, 15)
    home.write(LATER, "# Later\n\n- The zebrafish\n")
    home.hub.start()
    home.until_whole()
    paid = paid_for(server)
    pairs = [("exact", "whoosh"), ("chroma", "whoosh"), ("chroma", "fts5"), ("exact", "fts5")]
    answers: list[Any] = []

    for vectors, keywords in pairs:
        home.configure(vectors=vectors, keywords=keywords)

        def named(wanted: list[str] = [f"vectors:{vectors}", f"keywords:{keywords}"]) -> bool:  # noqa: B006
            answers.append(home.search("boiler number77"))
            return bool(answers[-1]["engines"] == wanted)

        until(named, 60)
        assert home.until_whole()["chunks"] == 301
        home.write(LATER, f"# Later\n\n- The zebrafish of {vectors} and {keywords}\n")
        home.until_found("zebrafish", LATER, by=f"keywords:{keywords}", saying=f"{vectors} and {keywords}")

    assert all(answer["hits"][0]["text"].startswith("The boiler number77") for answer in answers)
    # To load Chroma may take longer than a search waits; the files are read then.
    assert {answer["degraded"] for answer in answers if "grep" in answer["engines"]} <= {LATE}
    assert paid_for(server) == paid


@pytest.mark.slow
def test_vectors_can_be_kept_by_a_chroma_server(home: Memories, tmp_path: Path) -> None:
    fill(home, 5, 10)
    chroma = ChromaServer(tmp_path / "chroma")
    try:
        home.sections["chroma"] = {"url": chroma.url}
        home.configure(vectors="chroma")
        home.hub.start()
        home.until_found("boiler number7", "memory/2015-01-01.md", by="vectors:chroma")
        home.until_whole()

        chroma.stop()
        away = home.search("boiler number7")
        answering = home.until_told("boiler number7", "Chroma")

        assert away["hits"][0]["path"] == answering["hits"][0]["path"] == "memory/2015-01-01.md"
        assert answering["engines"] == ["keywords:fts5"]
    finally:
        chroma.stop()


@pytest.mark.parametrize("provider", ["gemini", "voyage"])
def test_another_provider_is_asked_at_its_address_with_its_key(
    home: Memories, server: EmbeddingServer, provider: str
) -> None:
    server.set(key="the-right-key")
    address = {"gemini": server.gemini_url, "voyage": server.voyage_url}[provider]
    home.configure(embeddings={"provider": provider, "base_url": address, "api_key": "the-right-key", "timeout": 60})
    fill(home, 2, 5)
    home.hub.start()

    answer = home.until_found("boiler number7", "memory/2015-01-01.md", by="vectors:exact")
    status = home.until_whole()

    assert answer["degraded"] is None
    assert status["embedder"]["provider"] == provider
    assert sum(each["requests"] for each in status["costs"]) >= 1
    assert "the-right-key" not in home.hub.log.read_text() + str(status)


def test_another_model_makes_other_vectors_while_the_old_ones_are_searched(
    home: Memories, server: EmbeddingServer
) -> None:
    fill(home, 3, 10)
    home.hub.start()
    home.until_whole()
    before = home.generation().name

    home.configure(embeddings=at_server(server.base_url, model="others"))
    answers: list[Any] = []

    def is_new() -> bool:
        answers.append(home.search("boiler number7"))
        index = home.status()["index"]
        return bool(index and index["embedder"]["model"] == "others" and answers[-1]["engines"][0] == "vectors:exact")

    until(is_new, 60)
    assert home.until_whole()["chunks"] == 30
    assert all(answer["hits"][0]["path"] == "memory/2015-01-01.md" for answer in answers)
    assert home.generation().name != before


def test_vectors_can_be_switched_off_and_on(home: Memories, server: EmbeddingServer) -> None:
    fill(home, 3, 10)
    home.hub.start()
    home.until_found("boiler number7", "memory/2015-01-01.md", by="vectors:exact")
    home.until_whole()

    home.configure(embeddings=WORDS_ALONE)
    off = until(lambda: (found := home.until_complete("boiler number7"))["engines"] == ["keywords:fts5"] and found)
    paid = paid_for(server)
    home.configure(embeddings=at_server(server.base_url))
    until(lambda: home.engines() == ["vectors:exact", "keywords:fts5"])

    assert off["hits"][0]["path"] == "memory/2015-01-01.md"
    assert paid_for(server) == paid


def test_passages_of_another_length_make_another_index(home: Memories) -> None:
    home.write("memory/garden.md", "# Garden\n\n" + "\n\n".join(f"Row {n} has beans and peas." * 8 for n in range(40)))
    home.hub.start()
    before = home.until_whole()["chunks"]

    home.configure(chunks={"tokens": 80, "overlap": 10})

    until(lambda: home.until_whole()["chunks"] > 2 * before)
    assert home.until_whole()["files"] == 1
