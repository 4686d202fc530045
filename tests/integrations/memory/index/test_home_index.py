"""Several homes in one index process: each sees its own, and one that is closed leaves the others alone."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import nullcontext
from pathlib import Path

import pytest

from hub.core.clock import ALWAYS, Clock
from hub.core.lanes import Lanes
from hub.core.tasks import TaskOwner
from hub.host import Share
from hub.storage.database import Database
from integrations.memory.notes.client.home_index import NAME, HomeIndex
from integrations.memory.notes.job import Job, Source
from tests.integrations.memory.index.conftest import TODAY

BY_WORDS = {"embeddings": {"provider": "none"}}


@pytest.fixture
async def share(tmp_path: Path) -> AsyncIterator[Share]:
    """What a worker gives its homes."""
    tasks = TaskOwner("worker")
    share = Share(
        lease=ALWAYS,
        database=lambda path: Database(path, []),
        lanes=Lanes(),
        checks={},
        cache=tmp_path / "cache",
        tasks=tasks,
        made={},
        apart=nullcontext,
    )
    yield share
    await share.made[NAME].close()
    await tasks.cancel_all()


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
