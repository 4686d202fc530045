"""There is no room on the disk: what was written stays, search goes on, and all is well once there is room."""

from __future__ import annotations

import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.memories import Memories, at_server, corpus
from tests.e2e.talk import until
from tests.servers.embedding_server import EmbeddingServer
from tests.servers.hub_process import HubProcess

QUESTION, PLACE = "boiler number77", "memory/2015-01-04.md"
NEW = "memory/2026-01-01.md"
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="limits of another process are set on Linux alone")


def filled(home: Memories) -> dict[str, bytes]:
    for path, text in corpus(10, 20).items():
        home.write(path, text)
    return home.texts()


@pytest.fixture
def tight(tmp_path: Path, server: EmbeddingServer) -> Iterator[Memories]:
    """A home on a disk of its own, which is small."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", disk], capture_output=True, text=True, check=False
    )
    if mounted.returncode != 0:
        pytest.skip(f"a disk can be mounted by root alone: {mounted.stderr}")
    hub = HubProcess(disk / "home")
    hub.log = tmp_path / "hub.log"
    try:
        yield Memories(hub, {"memory": {"embeddings": at_server(server.base_url)}})
        hub.__exit__(None, None, None)
    finally:
        subprocess.run(["umount", "-l", disk], check=True)


def fill_up(home: Memories) -> Path:
    """Leave no room on the disk of a home."""
    ballast = home.hub.home.parent / "ballast"
    with ballast.open("wb", buffering=0) as file:
        for size in (1_000_000, 4_096, 1):
            try:
                while True:
                    file.write(b"x" * size)
            except OSError:
                continue
    return ballast


def test_on_a_full_disk_nothing_is_lost_and_search_goes_on(tight: Memories) -> None:
    before = filled(tight)
    tight.hub.start()
    tight.until_found(QUESTION, PLACE, by="vectors:exact")
    tight.until_whole()
    ballast = fill_up(tight)

    refused = tight.hub.cli("memory", "add", "The zebrafish likes algae " * 150)
    found = tight.search(QUESTION)
    rebuilt = tight.indexed(force=True)

    assert refused.returncode == 1
    assert "No space left" in refused.stderr
    assert tight.texts() == before
    assert found["hits"][0]["path"] == PLACE
    assert rebuilt["problem"]
    assert tight.paths(QUESTION)[0] == PLACE
    ballast.unlink()
    tight.call("add", "The zebrafish likes algae")
    until(lambda: "zebrafish" in str(tight.search("zebrafish")["hits"]))
    assert tight.until_whole()["chunks"] == 201
    assert {path: tight.texts()[path] for path in before} == before
    assert not list(tight.workspace.rglob(".homarus-*"))


def test_on_a_disk_that_is_full_from_the_start_search_reads_the_files(tight: Memories) -> None:
    filled(tight)
    tight.hub.start()
    tight.until_whole()
    tight.hub.stop()
    subprocess.run(["rm", "-r", tight.index.parent], check=True)
    before = tight.texts()
    tight.hub.start()
    worker = until(tight.worker)
    ballast = fill_up(tight)

    found = tight.search(QUESTION)

    assert worker
    assert found["hits"][0]["path"] == PLACE
    ballast.unlink()
    tight.until_found(QUESTION, PLACE, by="vectors:exact")
    assert tight.until_whole()["chunks"] == 200
    assert tight.texts() == before


def test_a_worker_that_may_write_no_more_leaves_what_is_there_in_force(tmp_path: Path, server: EmbeddingServer) -> None:
    hub = HubProcess(tmp_path / "home")
    home = Memories(hub, {"memory": {"embeddings": at_server(server.base_url)}})
    before = filled(home)
    with hub:
        home.until_whole()
        worker = until(home.worker)
        assert worker is not None
        _, most = resource.prlimit(worker, resource.RLIMIT_FSIZE)
        resource.prlimit(worker, resource.RLIMIT_FSIZE, (1_000, most))

        home.write(NEW, "# A day\n\n- The zebrafish likes algae\n")
        told = until(home.repairs, 60)
        meanwhile = home.search(QUESTION)

        assert meanwhile["hits"][0]["path"] == PLACE
        assert "The files are unchanged" in told[0]
        resource.prlimit(worker, resource.RLIMIT_FSIZE, (most, most))
        home.until_found("zebrafish", NEW, by="vectors:exact")
        home.until_whole()
        until(lambda: home.repairs() == [], 60)
        assert home.worker() == worker
        assert {path: home.texts()[path] for path in before} == before
