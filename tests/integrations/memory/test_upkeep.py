"""When an index is looked over: at the start, when a file or a folder changes, when it failed, and when it is old."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from hub.core.clock import ManualClock
from hub.core.errors import Unavailable
from hub.core.events import EventBus
from hub.core.repairs import Repairs
from hub.core.tasks import TaskOwner
from hub.memory.contract import Synced
from integrations.memory.notes.client import upkeep as module
from integrations.memory.notes.client.upkeep import Upkeep
from integrations.memory.notes.job import TRANSCRIPTS, Job, Source
from tests.until import until

LIMIT_S = 60.0


class Rig:
    """An upkeep over a folder, and what it has looked over."""

    def __init__(self, folder: Path, tasks: TaskOwner) -> None:
        self.workspace = folder / "workspace"
        self.extra = folder / "years" / "notes"
        self.sources = [Source("", str(self.workspace)), Source(TRANSCRIPTS, str(folder / "sessions"))]
        self.agents = ["main"]
        self.looked: list[str] = []
        self.problems: list[str | Exception] = []
        self.files = True
        self.clock = ManualClock(1_778_587_200.0)
        self.repairs = Repairs(EventBus(tasks))
        self.upkeep = Upkeep(
            lambda: list(self.agents),
            lambda agent_id: Job(agent_id, str(folder / "index"), tuple(self.sources)),
            self._sync,
            lambda agent_id: self.files,
            self.clock,
            repairs=self.repairs,
            tasks=tasks,
        )

    async def _sync(self, agent_id: str) -> Synced:
        self.looked.append(agent_id)
        problem = self.problems.pop(0) if self.problems else None
        if isinstance(problem, Exception):
            raise problem
        return Synced(1, 1, 0, 0, 0.0, problem=problem)

    def told(self) -> list[str]:
        """What the repairs say."""
        return [each.text for each in self.repairs.all()]

    async def quiet(self) -> None:
        """Wait until it watches: a file that is written is noticed."""
        probe = self.workspace / "memory" / "probe.md"
        probe.parent.mkdir(parents=True, exist_ok=True)
        count = len(self.looked)
        number = 0
        async with asyncio.timeout(LIMIT_S):
            while len(self.looked) < count + 2:
                probe.write_text(str(number := number + 1))
                await asyncio.sleep(0.02)
        probe.unlink()
        self.looked.clear()
        await until(lambda: bool(self.looked))
        self.looked.clear()


@pytest.fixture
async def tasks() -> AsyncIterator[TaskOwner]:
    owner = TaskOwner("test")
    yield owner
    assert await owner.cancel_all() == []


@pytest.fixture
async def rig(tmp_path: Path, tasks: TaskOwner) -> AsyncIterator[Rig]:
    rig = Rig(tmp_path, tasks)
    (rig.workspace / "memory").mkdir(parents=True)
    yield rig
    rig.upkeep.stop()


async def test_everything_is_looked_over_at_the_start(rig: Rig) -> None:
    rig.agents = ["main", "cook"]

    rig.upkeep.start()

    await until(lambda: {"main", "cook"} <= set(rig.looked))


async def test_where_there_is_nothing_no_worker_is_started(rig: Rig) -> None:
    rig.files = False
    rig.upkeep.start()

    rig.upkeep.look(["main"])
    rig.files = True
    rig.upkeep.look(["main"])

    await until(lambda: bool(rig.looked))
    assert rig.told() == []


@pytest.mark.parametrize("path", ["MEMORY.md", "memory/people/anna.md"])
async def test_a_file_that_is_written_replaced_or_deleted_is_noticed(rig: Rig, path: str) -> None:
    file = rig.workspace / path
    file.parent.mkdir(parents=True, exist_ok=True)
    rig.upkeep.start()
    await rig.quiet()

    file.write_text("one")
    await until(lambda: bool(rig.looked))
    rig.looked.clear()
    (rig.workspace / "beside").write_text("two")
    os.replace(rig.workspace / "beside", file)
    await until(lambda: bool(rig.looked))
    rig.looked.clear()
    file.unlink()

    await until(lambda: "main" in rig.looked)


async def test_a_folder_that_comes_goes_and_comes_again_is_watched(rig: Rig) -> None:
    shutil.rmtree(rig.workspace)
    rig.sources.append(Source("extra/notes", str(rig.extra), "private"))
    rig.upkeep.start()
    await until(lambda: bool(rig.looked))

    for number in range(2):
        rig.extra.mkdir(parents=True)
        await rig.quiet()
        (rig.extra / f"{number}.md").write_text("text")
        await until(lambda: bool(rig.looked))
        shutil.rmtree(rig.extra.parent)
        shutil.rmtree(rig.workspace)
        rig.looked.clear()
        await until(lambda: bool(rig.looked))


async def test_a_single_file_is_watched_through_what_editors_do_to_it(rig: Rig, tmp_path: Path) -> None:
    file = tmp_path / "house.md"
    rig.sources.append(Source("extra/house", str(file), "private"))
    rig.upkeep.start()
    await rig.quiet()

    for text in ("one", "two"):
        beside = tmp_path / "beside"
        beside.write_text(text)
        os.replace(beside, file)
        await until(lambda: bool(rig.looked))
        rig.looked.clear()
        file.write_text(f"{text} in place")
        await until(lambda: bool(rig.looked))
        rig.looked.clear()


async def test_changed_settings_change_what_is_watched(rig: Rig) -> None:
    rig.extra.mkdir(parents=True)
    rig.upkeep.start()
    await rig.quiet()

    rig.sources.append(Source("extra/notes", str(rig.extra), "private"))
    rig.upkeep.reconfigure()
    await until(lambda: bool(rig.looked))
    await rig.quiet()
    (rig.extra / "fish.md").write_text("text")

    await until(lambda: "main" in rig.looked)


async def test_an_agent_that_is_gone_is_not_looked_over(rig: Rig) -> None:
    rig.upkeep.start()
    await until(lambda: bool(rig.looked))
    rig.agents = ["cook"]
    rig.upkeep.look(["cook"])
    await until(lambda: "cook" in rig.looked)  # what was begun before is over
    rig.looked.clear()

    rig.upkeep.look(["main", "cook"])

    await until(lambda: "cook" in rig.looked)
    assert "main" not in rig.looked


async def test_what_is_in_the_way_is_told_tried_again_and_taken_back(rig: Rig) -> None:
    rig.problems = ["There is no room."] * 100
    rig.upkeep.start()
    await until(lambda: bool(rig.told()))
    assert "There is no room." in rig.told()[0]
    assert "The files are unchanged" in rig.told()[0]

    rig.problems = [Unavailable("the worker ended")] * 100
    rig.upkeep.look(["main"])
    await until(lambda: "the worker ended" in "".join(rig.told()))
    rig.problems.clear()
    rig.upkeep.look(["main"])

    await until(lambda: rig.told() == [])


async def test_it_is_tried_again_by_itself(rig: Rig) -> None:
    rig.problems = ["There is no room."]

    rig.upkeep.start()

    await until(lambda: len(rig.looked) >= 2 and rig.told() == [])


async def test_a_search_has_an_old_index_looked_over_and_a_new_one_left_alone(rig: Rig) -> None:
    rig.upkeep.start()
    await rig.quiet()
    rig.agents += ["sentry", "cook"]  # of whom the watch does not know
    rig.upkeep.look(["sentry"])
    await until(lambda: "sentry" in rig.looked)

    rig.upkeep.note_search("sentry")
    rig.upkeep.look(["cook"])
    await until(lambda: "cook" in rig.looked)
    before = rig.looked.count("sentry")
    await rig.clock.advance(module.AGAIN_S + 1)
    rig.upkeep.note_search("sentry")

    await until(lambda: rig.looked.count("sentry") == 2)
    assert before == 1


async def test_a_conversation_is_looked_at_one_time_once_it_settles(rig: Rig) -> None:
    rig.upkeep.start()
    await rig.quiet()
    rig.agents.append("sentry")

    for number in range(5):
        rig.upkeep.look_later("main", 0.05 * number)
    rig.upkeep.look_later("sentry", 0.4)

    await until(lambda: "sentry" in rig.looked)
    assert rig.looked.count("main") in (1, 2)  # the second is of the watch, which may tell of a file late


async def test_once_stopped_nothing_is_planned_any_more(rig: Rig) -> None:
    rig.upkeep.start()
    await rig.quiet()
    rig.upkeep.look_later("main", 0.0)

    rig.upkeep.stop()
    (rig.workspace / "MEMORY.md").write_text("memory")
    rig.upkeep.look(["main"])
    for _ in range(20):
        await asyncio.sleep(0)

    assert rig.looked == []
