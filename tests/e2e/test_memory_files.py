"""What editors, people and other programs do to the files: found within moments, in whichever way they were saved."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.homes import make_home
from tests.e2e.memories import WORDS_ALONE, Memories
from tests.e2e.talk import ask, until
from tests.servers.hub_process import HubProcess
from tests.servers.openai_server import OpenAIServer

NOTE = "memory/2026-05-12.md"
PEOPLE = [
    {"id": "me", "name": "Me", "owner": True},
    {"id": "anna", "name": "Anna", "identities": ["doorbell:user:8"]},
]


def day(text: str) -> str:
    return f"# A day\n\n- {text}\n"


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memories]:
    hub = HubProcess(tmp_path_factory.mktemp("files") / "home")
    memories = Memories(hub, {"people": PEOPLE, "memory": {"embeddings": WORDS_ALONE}})
    with hub:
        yield memories
    assert "Traceback" not in hub.log.read_text()


@pytest.fixture
def home(running: Memories) -> Iterator[Memories]:
    """A memory that an index already has."""
    running.write(NOTE, day("The boiler was serviced"))
    running.until_found("boiler", NOTE, by="keywords:fts5")
    yield running
    shutil.rmtree(running.workspace / "memory")
    running.until_gone("boiler piano zebrafish", NOTE)


def test_a_file_written_in_place_is_found_and_what_stood_there_is_not(home: Memories) -> None:
    home.write(NOTE, day("The piano was tuned"))

    home.until_found("piano", NOTE, by="keywords:fts5")

    assert NOTE not in home.paths("boiler")


def test_a_file_put_in_place_of_another_is_found(home: Memories) -> None:
    home.save(NOTE, day("The piano was tuned"))

    home.until_found("piano", NOTE, by="keywords:fts5")

    assert NOTE not in home.paths("boiler")


def test_a_line_that_is_added_at_the_end_is_found(home: Memories) -> None:
    with (home.workspace / NOTE).open("a") as file:
        file.write("- The piano was tuned\n")

    home.until_found("piano", NOTE, by="keywords:fts5")

    assert NOTE in home.paths("boiler")


def test_a_deleted_file_is_found_no_more(home: Memories) -> None:
    (home.workspace / NOTE).unlink()

    home.until_gone("boiler", NOTE)

    assert home.until_whole()["files"] == 0


def test_a_moved_file_is_found_where_it_is(home: Memories) -> None:
    (home.workspace / "memory" / "house").mkdir()
    os.rename(home.workspace / NOTE, home.workspace / "memory" / "house" / "heating.md")

    home.until_found("boiler", "memory/house/heating.md")

    home.until_gone("boiler", NOTE)


def test_a_whole_folder_of_memory_may_go_and_come_again(home: Memories) -> None:
    memory, aside = home.workspace / "memory", home.workspace / "aside"
    os.rename(memory, aside)
    home.until_gone("boiler", NOTE)

    os.rename(aside, memory)

    home.until_found("boiler", NOTE, by="keywords:fts5")
    home.write("memory/new.md", day("The piano was tuned"))
    home.until_found("piano", "memory/new.md")


def test_the_curated_file_is_watched_too(home: Memories) -> None:
    home.write("MEMORY.md", "# Memory\n\n- We have a zebrafish\n")
    home.until_found("zebrafish", "MEMORY.md")

    (home.workspace / "MEMORY.md").unlink()

    home.until_gone("zebrafish", "MEMORY.md")


def test_what_is_no_markdown_or_hidden_is_not_searched(home: Memories) -> None:
    home.write("memory/.secret.md", day("The zebrafish is hidden"))
    home.write("memory/zebrafish.txt", "zebrafish")
    home.write("notes.md", day("The zebrafish is no memory"))
    home.write("memory/piano.md", day("The piano was tuned"))

    home.until_found("piano", "memory/piano.md", by="keywords:fts5")

    assert home.paths("zebrafish") == []


def test_a_file_that_cannot_be_read_as_text_does_no_harm_to_others(home: Memories) -> None:
    (home.workspace / "memory" / "broken.md").write_bytes(b"\xff\xfe\x00zebrafish\x80" * 100)
    home.write("memory/piano.md", day("The piano was tuned"))

    home.until_found("piano", "memory/piano.md", by="keywords:fts5")

    assert home.verified()["files"] >= 2


def test_further_paths_are_searched_as_configured_and_never_written(running: Memories, tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "fish.md").write_text(day("The zebrafish likes algae"))
    (tmp_path / "Our House.md").write_text(day("The cellar floods"))

    running.configure(extra_paths=[str(tmp_path / "notes"), {"path": str(tmp_path / "Our House.md"), "trusted": True}])
    fish = running.until_found("zebrafish", "extra/notes/fish.md", by="keywords:fts5")
    cellar = running.until_found("cellar", "extra/our-house/Our House.md", by="keywords:fts5")

    assert [fish["hits"][0]["trusted"], cellar["hits"][0]["trusted"]] == [False, True]
    (tmp_path / "notes" / "fish.md").write_text(day("The goldfish likes peas"))
    running.until_found("goldfish", "extra/notes/fish.md")
    running.until_gone("zebrafish", "extra/notes/fish.md")
    assert running.printed("forget", "goldfish", "--yes").startswith("Nothing matches;")
    running.configure(extra_paths=[])
    running.until_gone("goldfish cellar", "extra/notes/fish.md")
    running.until_gone("cellar", "extra/our-house/Our House.md")
    assert running.texts() == {}


def test_a_further_path_that_comes_later_is_searched_then(running: Memories, tmp_path: Path) -> None:
    later = tmp_path / "years" / "later"
    running.configure(extra_paths=[{"path": str(later), "name": "later"}])
    until(lambda: "later" in str((running.status()["index"] or {}).get("problem")))

    later.mkdir(parents=True)
    (later / "fish.md").write_text(day("The zebrafish likes algae"))

    running.until_found("zebrafish", "extra/later/fish.md")
    until(lambda: running.repairs() == [])
    running.configure(extra_paths=[])
    running.until_gone("zebrafish", "extra/later/fish.md")


def test_a_shared_further_path_is_for_everybody_of_this_home_and_a_private_one_is_not(
    tmp_path: Path, openai_server: OpenAIServer
) -> None:
    hub = HubProcess(tmp_path / "home")
    (tmp_path / "house.md").write_text(day("The cellar floods when it rains"))
    (tmp_path / "mine.md").write_text(day("The cellar hides presents when it rains"))
    paths = [
        {"path": str(tmp_path / "house.md"), "area": "shared", "trusted": True},
        {"path": str(tmp_path / "mine.md"), "trusted": True},
    ]
    home = talking(hub, openai_server, extra_paths=paths)
    with hub:
        home.until_found("cellar", "extra/house/house.md", by="keywords:fts5")

        of_anna = searched(hub, openai_server, "cellar rains", by_anna=True)
        of_owner = searched(hub, openai_server, "cellar rains")

    assert ("floods" in of_anna, "presents" in of_anna) == (True, False)
    assert ("floods" in of_owner, "presents" in of_owner) == (True, True)


def test_conversations_are_searched_when_wanted_and_only_by_those_who_had_them(
    tmp_path: Path, openai_server: OpenAIServer
) -> None:
    hub = HubProcess(tmp_path / "home")
    home = talking(hub, openai_server)
    with hub:
        ask(hub, "The zebrafish of mine likes algae")
        ring(hub, openai_server, "My zebrafish is a secret of Anna")
        until(lambda: home.status()["index"] is not None)
        off = home.paths("zebrafish")

        home.configure(transcripts=True)
        on = until(lambda: home.search("zebrafish")["hits"])
        until(lambda: home.verified()["ok"])  # of each conversation
        of_anna = searched(hub, openai_server, "zebrafish", by_anna=True)

        home.configure(transcripts=False)
        until(lambda: home.paths("zebrafish") == [])

    assert off == []
    assert all(hit["path"].startswith("transcripts/") for hit in on)
    assert "secret of Anna" not in str(on)
    assert "likes algae" not in of_anna
    assert "secret of Anna" in of_anna


def test_a_second_agent_has_its_own_memory_and_its_workspace_may_come_later(running: Memories, tmp_path: Path) -> None:
    cook = Memories(running.hub, running.sections, "cook")
    agents = [{"id": "main", "default": True}, {"id": "cook", "workspace": str(tmp_path / "later" / "kitchen")}]
    running.sections["agents"] = agents
    running.configure()
    cook.workspace = tmp_path / "later" / "kitchen"
    until(lambda: f"first files of the workspace {cook.workspace}" in running.hub.log.read_text())
    cook.workspace.parent.rename(tmp_path / "gone")

    cook.write(NOTE, day("The zebrafish is not for dinner"))

    cook.until_found("zebrafish", NOTE, by="keywords:fts5")
    assert running.paths("zebrafish") == []
    assert cook.call("search", "zebrafish", "--agent", "cook")["hits"][0]["path"] == NOTE
    cook.call("add", "The oven is hot", "--agent", "cook")
    assert "oven" in "".join(text.decode() for text in cook.texts().values())
    del running.sections["agents"]
    running.configure()
    until(lambda: len(running.hub.rpc("status")["agents"]) == 1)


def talking(hub: HubProcess, openai_server: OpenAIServer, **memory: Any) -> Memories:
    """A home whose agent answers with the scripted model, and where Anna comes to the door."""
    provider = {
        "api": "openai",
        "base_url": openai_server.base_url,
        "api_key": "test-key-0123456789",
        "models": [{"id": "scripted"}],
    }
    sections = {
        "models": {"default": "test/scripted", "providers": {"test": provider}},
        "people": PEOPLE,
        "doorbell": {"place": "front door", "dm_policy": "pairing"},
        "memory": {"embeddings": WORDS_ALONE, "recall": {"direct": False}, **memory},
    }
    make_home(hub.home, "", own=("doorbell",))
    return Memories(hub, sections)


def ring(hub: HubProcess, openai_server: OpenAIServer, text: str) -> None:
    """Let Anna say something, and wait until it is answered."""
    before = len(openai_server.requests())
    status, _ = hub.post("/doorbell", {"id": str(before), "who": "8", "text": text})
    assert status == 200
    until(lambda: len(openai_server.requests()) > before and openai_server.requests()[-1]["ended"])


def searched(hub: HubProcess, openai_server: OpenAIServer, query: str, *, by_anna: bool = False) -> str:
    """What the tool `memory_search` tells the model when the owner, or Anna, asks."""
    call_id = f"search-{by_anna}"
    call = {"name": "memory_search", "arguments": {"query": query}, "id": call_id}
    openai_server.queue({"tool_call": call}, "Found.")
    if by_anna:
        ring(hub, openai_server, "Look into your memory")
    else:
        ask(hub, "Look into your memory")
    return until(lambda: _told(openai_server, call_id))


def _told(openai_server: OpenAIServer, call_id: str) -> str:
    messages = openai_server.requests()[-1]["body"]["messages"]
    return "".join(str(each["content"]) for each in messages if each.get("tool_call_id") == call_id)
