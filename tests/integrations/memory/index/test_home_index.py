"""Several homes in one index process: each sees its own, and one that is closed leaves the others alone."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, nullcontext
from pathlib import Path
from typing import Any

import pytest

from hub.core.clock import ALWAYS, Clock
from hub.core.lanes import Lanes
from hub.core.tasks import TaskOwner
from hub.host import Share
from hub.memory.scope import MemoryScope
from hub.security.root import Root
from hub.storage.database import Database
from integrations.memory.notes.client.home_index import NAME, HomeIndex
from integrations.memory.notes.job import Job, Source
from integrations.memory.notes.memory import NotesMemory
from tests.integrations.memory.engines.conftest import ChromaServer
from tests.integrations.memory.engines.kinds import SERVER_S
from tests.integrations.memory.index.conftest import TODAY
from tests.servers.embedding_server import EmbeddingServer

BY_WORDS = {"embeddings": {"provider": "none"}}
OWNER = MemoryScope(None, private=True, shared=True)


@asynccontextmanager
async def worker(cache: Path) -> AsyncIterator[Share]:
    """What a worker gives its homes, with an index process of its own."""
    tasks = TaskOwner("worker")
    share = Share(
        lease=ALWAYS,
        database=lambda path: Database(path, []),
        lanes=Lanes(),
        checks={},
        cache=cache,
        tasks=tasks,
        made={},
        apart=nullcontext,
    )
    try:
        yield share
    finally:
        await share.made[NAME].close()
        await tasks.cancel_all()


@pytest.fixture
async def share(tmp_path: Path) -> AsyncIterator[Share]:
    async with worker(tmp_path / "cache") as share:
        yield share


@pytest.fixture
def chroma(tmp_path: Path, server: EmbeddingServer) -> Iterator[dict[str, Any]]:
    """The settings of memories whose vectors are on one Chroma server."""
    running = ChromaServer(tmp_path / "chroma")
    engine = {"module": "integrations.memory.chroma.engine", "settings": {"url": running.url, "timeout_s": SERVER_S}}
    embeddings = {"provider": "openai", "base_url": server.base_url, "model": "words", "timeout": 60}
    yield {"embeddings": embeddings, "vectors": "chroma", "engines": {"chroma": engine}}
    running.stop()


def home_job(folder: Path, text: str, settings: dict[str, Any]) -> Job:
    """Write what a home remembers, and return the job for it."""
    (folder / "workspace" / "memory").mkdir(parents=True, exist_ok=True)
    (folder / "workspace" / "MEMORY.md").write_text(text)
    return Job("main", str(folder / "index"), (Source("", str(folder / "workspace")),), settings)


def damage(index: Path) -> None:
    """Damage what is kept of the names on the server."""
    (facts,) = index.glob("*/vectors/chroma.json")
    facts.write_text("damaged")


async def by_meaning(home: HomeIndex, job: Job) -> list[str]:
    """Return what a home finds once its index is complete."""
    await home.sync(job)
    found = await home.search(job, "boiler", ["private"], today=TODAY)
    assert found.engines == ["vectors:chroma", "keywords:fts5"], found
    return [hit.text.strip() for hit in found.hits]


async def test_homes_share_a_process_and_see_only_their_own(tmp_path: Path, share: Share) -> None:
    homes = {}
    for name, text in (("elm", "The boiler is new\n"), ("oak", "The boiler is old\n")):
        workspace = tmp_path / name
        (workspace / "memory").mkdir(parents=True)
        (workspace / "MEMORY.md").write_text(text)
        job = Job("main", str(tmp_path / f"{name} index"), (Source("", str(workspace)),), BY_WORDS)
        homes[name] = HomeIndex(share, name, Clock(), TaskOwner(name)), job

    for index, job in homes.values():
        await index.sync(job)
    found = {
        name: [hit.text.strip() for hit in (await index.search(job, "boiler", ["private"], today=TODAY)).hits]
        for name, (index, job) in homes.items()
    }

    assert found == {"elm": ["The boiler is new"], "oak": ["The boiler is old"]}
    (elm, elms_job), (oak, oaks_job) = homes.values()
    assert elm.pid == oak.pid
    process = elm.pid
    await elm.close()
    assert (await oak.search(oaks_job, "boiler", ["private"], today=TODAY)).hits
    again = HomeIndex(share, "elm", Clock(), TaskOwner("elm"))
    assert (await again.search(elms_job, "boiler", ["private"], today=TODAY)).hits
    assert again.pid == process


async def test_homes_on_one_chroma_server_find_their_own_whatever_was_copied_or_made_again(
    tmp_path: Path, share: Share, chroma: dict[str, Any]
) -> None:
    texts = {name: f"The boiler of {name} is new" for name in ("a", "a_b", "A")}
    jobs = {name: home_job(tmp_path / f"home {name}", text, chroma) for name, text in texts.items()}
    homes = {name: HomeIndex(share, name, Clock(), TaskOwner(name)) for name in texts}
    for name, job in jobs.items():
        assert await by_meaning(homes[name], job) == [texts[name]]

    await homes["a"].close()
    shutil.copytree(tmp_path / "home a", tmp_path / "home copy")
    copy_job = home_job(tmp_path / "home copy", "The boiler of the copy is old", chroma)
    copy = HomeIndex(share, "copy", Clock(), TaskOwner("copy"))
    assert await by_meaning(copy, copy_job) == ["The boiler of the copy is old"]
    await homes["a_b"].close()
    shutil.rmtree(tmp_path / "home a_b")
    jobs["a_b"] = home_job(tmp_path / "home a_b", "The boiler is another", chroma)

    assert await by_meaning(homes["a"], jobs["a"]) == [texts["a"]]
    assert await by_meaning(homes["a_b"], jobs["a_b"]) == ["The boiler is another"]


@pytest.mark.parametrize("is_lost", [False, True])
async def test_a_home_that_moves_to_another_worker_answers_at_once_with_or_without_its_index(
    is_lost: bool, tmp_path: Path, share: Share, chroma: dict[str, Any]
) -> None:
    folder = tmp_path / "elm"
    job = home_job(folder, "The boiler is new", chroma)
    before = HomeIndex(share, "elm", Clock(), TaskOwner("elm"))
    assert await by_meaning(before, job) == ["The boiler is new"]
    await before.close()
    if is_lost:
        shutil.rmtree(job.directory)

    async with worker(tmp_path / "another") as other:
        tasks = TaskOwner("elm")
        index = HomeIndex(other, "elm", Clock(), tasks)
        memory = NotesMemory(
            lambda agent_id: Root(folder / "workspace"),
            lambda agent_id: job,
            index,
            history_of=lambda agent_id: folder / "history",
            tasks=tasks,
        )
        making = asyncio.create_task(memory.sync(agent_id="main"))
        first = await memory.search("boiler", agent_id="main", scope=OWNER, within_s=0.3)
        await making

        assert [hit.text.strip() for hit in first.hits] == ["The boiler is new"]
        assert await by_meaning(index, job) == ["The boiler is new"]
        assert index.pid != before.pid
        await memory.close()


async def test_facts_that_are_damaged_are_made_again_beside_a_server(
    tmp_path: Path, share: Share, chroma: dict[str, Any]
) -> None:
    job = home_job(tmp_path / "elm", "The boiler is new", chroma)
    home = HomeIndex(share, "elm", Clock(), TaskOwner("elm"))
    await by_meaning(home, job)
    await home.close()
    damage(Path(job.directory))

    assert await by_meaning(home, job) == ["The boiler is new"]
