"""A search says what it went without, and never fails while one engine is left."""

from __future__ import annotations

import pytest

from integrations.memory.notes.index.index_work import IndexUnavailable
from tests.integrations.memory.index.conftest import Notes, Shelf
from tests.servers.embedding_server import EmbeddingServer
from tests.until import until


async def test_nothing_is_missed_when_no_vectors_are_wanted(shelf: Shelf) -> None:
    shelf.notes.words_alone()
    shelf.notes.write("MEMORY.md", "The boiler\n")
    await shelf.index.close()
    await shelf.reopen()

    answer = await shelf.settled("boiler")

    assert (answer.engines, answer.degraded) == (["keywords:fts5"], None)


async def test_a_query_that_cannot_be_embedded_is_answered_by_word_with_the_reason(
    shelf: Shelf, server: EmbeddingServer
) -> None:
    shelf.notes.write("MEMORY.md", "The boiler\n")
    await shelf.index.sync()
    server.queue({"status": 401, "message": "the key was revoked", "times": 9})

    answer = await shelf.search("boiler works")

    assert answer.engines == ["keywords:fts5"]
    assert answer.degraded is not None
    assert answer.degraded.startswith("vectors cannot be asked")
    assert answer.hits[0].path == "MEMORY.md"


async def test_who_cannot_wait_for_a_vector_is_answered_by_word_and_the_vector_is_kept_for_the_next_time(
    shelf: Shelf, server: EmbeddingServer
) -> None:
    shelf.notes.write("MEMORY.md", "The boiler\n")
    await shelf.index.sync()
    server.set(delay_s=1.0)

    answer = await shelf.search("boiler works", within_s=0.1)

    assert (answer.engines, [hit.path for hit in answer.hits]) == (["keywords:fts5"], ["MEMORY.md"])
    assert "in time" in (answer.degraded or "")
    while answer.degraded is not None:
        answer = await shelf.search("boiler works", within_s=0.1)
    assert set(answer.engines) == {"vectors:exact", "keywords:fts5"}


async def test_what_could_not_be_embedded_is_embedded_later(shelf: Shelf, server: EmbeddingServer) -> None:
    server.queue({"status": 401, "message": "not today", "always": True})
    shelf.notes.write("MEMORY.md", "The boiler\n")
    await shelf.index.sync()
    assert shelf.index.problems != {}
    server.reset()

    await shelf.reopen()  # the wait after a failure is not for a new start
    await shelf.index.sync()

    assert shelf.index.problems == {}
    assert (await shelf.settled("boiler")).hits[0].vector_score is not None


async def test_a_damaged_index_is_not_asked_but_deleted_and_rebuilt(shelf: Shelf) -> None:
    shelf.notes.write("MEMORY.md", "The boiler\n")
    await shelf.index.sync()
    version = shelf.index.version
    assert version is not None
    version.note_damage(ValueError("spoilt"))

    with pytest.raises(IndexUnavailable, match="damaged"):
        await shelf.search("boiler")

    answer = await shelf.settled("boiler")
    assert answer.hits[0].path == "MEMORY.md"
    assert set(answer.engines) == {"vectors:exact", "keywords:fts5"}
    await until(lambda: not version.directory.exists())


async def test_engines_of_which_the_package_is_missing_give_way_to_ours(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "whoosh", None)
    module = "integrations.memory.whoosh.engine"
    shelf.notes.settings(keywords="whoosh", engines={"whoosh": {"module": module, "settings": {}}})
    shelf.notes.write("MEMORY.md", "The boiler\n")
    for name in [name for name in sys.modules if name == "integrations.memory.whoosh.index"]:
        monkeypatch.delitem(sys.modules, name)
    await shelf.reopen()

    await shelf.index.sync()
    answer = await shelf.search("boiler")

    assert "keywords:fts5" in answer.engines
    assert "script/setup --add whoosh" in (answer.degraded or "")


async def test_an_engine_that_does_not_exist_is_told_and_ours_answers(notes: Notes) -> None:
    notes.settings(keywords="nonsense")
    notes.write("MEMORY.md", "The boiler\n")

    answer = await notes.again("boiler")

    assert [hit.path for hit in answer.hits] == ["MEMORY.md"]
    assert "nonsense" in (answer.degraded or "")
