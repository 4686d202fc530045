"""What the notes start in a hub and when: no process where nothing is remembered, and one where something is."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from hub.config.check import check
from hub.config.sections import Sections
from hub.sections import core_sections
from integrations.memory.notes.assembly import settings_in_force
from tests.e2e.memories import WORDS_ALONE, Memories, at_server, corpus, is_worker
from tests.e2e.talk import ask, chat, integration, until
from tests.servers.embedding_server import EmbeddingServer
from tests.servers.hub_process import HubProcess


def test_a_home_that_remembers_nothing_starts_no_process_for_it_also_when_it_talks(tmp_path: Path) -> None:
    hub = HubProcess(tmp_path / "home")
    home = Memories(hub, {"memory": {"embeddings": WORDS_ALONE}})
    with hub:
        answer = chat(hub, "I think that the weather was rather nice over there")
        listed = home.call("list")

        assert answer["reply"]
        assert listed == []
        assert home.worker() is None
        assert not home.index.exists()


def test_what_is_there_at_the_start_is_indexed_without_being_asked(tmp_path: Path) -> None:
    hub = HubProcess(tmp_path / "home")
    home = Memories(hub, {"memory": {"embeddings": WORDS_ALONE}})
    home.write("memory/2026-05-12.md", "# A day\n\n- The boiler was serviced\n")
    with hub:
        until((home.index / "current").exists)
        worker = until(home.worker)

    assert worker is not None
    assert not is_worker(worker)


def test_an_index_of_what_is_gone_is_brought_up_to_date_at_the_start(tmp_path: Path) -> None:
    hub = HubProcess(tmp_path / "home")
    home = Memories(hub, {"memory": {"embeddings": WORDS_ALONE}})
    file = home.write("memory/2026-05-12.md", "# A day\n\n- The zebrafish likes algae\n")
    with hub:
        home.until_found("zebrafish", "memory/2026-05-12.md", by="keywords:fts5")
    file.unlink()

    with hub:
        home.until_gone("zebrafish", "memory/2026-05-12.md")

        assert home.until_whole()["files"] == 0


def test_the_tools_are_there_in_every_home(tmp_path: Path) -> None:
    hub = HubProcess(tmp_path / "home")
    Memories(hub, {"memory": {"embeddings": WORDS_ALONE}})
    with hub:
        ask(hub, "hello")

        assert integration(hub, "notes")["state"] == "set_up"
        names = {each["name"] for each in hub.rpc("tools.catalog")["tools"]}

    assert {"remember", "memory_search", "memory_get", "forget"} <= names


def test_settings_that_change_while_it_is_indexed_neither_hold_it_up_nor_lose_the_answer(tmp_path: Path) -> None:
    hub = HubProcess(tmp_path / "home")
    with EmbeddingServer() as server, ThreadPoolExecutor(1) as pool:
        server.set(delay_s=1)
        home = Memories(hub, {"memory": {"embeddings": at_server(server.base_url, timeout=60)}})
        for path, text in corpus(5, 10).items():
            home.write(path, text)
        with hub:
            until(lambda: server.requests)
            indexing = pool.submit(home.indexed)
            home.configure(keywords="whoosh")
            until(lambda: home.engines()[-1] == "keywords:whoosh", 60)
            server.set(delay_s=0)

            assert indexing.result(60)["chunks"] == 50
            home.write("memory/2026-01-01.md", "# A day\n\n- The zebrafish likes algae\n")
            home.until_found("zebrafish", "memory/2026-01-01.md", by="keywords:whoosh")
            assert home.until_whole()["chunks"] == 51


@pytest.mark.parametrize(
    ("text", "provider"),
    [
        ("memory: {embeddings: {provider: none}}", "none"),
        ("hub: {name: Home}", "auto"),
        ("memory: {embeddings: {provider: none}, vectros: chroma}", "local"),
        ("memroy: {embeddings: {provider: none}}", "local"),
    ],
)
def test_a_section_that_is_broken_sends_nothing_to_anybody(tmp_path: Path, text: str, provider: str) -> None:
    (tmp_path / "configuration.yaml").write_text(text, encoding="utf-8")

    settings = settings_in_force(check(tmp_path, Sections(core_sections()), environment={}).config)

    assert settings["embeddings"]["provider"] == provider
    assert settings["search"]["limit"] == 6
