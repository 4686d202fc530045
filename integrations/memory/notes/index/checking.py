"""Compares files and index, and names each difference."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

from hub.memory.contract import Verified
from integrations.memory.notes.index.agent_index import AgentIndex
from integrations.memory.notes.index.catalog import FileRow
from integrations.memory.notes.index.index_version import UNSOUND, IndexVersion
from integrations.memory.notes.index.index_work import INDEX
from integrations.memory.notes.index.passages import Present, ReadFile
from integrations.memory.notes.index.scan import list_sources, read

T = TypeVar("T")

PROBLEMS_LIMIT = 100
FILES_AT_ONCE = 16


async def verify(index: AgentIndex) -> Verified:
    """Compare an agent's files with its index; differences are repaired afterwards.

    When a rebuild puts another index into force meanwhile, that one is compared.

    Raises:
        IndexUnavailable: The index cannot be opened.
    """
    await index.open()
    while (version := index.version) is not None:
        verified = await _verify(index, version)
        if verified is not None:
            return verified
    why = index.problems.get(INDEX, "it is being built")
    return Verified(0, 0, [f"There is no index: {why}."], repaired=index.repair())


async def _verify(index: AgentIndex, version: IndexVersion) -> Verified | None:
    """Compare with one version; None when another took its place meanwhile, which says nothing of either."""
    check = _Check(index, version)
    if await index.is_gone(version):
        check.problems.append("The index was deleted from the disk.")
        version.outdated = "it was deleted"
    try:
        await check.version()
        await check.files()
    except UNSOUND as error:
        check.problems.append(f"The index is damaged: {error}.")
    if index.version is not version:
        return None
    repaired = bool(check.problems)
    if version.damage or version.outdated:
        repaired = index.repair()
    elif check.problems:
        await index.sync()
    found = [*check.problems, *check.left_out]
    problems = found[:PROBLEMS_LIMIT]
    if len(found) > PROBLEMS_LIMIT:
        problems.append(f"… and {len(found) - PROBLEMS_LIMIT} more.")
    return Verified(check.file_count, check.chunk_count, problems, repaired)


class _Check:
    def __init__(self, index: AgentIndex, version: IndexVersion) -> None:
        self.problems: list[str] = []
        self.left_out: list[str] = []  # what no repair of the index brings in
        self.file_count = 0
        self.chunk_count = 0
        self._index = index
        self._version = version

    async def version(self) -> None:
        """Check the index itself, a portion at a time, so that searches need not wait."""
        at = await self._index.in_thread(partial(self._version.check, 0))
        while at:
            at = await self._index.in_thread(partial(self._version.check, at))
        _, self.chunk_count, _ = await self._index.in_thread(self._version.numbers)
        if self._version.outdated is not None:
            self.problems.append(f"The index is outdated: {self._version.outdated}.")

    async def files(self) -> None:
        """Compare the catalog with the files."""
        index = self._index
        listing = await self._read(lambda: list_sources(index.job.sources))
        self.left_out.extend(listing.problems)
        known = await index.in_thread(self._known)
        self.file_count = len(listing.files)
        for path in sorted(known.keys() - listing.files.keys()):
            if known[path].source not in listing.unread:
                self.problems.append(f"{path} is in the index and no longer exists.")
        present = list(listing.files.values())
        for at in range(0, len(present), FILES_AT_ONCE):
            for file in await self._read(partial(self._read_some, present[at : at + FILES_AT_ONCE], known)):
                self._compare(file, known.get(file.present.path))

    def _known(self) -> dict[str, FileRow]:
        with self._version.guard_damage():
            return self._version.catalog.files()

    def _read_some(self, present: Sequence[Present], known: dict[str, FileRow]) -> list[ReadFile]:
        index = self._index
        hashes = {path: row.hash for path, row in known.items() if row.problem is None}
        found = (read(each, index.job.sources, index.settings, hashes.get(each.path)) for each in present)
        return [each for each in found if each is not None]

    def _compare(self, file: ReadFile, known: FileRow | None) -> None:
        path = file.present.path
        if known is None:
            self.problems.append(f"{path} is not in the index.")
        elif file.problem is not None:
            self.left_out.append(f"{path} is left out: {file.problem}.")
        elif known.hash != file.hash:
            self.problems.append(f"{path} was changed and is not indexed as it is.")
        elif known.warning is not None:
            self.left_out.append(f"{path}: {known.warning}.")

    async def _read(self, call: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._index.shared.readers, call)
