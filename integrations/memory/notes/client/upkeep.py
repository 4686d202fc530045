"""Keeps the indexes up to date while the hub runs: watches files, and indexes external changes."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Iterable, Sequence
from contextlib import aclosing
from functools import partial
from pathlib import Path
from typing import Any

from msgspec import Struct

from hub.core.clock import Clock
from hub.core.errors import HubError
from hub.core.file_changes import WatchOptions, file_changes
from hub.core.phrases import phrase
from hub.core.repairs import Repairs, Severity
from hub.core.tasks import TaskOwner
from hub.memory.contract import Synced
from hub.memory.places import CURATED, FOLDER
from integrations.memory.notes.job import TRANSCRIPTS, WORKSPACE, Job

_log = logging.getLogger(__name__)

# Each look whether something came costs a little of an idle hub's time, day and night.
DEEP = WatchOptions(debounce_ms=200, step_ms=200, ignore_permission_denied=True)
FLAT = WatchOptions(debounce_ms=200, step_ms=200, recursive=False, ignore_permission_denied=True)
SETTLE_S = 3.0
"""How long after a turn its conversation is indexed, so that a lively one is not indexed at every word."""
AGAIN_S = 60.0
"""The age of an index after which a search checks it again, since not every file system reports changes."""
RETRY_S = (2.0, 5.0, 15.0, 30.0, 60.0, 60.0, 60.0, 600.0)
"""After a failure, how long until it is looked over again: the worker decides itself what it tries again how soon."""
SOURCE = "memory"
SUFFIX = ".md"


class Watched(Struct, frozen=True):
    """The watched folders.

    Attributes:
        deep: Folders with all below them.
        flat: Folders by themselves.
        doors: What changes the two when it comes or goes: the folders that are searched, or the first that is missing
            on the way to one.
    """

    deep: tuple[Path, ...]
    flat: tuple[Path, ...]
    doors: frozenset[Path]


class Upkeep:
    """Updates indexes automatically.

    Args:
        agents: Ids of the agents there are now.
        job: Makes the worker's job for an agent.
        sync: Brings the index of one up to date.
        has_files: Whether there is anything to index; may block, called in a thread.
        clock: The clock of the hub.
        repairs: Lists what keeps an index from being complete.
        tasks: The owner of the background tasks.
    """

    def __init__(
        self,
        agents: Callable[[], Collection[str]],
        job: Callable[[str], Job],
        sync: Callable[[str], Awaitable[Synced]],
        has_files: Callable[[Job], bool],
        clock: Clock,
        *,
        repairs: Repairs,
        tasks: TaskOwner,
    ) -> None:
        self._agents = agents
        self._job = job
        self._sync = sync
        self._has_files = has_files
        self._clock = clock
        self._repairs = repairs
        self._tasks = tasks
        self._wanted: dict[str, None] = {}  # in the order in which they were asked for
        self._busy: dict[str, asyncio.Task[None]] = {}
        self._waking = asyncio.Event()
        self._settings_changed = asyncio.Event()
        self._done_at: dict[str, float] = {}
        self._failures: dict[str, int] = {}
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._going: list[asyncio.Task[None]] = []

    def start(self) -> None:
        """Start; the first full update begins at once, in the background."""
        self._going = [
            self._tasks.spawn(self._work(), name="index memory"),
            self._tasks.spawn(self._watch(), name="watch memory"),
        ]
        self.look(self._agents())

    def stop(self) -> None:
        """Stop; the owner of the tasks waits for them."""
        for each in (*self._going, *self._busy.values()):
            each.cancel()
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()

    def reconfigure(self) -> None:
        """Apply changed settings: watch other paths, and check every index."""
        self._settings_changed.set()
        self.look(self._agents())

    def look(self, agent_ids: Iterable[str]) -> None:
        """Schedule a check of agents' indexes."""
        self._wanted.update(dict.fromkeys(agent_ids))
        self._waking.set()

    def look_later(self, agent_id: str, delay_s: float = SETTLE_S) -> None:
        """Schedule a check of an index after a delay; further calls before then have no effect."""
        if agent_id not in self._timers:
            loop = asyncio.get_running_loop()
            self._timers[agent_id] = loop.call_later(delay_s, self._ring, agent_id)

    def note_search(self, agent_id: str) -> None:
        """Record a search of an index; one that was not checked for a while is checked afterwards."""
        if self._clock.monotonic() - self._done_at.get(agent_id, float("-inf")) > AGAIN_S:
            self.look([agent_id])

    def _ring(self, agent_id: str) -> None:
        self._timers.pop(agent_id, None)
        self.look([agent_id])

    async def _work(self) -> None:
        while True:
            await self._waking.wait()
            self._waking.clear()
            for agent_id in [each for each in self._wanted if each not in self._busy]:
                del self._wanted[agent_id]
                if agent_id in self._agents():
                    # Beside each other, so that no agent's words wait for the vectors of another.
                    name = f"index memory of {agent_id}"
                    self._busy[agent_id] = self._tasks.spawn(self._bring_up(agent_id), name=name)

    async def _bring_up(self, agent_id: str) -> None:
        try:
            await self._look_over(agent_id)
        finally:
            self._busy.pop(agent_id, None)
            self._waking.set()

    async def _look_over(self, agent_id: str) -> None:
        try:
            if not await asyncio.to_thread(self._has_files, self._job(agent_id)):
                self._done_at[agent_id] = self._clock.monotonic()
                return
            synced = await self._sync(agent_id)
        except HubError as error:
            self._note(agent_id, error.message)
            return
        self._done_at[agent_id] = self._clock.monotonic()
        self._note(agent_id, synced.problem)

    def _note(self, agent_id: str, problem: str | None) -> None:
        """Open a repair for a problem, and try again later."""
        if problem is None:
            self._failures.pop(agent_id, None)
            self._repairs.clear(SOURCE, agent_id)
            return
        count = self._failures[agent_id] = self._failures.get(agent_id, 0) + 1
        self._repairs.raise_(
            SOURCE,
            agent_id,
            phrase("The memory of {agent} is not fully indexed", agent=agent_id),
            phrase(
                "{problem} The files are unchanged, and what is indexed can be searched. It is retried automatically.",
                problem=problem,
            ),
            severity=Severity.WARNING,
        )
        self.look_later(agent_id, RETRY_S[min(count, len(RETRY_S)) - 1])

    async def _watch(self) -> None:
        """Watch the searched folders, including ones created later."""
        while True:
            self._settings_changed.clear()
            jobs = self._jobs()
            watched = await asyncio.to_thread(_watched, jobs)
            stop = asyncio.Event()
            opening = [
                file_changes(folders, partial(_counts, watched.doors), stop, options)
                for folders, options in ((watched.deep, DEEP), (watched.flat, FLAT))
                if folders
            ]
            opened = await asyncio.gather(*opening, return_exceptions=True)
            follow = [asyncio.ensure_future(self._follow(changes, jobs, watched.doors)) for changes in opened]
            try:
                # What changed while nothing was watched.
                self.look(self._agents())
                await self._until_other_folders(watched, follow)
            finally:
                stop.set()
                for each in follow:
                    each.cancel()
                await asyncio.gather(*follow, return_exceptions=True)

    async def _until_other_folders(self, watched: Watched, follow: Sequence[asyncio.Future[None]]) -> None:
        """Wait until other folders must be watched, the settings change, or a watch ends."""
        changed: asyncio.Future[Any] = asyncio.ensure_future(self._settings_changed.wait())
        waiting: list[asyncio.Future[Any]] = [changed, *follow]
        try:
            # Once at the beginning: what came or went before it was watched is not told.
            while await asyncio.to_thread(_watched, self._jobs()) == watched:
                done, _ = await asyncio.wait(waiting, timeout=AGAIN_S, return_when=asyncio.FIRST_COMPLETED)
                failed = [each.exception() for each in done if each is not changed]
                if any(failed):
                    _log.warning("changes of memory files are seen once a minute only: %s", failed[0])
                    await asyncio.wait([changed], timeout=AGAIN_S)
                if done:
                    return
        finally:
            changed.cancel()

    def _jobs(self) -> list[Job]:
        return [self._job(agent_id) for agent_id in self._agents()]

    async def _follow(
        self,
        changes: AsyncGenerator[set[tuple[Any, str]], None] | BaseException,
        jobs: Sequence[Job],
        doors: Collection[Path],
    ) -> None:
        """Schedule checks of an agent's index when its files change; ends when a folder appears or disappears."""
        if isinstance(changes, BaseException):
            raise changes
        async with aclosing(changes):
            async for batch in changes:
                paths = [Path(path) for _, path in batch]
                self.look(job.agent_id for job in jobs if _concerns(job, paths))
                if any(path in doors for path in paths):
                    return


def _counts(doors: Collection[Path], _change: object, path: str) -> bool:
    return path.lower().endswith(SUFFIX) or Path(path) in doors


def _watched(jobs: Iterable[Job]) -> Watched:
    """Return the folders to watch for these jobs; blocks."""
    deep, flat, doors = set(), set(), set()
    for job in jobs:
        for source in job.sources:
            root = Path(source.root)
            if source.name == TRANSCRIPTS:
                continue  # the hub writes them, and says so
            if source.name == WORKSPACE:
                flat.add(root)
                deep.add(root / FOLDER)
            elif root.is_file():
                flat.add(root.parent)
            else:
                deep.add(root)
    for folder in deep | flat:
        door = _door(folder)
        doors.add(door)
        flat.add(door.parent)
    return Watched(
        tuple(sorted(each for each in deep if each.is_dir())),
        tuple(sorted(each for each in flat if each.is_dir())),
        frozenset(doors),
    )


def _door(folder: Path) -> Path:
    """Return a folder, or its first missing ancestor."""
    while not folder.parent.is_dir() and folder.parent != folder:
        folder = folder.parent
    return folder


def _concerns(job: Job, paths: Iterable[Path]) -> bool:
    for source in job.sources:
        root = Path(source.root)
        for path in paths:
            if source.name != WORKSPACE and path.is_relative_to(root):
                return True
            if source.name == WORKSPACE and (path == root / CURATED or path.is_relative_to(root / FOLDER)):
                return True
    return False
