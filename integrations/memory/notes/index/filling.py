"""Brings an index in line with the files: reads what changed, cuts it, and applies it in short batches."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

from hub.core.errors import HubError
from integrations.memory.notes.index.catalog import FileRow
from integrations.memory.notes.index.engine_thread import EngineThread
from integrations.memory.notes.index.index_version import IndexVersion
from integrations.memory.notes.index.passages import Present, ReadFile
from integrations.memory.notes.index.scan import find, list_sources, read
from integrations.memory.notes.index.settings import IndexSettings
from integrations.memory.notes.job import Source

T = TypeVar("T")
Known = Mapping[str, FileRow]

BATCH_S = 0.02
"""How long the engines should be busy with one batch; a search that comes waits for its end."""
BATCH_FIRST = 64
BATCH_FEWEST = 16
BATCH_MOST = 512
BATCHES_REMEMBERED = 12
SMALLEST_S = 1e-6
WORTH = 2.0
"""How many times longer the passages of a batch should take than the batch itself."""
READ_S = 0.25
FILES_AT_ONCE = 256
PROBLEMS_LIMIT = 5


@dataclass(slots=True)
class Progress:
    """Progress: files to read, files read, and problems."""

    total: int = 0
    done: int = 0
    problems: list[str] = field(default_factory=list)


class AdaptiveBatch:
    """The size of a batch of passages, learned from earlier batches.

    An engine takes some time for each batch and some for each passage in it. Where the first is so long that small
    batches would take nothing but that, they are made larger until they are worth it.
    """

    def __init__(self) -> None:
        self.passages = BATCH_FIRST
        self._seen: deque[tuple[int, float]] = deque(maxlen=BATCHES_REMEMBERED)

    def learn(self, passages: int, seconds: float) -> None:
        """Learn from the duration of a batch."""
        if passages <= 0:
            return
        self._seen.append((passages, seconds))
        each_s, more_s = self._costs()
        fits = (BATCH_S - each_s) / more_s
        worth = WORTH * each_s / more_s
        self.passages = int(max(BATCH_FEWEST, min(BATCH_MOST, max(fits, worth), self.passages * 2)))

    def _costs(self) -> tuple[float, float]:
        """Return seconds for a batch and for each passage in it, as a line through what was seen."""
        count = len(self._seen)
        mean_n = sum(n for n, _ in self._seen) / count
        mean_s = sum(s for _, s in self._seen) / count
        spread = sum((n - mean_n) ** 2 for n, _ in self._seen)
        if spread == 0:
            return 0.0, max(mean_s / mean_n, SMALLEST_S)
        slope = sum((n - mean_n) * (s - mean_s) for n, s in self._seen) / spread
        slope = min(max(slope, SMALLEST_S), max(mean_s / mean_n, SMALLEST_S))
        return max(0.0, mean_s - slope * mean_n), slope


class BulkBatch(AdaptiveBatch):
    """Use batches of the largest size, however long they take."""

    def __init__(self) -> None:
        super().__init__()
        self.passages = BATCH_MOST

    def learn(self, passages: int, seconds: float) -> None:
        """Do nothing."""


class Filling:
    """Brings the index of one agent in line with its files.

    Args:
        thread: Runs the engines.
        readers: Read files; reading blocks.
        settings: How files are cut.
    """

    def __init__(self, thread: EngineThread, readers: Executor, settings: IndexSettings) -> None:
        self._thread = thread
        self._readers = readers
        self._settings = settings
        self._size = AdaptiveBatch()

    async def fill_all(
        self, version: IndexVersion, sources: Sequence[Source], progress: Progress, *, hurry: bool = False
    ) -> None:
        """Check all sources and index what changed; with the largest batches if no search is possible anyway.

        Raises:
            IndexDamaged: The index is damaged.
            OSError: It cannot be written.
        """
        listing = await self._read(lambda: list_sources(sources))
        progress.problems.extend(listing.problems)
        known = await self._thread.run(version.catalog.files)
        changed = [each for path, each in listing.files.items() if _differs(each, known.get(path))]
        gone = [
            row.path for row in known.values() if row.path not in listing.files and row.source not in listing.unread
        ]
        progress.total += len(changed)
        await self._bring_in(version, sources, changed, gone, known, progress, BulkBatch() if hurry else self._size)

    async def fill_paths(
        self, version: IndexVersion, sources: Sequence[Source], paths: Collection[str], progress: Progress
    ) -> None:
        """Index single files, by their paths in results; raises as `fill_all`."""
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
        known = await self._thread.run(lambda: version.catalog.files(paths))
        changed = [each for each in present if _differs(each, known.get(each.path))]
        progress.total += len(changed)
        await self._bring_in(
            version, sources, changed, [path for path in gone if path in known], known, progress, self._size
        )

    async def _bring_in(
        self,
        version: IndexVersion,
        sources: Sequence[Source],
        changed: Sequence[Present],
        gone: Sequence[str],
        known: Known,
        progress: Progress,
        size: AdaptiveBatch,
    ) -> None:
        await self._apply(version, [], gone, size)
        at = 0
        while at < len(changed):
            batch = await self._read(lambda at=at: self._some_files(changed, at, sources, known, size))  # type: ignore[misc]
            at += len(batch)
            progress.done += len(batch)
            files = [each for each in batch if isinstance(each, ReadFile)]
            same = [each for each in files if _is_same(each, known.get(each.present.path))]
            if same:
                await self._thread.run(lambda same=same: version.touch(same))  # type: ignore[misc]
            vanished = [each for each in batch if isinstance(each, str) and each in known]
            await self._apply(version, [each for each in files if each not in same], vanished, size)
            for each in files:
                if each.problem is not None and len(progress.problems) < PROBLEMS_LIMIT:
                    progress.problems.append(f"{each.present.path} is left out: {each.problem}.")

    async def _apply(
        self, version: IndexVersion, files: Sequence[ReadFile], gone: Sequence[str], size: AdaptiveBatch
    ) -> None:
        """Apply what was read, in portions."""
        while files or gone:
            budget = size.passages
            call = partial(version.apply, files, gone, budget)
            portion, seconds = await self._thread.run(partial(_timed, call))
            size.learn(portion.size, seconds)
            files, gone = portion.left, portion.left_gone

    def _some_files(
        self, changed: Sequence[Present], at: int, sources: Sequence[Source], known: Known, size: AdaptiveBatch
    ) -> list[ReadFile | str]:
        """Read files until there are enough passages; at least one file. Vanished ones are returned by path."""
        found: list[ReadFile | str] = []
        until = time.monotonic() + READ_S
        count = 0
        for present in changed[at : at + FILES_AT_ONCE]:
            row = known.get(present.path)
            file = read(present, sources, self._settings, row.hash if row is not None and row.problem is None else None)
            found.append(file or present.path)
            count += len(file.passages) if file is not None else 0
            if count >= size.passages or time.monotonic() > until:
                break
        return found

    async def _read(self, call: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._readers, call)


def _differs(present: Present, known: FileRow | None) -> bool:
    if known is None or known.problem is not None:
        return True
    before = (known.stamp, known.area, known.source, known.told)
    return before != (present.stamp, present.area, present.source, present.dependencies)


def _is_same(file: ReadFile, known: FileRow | None) -> bool:
    return known is not None and file.problem is None and known.problem is None and known.hash == file.hash


def _timed(call: Callable[[], T]) -> tuple[T, float]:
    began = time.monotonic()
    return call(), time.monotonic() - began
