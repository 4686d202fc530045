"""The memory with its index in a process of its own: what is written is found at once, what is gone is gone there."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from hub.core.clock import Clock
from hub.core.tasks import TaskOwner
from hub.memory.contract import Filters, Forget, MemoryKind
from hub.memory.schema import MEMORY_SCHEMA
from integrations.memory.notes.client.index_worker import IndexWorker
from tests.integrations.memory.notes_house import ANNA, NOBODY, OTHER_ROOM, OWNER, ROOM, TODAY, Notes


def by_words_alone() -> dict[str, object]:
    section = MEMORY_SCHEMA({"embeddings": {"provider": "none"}})
    return {key: section[key] for key in ("embeddings", "vectors", "keywords", "chunks", "search")}


@pytest.fixture
async def indexed(tmp_path: Path) -> AsyncIterator[Notes]:
    tasks = TaskOwner("test")
    worker = IndexWorker(tmp_path / "index", Clock(), tasks)
    yield Notes(tmp_path, worker=worker, settings=by_words_alone())
    await worker.close()
    await tasks.cancel_all()


async def started(notes: Notes) -> None:
    """Search until the index answers: to start it may take longer than a search waits."""
    while tuple((await notes.memory.search("tea", agent_id="main", scope=OWNER)).engines) != ("keywords:fts5",):
        pass


async def finds(notes: Notes, query: str, expected: list[str]) -> None:
    """Search until it finds this: a write that takes long is in the index a moment later."""
    async with asyncio.timeout(60):
        while sorted(await notes.found(query)) != expected:
            pass


async def test_what_is_written_is_found_by_the_next_search(indexed: Notes) -> None:
    await started(indexed)

    await indexed.put("the boiler was serviced", MemoryKind.DECISION)
    await finds(indexed, "boiler", ["the boiler was serviced"])
    await indexed.put("the boiler is new", replaces="boiler serviced")
    await finds(indexed, "boiler", ["the boiler is new"])
    await indexed.rewrite(TODAY, "- 锅炉在5月12日保养过\n")
    await finds(indexed, "锅炉什么时候保养的?", ["- 锅炉在5月12日保养过"])
    await indexed.remove(Forget("锅炉"))
    assert await indexed.found("锅炉") == []
    assert await indexed.search("boiler", filters=Filters(kind=MemoryKind.TODO)) == []


async def test_each_finds_their_own_through_the_index(indexed: Notes) -> None:
    await started(indexed)
    for name, scope in {"owner": OWNER, "anna": ANNA, "room": ROOM}.items():
        await indexed.put(f"canary {name}", scope=scope)
    await indexed.put("canary shared", scope=ANNA, shared=True)
    await indexed.memory.sync(agent_id="main")

    found = [sorted(await indexed.found("canary", scope)) for scope in (OWNER, ANNA, ROOM, OTHER_ROOM, NOBODY)]

    assert found == [
        ["canary owner", "canary shared"],
        ["canary anna", "canary shared"],
        ["canary room", "canary shared"],
        [],
        [],
    ]
    assert (await indexed.memory.verify(agent_id="main")).problems == []


async def test_a_worker_that_is_killed_is_not_missed(indexed: Notes) -> None:
    await indexed.put("the boiler was serviced")
    await started(indexed)
    status = await indexed.memory.status(agent_id="main")

    os.kill(status["index"]["worker"]["pid"], signal.SIGKILL)

    assert await indexed.found("boiler") == ["the boiler was serviced"]
    await indexed.put("the boiler is loud")
    await finds(indexed, "boiler", ["the boiler is loud", "the boiler was serviced"])
