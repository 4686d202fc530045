"""The index comes back by itself: after kill -9 of worker or hub, with files of it gone, cut short or changed."""

from __future__ import annotations

import asyncio
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from hub.core.clock import Clock
from hub.core.errors import Unavailable
from hub.core.tasks import TaskOwner
from hub.memory.contract import SearchAnswer
from integrations.memory.notes.client.index_worker import IndexWorker
from tests.integrations.memory.index.conftest import Notes
from tests.lengths import rounds
from tests.servers.embedding_server import EmbeddingServer
from tests.until import LIMIT_S

REPOSITORY = Path(__file__).parents[4]
NUMBERS = 60


def write_many(notes: Notes, count: int = NUMBERS) -> None:
    for number in range(count):
        notes.write(
            f"memory/note-{number}.md", f"# Note {number}\n\nThe unique{number} thing\n\n## More\n\nIt is red\n"
        )


async def settled(notes: Notes) -> SearchAnswer:
    """Wait until a search has nothing to complain of."""
    while True:
        answer = await notes.again("unique7")
        if answer.degraded is None and answer.hits:
            return answer
        await asyncio.sleep(0.02)


async def sound(notes: Notes) -> None:
    """Wait until the index is whole: it agrees with the files, and there is one generation alone."""
    while True:
        await settled(notes)
        verified = await notes.worker.verify(notes.job)
        if verified.problems == [] and sum(path.name.startswith("g") for path in notes.directory.iterdir()) == 1:
            break
    assert verified.files == NUMBERS


async def test_a_worker_killed_at_any_moment_of_indexing_leaves_an_index_that_heals(
    notes: Notes, tasks: TaskOwner
) -> None:
    write_many(notes)
    chance = random.Random(7)
    for _ in range(rounds(8, 4)):
        work = asyncio.ensure_future(notes.worker.sync(notes.job, force=True))
        await asyncio.wait([work], timeout=chance.uniform(0.3, 1.5))
        if (pid := notes.worker.pid) is not None:
            os.kill(pid, signal.SIGKILL)
        await asyncio.wait([work])
        await notes.reopen(tasks)

    await sound(notes)


async def test_a_call_in_flight_fails_when_the_worker_dies_and_the_next_starts_another(notes: Notes) -> None:
    write_many(notes, 10)
    await notes.worker.sync(notes.job)
    first = notes.worker.pid
    assert first is not None
    os.kill(first, signal.SIGSTOP)
    call = asyncio.ensure_future(notes.search("unique7"))
    await asyncio.sleep(0)

    os.kill(first, signal.SIGKILL)

    with pytest.raises(Unavailable, match="ended"):
        await call
    assert (await notes.again("unique7")).hits
    assert notes.worker.pid not in (None, first)


async def test_a_worker_that_does_not_end_by_itself_is_killed_when_the_memory_is_closed(notes: Notes) -> None:
    await notes.worker.sync(notes.job)
    pid = notes.worker.pid
    assert pid is not None
    os.kill(pid, signal.SIGSTOP)

    async with asyncio.timeout(LIMIT_S):
        await notes.worker.close()

    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


async def test_the_worker_goes_when_the_hub_is_killed(notes: Notes) -> None:
    write_many(notes)
    program = f"""
import asyncio, sys
from pathlib import Path
from hub.core.clock import Clock
from hub.core.tasks import TaskOwner
from integrations.memory.notes.client.index_worker import IndexWorker
from integrations.memory.notes.job import Job, Source
async def main():
    worker = IndexWorker(Path({str(notes.directory.parent)!r}), Clock(), TaskOwner("t"))
    job = Job("main", {str(notes.directory)!r}, (Source("", {str(notes.workspace)!r}),), {dict(notes.job.settings)!r})
    work = asyncio.ensure_future(worker.sync(job, force=True))
    while worker.pid is None:
        await asyncio.sleep(0.01)
    print(worker.pid, flush=True)
    await asyncio.sleep(60)
asyncio.run(main())
"""
    hub = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, cwd=REPOSITORY)  # noqa: ASYNC220
    assert hub.stdout is not None
    pid = int(await asyncio.to_thread(hub.stdout.readline))
    await asyncio.sleep(0.3)

    hub.kill()
    await asyncio.to_thread(hub.wait)

    while is_running(pid):
        await asyncio.to_thread(time.sleep, 0.02)
    await notes.worker.sync(notes.job)
    await sound(notes)


async def test_a_second_worker_does_not_write_where_the_first_does(notes: Notes) -> None:
    write_many(notes, 10)
    await notes.worker.sync(notes.job)
    tasks = TaskOwner("other")
    other = IndexWorker(notes.directory.parent, Clock(), tasks)
    waiting = asyncio.ensure_future(other.sync(notes.job))
    done, _ = await asyncio.wait([waiting], timeout=1.0)
    assert not done

    await notes.worker.close()  # the old one was still finishing

    assert (await waiting).files == 10
    await other.close()
    await tasks.cancel_all()


def is_running(pid: int) -> bool:
    try:
        status = Path(f"/proc/{pid}/stat").read_text(encoding="ascii")
    except FileNotFoundError:
        return False
    return status.rpartition(")")[2].split()[0] != "Z"


def files_of(notes: Notes) -> list[Path]:
    return sorted(path for path in notes.directory.rglob("*") if path.is_file() and path.name != "lock")


async def test_a_directory_that_is_deleted_under_a_running_worker_comes_back(notes: Notes) -> None:
    write_many(notes)
    await notes.worker.sync(notes.job)
    for path in files_of(notes):
        path.unlink()

    await notes.worker.sync(notes.job, force=True)

    await sound(notes)


async def test_an_index_that_is_deleted_with_all_others_is_built_again_once_it_is_searched(notes: Notes) -> None:
    write_many(notes)
    await notes.worker.sync(notes.job)
    shutil.rmtree(notes.directory.parent)

    assert (await notes.search("unique7")).hits
    async with asyncio.timeout(60):
        while not (notes.directory / "current").exists():  # noqa: ASYNC110  it is built by another process
            await asyncio.sleep(0.02)

    assert (await notes.search("unique7")).hits


async def test_vectors_that_cannot_be_made_are_made_when_they_can(notes: Notes, server: EmbeddingServer) -> None:
    server.queue({"status": 401, "message": "no", "times": 50})
    write_many(notes, 10)

    synced = await notes.worker.sync(notes.job)
    answer = await notes.search("unique7")

    assert synced.waiting == synced.chunks
    assert synced.problem is not None
    assert list(answer.engines) == ["keywords:fts5"]
    assert answer.degraded is not None
    assert answer.hits[0].path == "memory/note-7.md"


async def test_another_model_makes_another_index_and_the_old_one_answers_meanwhile(notes: Notes) -> None:
    write_many(notes)
    await notes.worker.sync(notes.job)
    before = notes.version.name
    notes.settings(embeddings={**notes.job.settings["embeddings"], "model": "others"})

    assert (await notes.search("unique7")).hits[0].path == "memory/note-7.md"
    while notes.version.name == before:
        assert (await notes.search("unique7")).hits[0].path == "memory/note-7.md"
        await notes.worker.sync(notes.job)

    await sound(notes)
    assert (await notes.worker.status(notes.job))["embedder"]["model"] == "others"


async def test_other_passages_make_another_index(notes: Notes) -> None:
    notes.write("memory/long.md", "# Long\n\n" + "\n\n".join(f"Paragraph {n} about things." * 5 for n in range(60)))
    before = await notes.worker.sync(notes.job)
    notes.settings(chunks={"tokens": 100, "overlap": 20})

    after = await notes.worker.sync(notes.job)

    assert after.chunks > before.chunks * 2
    assert (await notes.worker.verify(notes.job)).problems == []
