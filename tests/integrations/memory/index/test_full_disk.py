"""A disk that takes no more: what was indexed is found as before, and the rest follows when there is room."""

from __future__ import annotations

import re
import resource
from pathlib import Path

import pytest

from hub.core.errors import Unavailable
from tests.integrations.memory.index.conftest import Notes


def limit(notes: Notes, size_bytes: int) -> None:
    """Let the system refuse the worker to write beyond a size, as it does when the disk is full."""
    pid = notes.worker.pid
    assert pid is not None
    _, hard = resource.prlimit(pid, resource.RLIMIT_FSIZE)
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (size_bytes, hard))


def largest(directory: Path) -> int:
    return max(path.stat().st_size for path in directory.rglob("*") if path.is_file())


def write_some(notes: Notes, first: int, count: int) -> None:
    for number in range(first, first + count):
        notes.write(f"memory/note-{number}.md", f"# Note {number}\n\nThe unique{number} thing. " + "It is red. " * 60)


async def test_new_files_wait_until_there_is_room(notes: Notes) -> None:
    write_some(notes, 0, 20)
    await notes.worker.sync(notes.job)
    limit(notes, largest(notes.directory) + 20_000)
    write_some(notes, 20, 400)

    full = await notes.worker.sync(notes.job)
    answer = await notes.search("unique7")

    assert full.problem is not None
    assert answer.hits[0].path == "memory/note-7.md"
    assert (await notes.worker.status(notes.job))["problem"] is not None

    limit(notes, resource.RLIM_INFINITY)
    roomy = await notes.worker.sync(notes.job)

    assert (roomy.problem, roomy.files) == (None, 420)
    assert await notes.paths("unique411") != []
    assert (await notes.worker.verify(notes.job)).problems == []


async def test_an_index_that_cannot_be_built_leaves_the_old_one_in_force(notes: Notes) -> None:
    write_some(notes, 0, 200)
    await notes.worker.sync(notes.job)
    before = notes.version
    limit(notes, 100_000)

    full = await notes.worker.sync(notes.job, force=True)

    assert full.problem is not None
    assert notes.version == before
    assert [path.name for path in notes.directory.iterdir() if path.name.startswith("g")] == [before.name]
    assert (await notes.search("unique7")).hits[0].path == "memory/note-7.md"

    limit(notes, resource.RLIM_INFINITY)
    roomy = await notes.worker.sync(notes.job, force=True)

    assert (roomy.problem, roomy.files) == (None, 200)
    assert notes.version != before


async def test_a_directory_that_cannot_be_used_is_told(notes: Notes) -> None:
    notes.directory.parent.mkdir(parents=True)
    notes.directory.write_text("somebody put a file here", encoding="utf-8")

    with pytest.raises(Unavailable, match=re.escape(str(notes.directory))):
        await notes.search("anything")
