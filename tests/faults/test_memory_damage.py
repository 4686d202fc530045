"""The index is deleted or spoilt, while the hub runs or is down: no file is touched, and search comes right again."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.e2e.memories import Memories, at_server, corpus, paid_for
from tests.e2e.talk import until
from tests.lengths import LONG, rounds
from tests.servers.embedding_server import EmbeddingServer
from tests.servers.hub_process import HubProcess

QUESTION, PLACE = "boiler number77", "memory/2015-01-04.md"
NEW = "memory/2026-01-01.md"


@pytest.fixture
def home(tmp_path: Path, server: EmbeddingServer) -> Iterator[Memories]:
    """A home that was indexed; at the end its files are what they were."""
    hub = HubProcess(tmp_path / "home")
    home = Memories(hub, {"memory": {"embeddings": at_server(server.base_url)}})
    for path, text in corpus(10, 20).items():
        home.write(path, text)
    home.write("MEMORY.md", "# Memory\n\n- We sleep with the window open\n")
    before = home.texts()
    hub.start()
    home.until_whole()
    yield home
    assert {path: text for path, text in home.texts().items() if path != NEW} == before
    hub.__exit__(None, None, None)
    assert "Traceback" not in hub.log.read_text(), hub.log.read_text()[-4000:]


def kill_both(home: Memories) -> None:
    """Kill hub and worker so that neither closes anything."""
    worker = home.worker()
    assert worker is not None
    os.kill(worker, signal.SIGSTOP)
    home.hub.kill()
    os.kill(worker, signal.SIGKILL)


def is_right(home: Memories, by: str = "vectors:exact") -> None:
    """Wait until search is by both engines again, and the index agrees with the files."""
    found = home.until_found(QUESTION, PLACE, by=by)
    index = home.until_whole()
    assert found["hits"][0]["path"] == PLACE
    home.until_complete(QUESTION)
    assert index["files"] == len(home.texts())


def flip(path: Path) -> None:
    """Change a byte in each stretch of a file."""
    with path.open("r+b") as file:
        data = bytearray(file.read())
        for place in range(len(data) // 3 % 50, len(data), 50):
            data[place] ^= 0x55
        file.seek(0)
        file.write(data)


def cut(path: Path) -> None:
    """Leave the first half of a file."""
    os.truncate(path, path.stat().st_size // 2)


def empty(path: Path) -> None:
    """Leave nothing of a file."""
    os.truncate(path, 0)


def delete(path: Path) -> None:
    """Delete a directory in which somebody may be writing."""
    gone = path.with_name(f"{path.name}.gone")
    path.rename(gone)
    shutil.rmtree(gone, ignore_errors=True)


def is_on_disk(home: Memories) -> bool:
    """Whether the index in force has its files."""
    return (home.index / "current").exists() and home.generation().is_dir()


SPOILS: tuple[Callable[[Path], None], ...] = (flip, cut, empty)


def parts(home: Memories) -> list[str]:
    """The files of the index in force, by their names in it."""
    generation = home.generation()
    return sorted(path.relative_to(generation).as_posix() for path in generation.rglob("*") if path.is_file())


def test_an_index_deleted_under_a_running_hub_is_searched_on_and_made_anew(home: Memories) -> None:
    delete(home.index)

    assert home.paths(QUESTION)[0] == PLACE
    home.write(NEW, "# A day\n\n- The zebrafish likes algae\n")

    home.until_found("zebrafish", NEW, by="vectors:exact")
    is_right(home)
    until(lambda: is_on_disk(home))


def test_all_indexes_and_caches_deleted_under_a_running_hub_are_made_anew(home: Memories) -> None:
    delete(home.index.parent)

    # What the hub looks at by itself may have come first.
    assert home.verified()["ok"] is False or is_on_disk(home)

    is_right(home)
    until(lambda: is_on_disk(home))


def test_an_index_deleted_while_the_hub_is_down_is_made_anew_without_paying_again(
    home: Memories, server: EmbeddingServer
) -> None:
    home.hub.stop()
    shutil.rmtree(home.index)
    paid = paid_for(server)

    home.hub.start()

    is_right(home)
    assert paid_for(server) == paid


@pytest.mark.slow
@pytest.mark.parametrize(("vectors", "keywords"), [("exact", "fts5"), *([("chroma", "whoosh")] if LONG else [])])
def test_files_of_an_index_spoilt_while_the_hub_is_down_are_replaced(
    home: Memories, vectors: str, keywords: str
) -> None:
    """What a damaged file of each engine does is tried without a hub in tests/integrations/memory/engines."""
    home.configure(vectors=vectors, keywords=keywords)
    for number, spoil in enumerate(SPOILS):
        home.until_found(QUESTION, PLACE, by=f"vectors:{vectors}")
        home.until_whole()
        kill_both(home)  # its logs are left beside the databases
        for name in parts(home)[number :: len(SPOILS)]:
            spoil(home.generation() / name)

        home.hub.start()

        is_right(home, by=f"vectors:{vectors}")
    home.hub.kill()
    flip(home.index / "current")
    home.hub.start()
    is_right(home, by=f"vectors:{vectors}")


@pytest.mark.slow
def test_files_of_an_index_spoilt_under_a_running_hub_never_fail_a_search_and_are_replaced(home: Memories) -> None:
    for number, spoil in enumerate(SPOILS[: rounds(3, 1)]):
        for name in parts(home):
            with suppress(FileNotFoundError):  # a search that met with damage may have begun to build another
                spoil(home.generation() / name)
            home.search(QUESTION)
        home.write(NEW, f"# A day\n\n- The zebrafish likes number {number}\n")

        home.until_found("zebrafish", NEW, saying=f"number {number}")
        is_right(home)
        home.hub.kill()
        home.hub.start()
        is_right(home)


@pytest.mark.parametrize(("spoil", "running"), [(flip, True), (cut, False), *([(empty, True)] if LONG else [])])
def test_a_damaged_cache_of_vectors_costs_money_and_nothing_else(
    home: Memories, server: EmbeddingServer, spoil: Callable[[Path], None], running: bool
) -> None:
    cache = home.index.parent / "embeddings.db"
    if not running:
        home.hub.kill()
    for part in (cache, cache.with_name("embeddings.db-wal")):
        if part.exists():
            spoil(part)
    if not running:
        home.hub.start()

    home.write(NEW, "# A day\n\n- The zebrafish likes algae\n")
    home.until_found("zebrafish", NEW, by="vectors:exact")
    home.indexed(force=True)

    is_right(home)
    home.hub.stop()
    home.hub.start()
    is_right(home)
    with sqlite3.connect(f"file:{cache}?mode=ro", uri=True) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


def test_what_is_no_index_at_all_where_the_index_should_be_is_put_aside_or_told(home: Memories) -> None:
    home.hub.stop()
    shutil.rmtree(home.index)
    home.index.write_text("I am a file")

    home.hub.start()
    answer = home.until_told(QUESTION, str(home.index))

    assert answer["hits"][0]["path"] == PLACE
    assert answer["engines"] == ["grep"]
    home.index.unlink()
    is_right(home)
