"""Brings a generation in line with the files: what changed is read, cut and handed to it in batches that end soon."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

from hub.core.errors import HubError
from integrations.memory.notes.index.catalog import FileRow
from integrations.memory.notes.index.engine_thread import EngineThread
from integrations.memory.notes.index.generations import Generation
from integrations.memory.notes.index.passages import Present, ReadFile
from integrations.memory.notes.index.scan import find, list_sources, read
from integrations.memory.notes.index.settings import LibrarySettings
from integrations.memory.notes.worker_job import Source

T = TypeVar("T")

BATCH_S = 0.02
"""How long the engines should be busy with one batch; a search that comes waits for its end."""
BATCH_FEWEST = 16
BATCH_MOST = 512
READ_S = 0.1
FILES_AT_ONCE = 256
PROBLEMS_LIMIT = 5


@dataclass(slots=True)
class Progress:
    """How far it is: files that are to be read, and those that were; what was amiss."""

    total: int = 0
    done: int = 0
    problems: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Pace:
    """How many passages fit into a batch, learned from those before."""

    passages: int = 64

    def learn(self, passages: int, seconds: float) -> None:
        """Take notice of how long a batch took."""
        if passages >= BATCH_FEWEST and seconds > 0:
            fits = int(passages * BATCH_S / seconds)
            self.passages = max(BATCH_FEWEST, min(BATCH_MOST, fits, self.passages * 2))


class Filling:
    """Brings generations of one agent in line with its files.

    Args:
        thread: Where the engines are used.
        readers: Where files are read; reading blocks.
        settings: How files are cut.
    """

    def __init__(self, thread: EngineThread, readers: Executor, settings: LibrarySettings) -> None:
        self._thread = thread
        self._readers = readers
        self._settings = settings
        self._pace = Pace()

    async def everything(self, generation: Generation, sources: Sequence[Source], progress: Progress) -> None:
        """Look through all sources and bring in what changed.

        Raises:
            IndexDamaged: A part of the generation is damaged.
            OSError: It cannot be written.
        """
        listing = await self._read(lambda: list_sources(sources))
        progress.problems.extend(listing.problems)
        known = await self._thread.run(generation.catalog.files)
        changed = [each for path, each in listing.files.items() if _differs(each, known.get(path))]
        gone = [
            row.path for row in known.values() if row.path not in listing.files and row.source not in listing.unread
        ]
        progress.total += len(changed)
        await self._bring_in(generation, sources, changed, gone, known, progress)

    async def some(
        self, generation: Generation, sources: Sequence[Source], paths: Collection[str], progress: Progress
    ) -> None:
        """Bring in single files, by their paths in results; raises as `everything`."""
        present: list[Present] = []
        gone: list[str] = []
        for path in paths:
            try:
                found = await self._read(lambda path=path: find(sources, path))  # type: ignore[misc]
            except (OSError, HubError) as error:
                progress.problems.append(f"{path} cannot be read: {error}.")
                continue
            if found is None:
                gone.append(path)
            else:
                present.append(found)
        known = await self._thread.run(lambda: generation.catalog.files(paths))
        changed = [each for each in present if _differs(each, known.get(each.path))]
        progress.total += len(changed)
        await self._bring_in(generation, sources, changed, [path for path in gone if path in known], known, progress)

    async def _bring_in(
        self,
        generation: Generation,
        sources: Sequence[Source],
        changed: Sequence[Present],
        gone: Sequence[str],
        known: dict[str, FileRow],
        progress: Progress,
    ) -> None:
        await self._apply(generation, [], gone)
        at = 0
        while at < len(changed):
            batch = await self._read(lambda at=at: self._some_files(changed, at, sources))  # type: ignore[misc]
            at += len(batch)
            progress.done += len(batch)
            files = [each for each in batch if isinstance(each, ReadFile)]
            same = [each for each in files if _is_same(each, known.get(each.present.path))]
            if same:
                await self._thread.run(lambda same=same: generation.touch(same))  # type: ignore[misc]
            vanished = [each for each in batch if isinstance(each, str) and each in known]
            await self._apply(generation, [each for each in files if each not in same], vanished)
            for each in files:
                if each.problem is not None and len(progress.problems) < PROBLEMS_LIMIT:
                    progress.problems.append(f"{each.present.path} is left out: {each.problem}.")

    async def _apply(self, generation: Generation, files: Sequence[ReadFile], gone: Sequence[str]) -> None:
        """Hand over what was read, in portions."""
        while files or gone:
            budget = self._pace.passages
            call = partial(generation.apply, files, gone, budget)
            staged, seconds = await self._thread.run(partial(_timed, call))
            self._pace.learn(staged.size, seconds)
            files, gone = staged.left, staged.left_gone

    def _some_files(self, changed: Sequence[Present], at: int, sources: Sequence[Source]) -> list[ReadFile | str]:
        """Read files until there are some passages; at least one file. Those that vanished are given by path."""
        found: list[ReadFile | str] = []
        until = time.monotonic() + READ_S
        count = 0
        for present in changed[at : at + FILES_AT_ONCE]:
            file = read(present, sources, self._settings)
            found.append(file or present.path)
            count += len(file.passages) if file is not None else 0
            if count >= self._pace.passages or time.monotonic() > until:
                break
        return found

    async def _read(self, call: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._readers, call)


def _differs(present: Present, known: FileRow | None) -> bool:
    if known is None or known.problem is not None:
        return True
    return (known.stamp, known.area, known.source) != (present.stamp, present.area, present.source)


def _is_same(file: ReadFile, known: FileRow | None) -> bool:
    return known is not None and file.problem is None and known.problem is None and known.hash == file.hash


def _timed(call: Callable[[], T]) -> tuple[T, float]:
    began = time.monotonic()
    return call(), time.monotonic() - began
