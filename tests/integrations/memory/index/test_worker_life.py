"""The worker's process: there when it is needed, gone when it is not, and never a burden for who asks."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from hub.core.clock import ManualClock
from hub.core.errors import InvalidRequest, Unavailable
from hub.core.tasks import TaskOwner
from integrations.memory.notes.client.index_worker import IndexWorker
from integrations.memory.notes.index.current_version import take_lock
from integrations.memory.notes.job import Source
from tests.integrations.memory.index.conftest import TODAY, Notes


def is_there(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


async def ended(worker: IndexWorker) -> None:
    for _ in iter(lambda: worker.running, False):
        await asyncio.sleep(0.01)


async def rested(worker: IndexWorker, clock: ManualClock, tasks: TaskOwner) -> None:
    """Let nobody ask the worker until another one rests in its place."""
    while "memory index idle" in tasks.names():
        await clock.advance(601)
        await asyncio.sleep(0.01)


async def test_nothing_is_started_before_it_is_needed(notes: Notes) -> None:
    assert (notes.worker.running, notes.worker.pid) == (False, None)

    await notes.worker.sync(notes.job)

    assert notes.worker.running
    assert (await notes.worker.status(notes.job))["worker"]["rss_bytes"] > 1_000_000


async def test_the_hub_loads_nothing_that_the_worker_needs(notes: Notes) -> None:
    program = (
        "import sys; import integrations.memory.notes.worker; "
        "print([name for name in ('numpy', 'sqlite3', 'whoosh', 'chromadb', 'aiohttp') if name in sys.modules])"
    )
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", program, stdout=asyncio.subprocess.PIPE, cwd=Path(__file__).parents[4]
    )

    said, _ = await process.communicate()

    assert said.strip() == b"[]"


async def test_an_idle_worker_gives_way_to_one_that_holds_no_index_and_answers(
    tmp_path: Path, notes: Notes, tasks: TaskOwner
) -> None:
    clock = ManualClock()
    worker = IndexWorker(tmp_path / "index", clock, tasks, idle_s=600)
    notes.write("MEMORY.md", "The boiler\n")
    await worker.sync(notes.job)
    first = worker.pid

    await clock.advance(599)
    assert worker.pid == first
    await rested(worker, clock, tasks)

    lock = take_lock(Path(notes.job.directory))
    assert lock is not None
    os.close(lock)
    resting = worker.pid
    assert worker.awake
    engines: set[str] = set()
    while engines != {"vectors:exact", "keywords:fts5"}:  # who makes vectors may be known a moment later
        engines = set((await worker.search(notes.job, "boiler", ["private"], today=TODAY)).engines)
    assert (worker.pid, first == resting) == (resting, False)
    await rested(worker, clock, tasks)
    assert worker.pid != resting
    await worker.close()


async def test_a_worker_that_rests_is_left_alone(tmp_path: Path, notes: Notes, tasks: TaskOwner) -> None:
    clock = ManualClock()
    worker = IndexWorker(tmp_path / "index", clock, tasks, idle_s=600)
    await worker.sync(notes.job)
    await rested(worker, clock, tasks)
    resting = worker.pid

    await clock.advance(100_000)

    assert (worker.pid, "memory index idle" in tasks.names()) == (resting, False)
    await worker.close()


async def test_a_worker_that_dies_at_rest_is_started_by_the_next_question(
    tmp_path: Path, notes: Notes, tasks: TaskOwner
) -> None:
    clock = ManualClock()
    worker = IndexWorker(tmp_path / "index", clock, tasks, idle_s=600)
    notes.write("MEMORY.md", "The boiler\n")
    await worker.sync(notes.job)
    await rested(worker, clock, tasks)
    os.kill(worker.pid or 0, signal.SIGKILL)
    await ended(worker)

    assert not worker.awake
    assert (await worker.search(notes.job, "boiler", ["private"], today=TODAY)).hits != []
    await worker.close()


async def test_a_worker_that_is_about_to_rest_is_closed_all_the_same(
    tmp_path: Path, notes: Notes, tasks: TaskOwner
) -> None:
    clock = ManualClock()
    worker = IndexWorker(tmp_path / "index", clock, tasks, idle_s=600)
    await worker.sync(notes.job)
    await clock.advance(601)

    await worker.close()

    assert not worker.running


async def test_a_closed_worker_is_not_started_again(notes: Notes) -> None:
    await notes.worker.sync(notes.job)
    pid = notes.worker.pid

    await notes.worker.close()
    await notes.worker.close()

    assert pid is not None
    assert not is_there(pid)
    with pytest.raises(Unavailable, match="closed"):
        await notes.search("anything")


async def test_a_worker_that_keeps_dying_is_waited_for_longer_each_time(tmp_path: Path, notes: Notes) -> None:
    clock, tasks = ManualClock(), TaskOwner("dying")
    worker = IndexWorker(tmp_path / "index", clock, tasks)
    waits = []
    for _ in range(4):
        while not worker.running:
            try:
                await worker.status(notes.job)
            except Unavailable as error:
                waits.append(error.retry_after_s)
                await clock.advance(error.retry_after_s or 0)
        os.kill(worker.pid or 0, signal.SIGKILL)
        await ended(worker)

    assert waits == [0.5, 1.0]
    await worker.close()
    await tasks.cancel_all()


async def test_a_call_that_is_given_up_does_no_harm(notes: Notes) -> None:
    for number in range(200):
        notes.write(f"memory/note-{number}.md", f"unique{number} thing\n")
    call = asyncio.ensure_future(notes.worker.sync(notes.job, force=True))
    await asyncio.wait([call], timeout=1.0)

    call.cancel()
    await asyncio.wait([call])

    assert (await notes.worker.sync(notes.job)).files == 200
    assert (await notes.paths("unique77"))[0] == "memory/note-77.md"


async def test_searches_are_answered_while_files_are_indexed(notes: Notes) -> None:
    notes.write("memory/first.md", "The zebra eats\n")
    await notes.worker.sync(notes.job)
    for number in range(1_500):
        notes.write(f"memory/note-{number}.md", f"# Note {number}\n\nThe unique{number} thing is red\n")
    indexing = asyncio.ensure_future(notes.worker.sync(notes.job))

    answered = 0
    while not indexing.done():
        assert "memory/first.md" in await notes.paths("zebra")
        answered += 1

    assert answered > 0
    assert (await indexing).files == 1_501


async def test_what_the_worker_does_not_understand_is_refused_and_it_lives_on(notes: Notes) -> None:
    notes.write("MEMORY.md", "The boiler\n")
    await notes.worker.sync(notes.job)
    pid = notes.worker.pid

    with pytest.raises(InvalidRequest, match="64-bit"):
        await notes.search("boiler", limit=1 << 64)
    with pytest.raises(InvalidRequest, match="a frame has at most"):
        await notes.worker.search(notes.job, "x" * 40_000_000, ["private"])

    assert (await notes.search("boiler")).hits != []
    assert notes.worker.pid == pid


async def test_two_agents_have_an_index_each(notes: Notes, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "MEMORY.md").write_text("The submarine\n", encoding="utf-8")
    notes.write("MEMORY.md", "The boiler\n")
    second = replace(
        notes.job, agent_id="second", directory=str(tmp_path / "index" / "second"), sources=(Source("", str(other)),)
    )

    await asyncio.gather(notes.worker.sync(notes.job), notes.worker.sync(second))

    assert [hit.text for hit in (await notes.search("submarine boiler")).hits] == ["The boiler"]
    found = await notes.worker.search(second, "submarine boiler", ["private"], today=TODAY)
    assert [hit.text for hit in found.hits] == ["The submarine"]


async def test_the_clock_of_the_hub_says_which_day_it_is(notes: Notes, tasks: TaskOwner) -> None:
    clock = ManualClock()
    await notes.worker.close()
    notes.worker = IndexWorker(notes.directory.parent, clock, tasks)
    today = clock.now().date()
    notes.write(f"memory/{today}.md", f"# {today}\n\n- the submarine\n")
    await notes.worker.sync(notes.job)

    found = await notes.worker.search(notes.job, "submarine today", ["private"])

    assert len(found.hits) == 1
