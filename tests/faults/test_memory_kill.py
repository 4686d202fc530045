"""The hub or its index worker is killed while it indexes or searches: no file is touched, and search comes back."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.memories import Memories, at_server, corpus, is_worker
from tests.e2e.talk import until
from tests.lengths import rounds
from tests.servers.embedding_server import EmbeddingServer
from tests.servers.hub_process import HubProcess

QUESTION, PLACE = "boiler number77", "memory/2015-01-04.md"
GREP = ["grep"]


@pytest.fixture
def home(tmp_path: Path, server: EmbeddingServer) -> Iterator[Memories]:
    hub = HubProcess(tmp_path / "home")
    home = Memories(hub, {"memory": {"embeddings": at_server(server.base_url)}})
    yield home
    hub.__exit__(None, None, None)
    assert "Traceback" not in hub.log.read_text(), hub.log.read_text()[-4000:]


def running_worker(home: Memories) -> int:
    """The process that has the index, once it is there."""
    pid = until(home.worker)
    assert pid is not None
    return pid


def fill(home: Memories, files: int = 20) -> dict[str, bytes]:
    for path, text in corpus(files, 20).items():
        home.write(path, text)
    home.write("MEMORY.md", "# Memory\n\n- We sleep with the window open\n")
    return home.texts()


@pytest.mark.slow
def test_a_hub_killed_at_any_moment_of_indexing_leaves_the_files_and_heals(
    home: Memories, server: EmbeddingServer
) -> None:
    before = fill(home, 30)
    server.set(delay_s=0.05)
    for texts in (0, 1, 200):
        home.hub.start()
        worker = running_worker(home)
        until(lambda texts=texts: server.texts >= texts)  # type: ignore[misc]

        home.hub.kill()

        until(lambda worker=worker: not is_worker(worker))  # type: ignore[misc]
        assert home.texts() == before
    server.set(delay_s=0)
    home.hub.start()

    found = home.until_found(QUESTION, PLACE, by="vectors:exact")

    assert home.until_whole()["chunks"] == 601
    assert found["hits"][0]["path"] == PLACE
    assert home.texts() == before


@pytest.mark.slow
def test_a_worker_killed_while_it_indexes_is_started_again_and_what_was_paid_for_is_kept(
    home: Memories, server: EmbeddingServer
) -> None:
    before = fill(home, 30)
    server.set(delay_s=0.1)
    home.hub.start()
    for texts in (1, 200):
        until(lambda texts=texts: server.texts >= texts)  # type: ignore[misc]
        worker = running_worker(home)
        os.kill(worker, signal.SIGKILL)
        until(lambda worker=worker: not is_worker(worker))  # type: ignore[misc]

        answer = home.search(QUESTION)

        assert answer["hits"][0]["path"] == PLACE
    server.set(delay_s=0)
    home.until_found(QUESTION, PLACE, by="vectors:exact")

    assert home.until_whole()["chunks"] == 601
    assert home.texts() == before


def test_a_worker_killed_under_searches_fails_none_of_them(home: Memories) -> None:
    before = fill(home)
    home.hub.start()
    home.until_found(QUESTION, PLACE, by="vectors:exact")
    home.until_whole()

    def ask(number: int) -> Any:
        if number % 20 == 10 and (worker := home.worker()) is not None:
            os.kill(worker, signal.SIGKILL)
        return home.search(QUESTION)

    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(ask, range(rounds(60, 40))))
    answers.append(until(lambda: (answer := ask(10))["engines"] == GREP and answer))  # a hub may be quick to notice

    assert all(answer["hits"][0]["path"] == PLACE for answer in answers)
    assert all(answer["degraded"] for answer in answers if answer["engines"] == GREP)
    home.until_found(QUESTION, PLACE, by="vectors:exact")
    assert home.until_whole()["chunks"] == 401
    assert home.texts() == before


def test_a_file_written_while_the_worker_is_dead_is_found(home: Memories) -> None:
    fill(home)
    home.hub.start()
    home.until_whole()
    os.kill(running_worker(home), signal.SIGKILL)

    home.hub.rpc("memory.add", {"text": "The zebrafish likes algae"})

    until(lambda: "zebrafish" in str(home.search("zebrafish")["hits"]))  # a new worker answers before it has looked
    until(lambda: (found := home.search("zebrafish"))["hits"] and "keywords:fts5" in found["engines"])
    assert home.until_whole()["chunks"] == 402


@pytest.mark.slow
def test_a_worker_that_hangs_holds_up_neither_a_search_nor_the_hub_and_is_replaced(home: Memories) -> None:
    fill(home, 5)
    home.hub.start()
    home.until_whole()
    worker = running_worker(home)
    os.kill(worker, signal.SIGSTOP)

    answer = home.search(QUESTION)

    assert answer["hits"][0]["path"] == PLACE
    assert answer["engines"] == ["grep"]
    assert "did not answer" in answer["degraded"]
    assert home.hub.rpc("health")
    until(lambda: not is_worker(worker), 60)
    home.until_found(QUESTION, PLACE, by="vectors:exact")
    assert running_worker(home) != worker


def test_a_hub_that_is_stopped_takes_its_worker_along_and_warns_of_nothing(home: Memories) -> None:
    fill(home)
    home.hub.start()
    worker = running_worker(home)

    assert home.hub.stop() == 0

    assert not is_worker(worker)
    assert "WARNING" not in home.hub.log.read_text()


def test_a_second_hub_on_the_same_home_is_refused_and_the_first_goes_on(home: Memories) -> None:
    before = fill(home)
    home.hub.start()
    home.until_found(QUESTION, PLACE, by="vectors:exact")
    second = HubProcess(home.hub.home)
    second.start(wait=False)

    refused = second.ended()

    assert refused != 0
    until(lambda: home.search(QUESTION)["engines"] == ["vectors:exact", "keywords:fts5"])
    assert home.until_whole()["chunks"] == 401
    assert home.texts() == before


def test_two_hubs_over_one_workspace_have_an_index_each(home: Memories, tmp_path: Path) -> None:
    before = fill(home)
    home.sections["agents"] = [{"id": "main", "default": True, "workspace": str(tmp_path / "workspace")}]
    home.workspace.rename(tmp_path / "workspace")
    home.workspace = tmp_path / "workspace"
    home.configure()
    other = Memories(HubProcess(tmp_path / "other"), home.sections)
    with home.hub, other.hub:
        other.until_found(QUESTION, PLACE, by="vectors:exact")
        home.until_found(QUESTION, PLACE, by="vectors:exact")

        home.hub.rpc("memory.add", {"text": "The zebrafish likes algae"})
        until(lambda: "zebrafish" in str(other.search("zebrafish")["hits"]))

        home.until_whole()
        other.until_whole()
        assert {path: home.texts()[path] for path in before} == before
