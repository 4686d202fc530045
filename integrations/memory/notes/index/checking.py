"""Compares files, catalog and engines, and names each difference."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

from hub.memory.contract import Verified
from integrations.memory.notes.index.catalog import HAS_VECTOR, FileRow
from integrations.memory.notes.index.contract import EngineUnavailable
from integrations.memory.notes.index.generations import CATALOG, KEYWORDS, UNSOUND, VECTORS, Generation
from integrations.memory.notes.index.library import INDEX, IndexUnavailable, Library
from integrations.memory.notes.index.passages import Present, ReadFile
from integrations.memory.notes.index.scan import list_sources, read

T = TypeVar("T")

PROBLEMS_LIMIT = 100
FILES_AT_ONCE = 16


async def verify(library: Library) -> Verified:
    """Compare an agent's files with its index; what does not agree is put right afterwards.

    Raises:
        IndexUnavailable: It cannot be opened.
    """
    await library.open()
    generation = library.generation
    if generation is None:
        why = library.problems.get(INDEX, "it is being built")
        return Verified(0, 0, [f"There is no index: {why}."], repaired=library.repair())
    check = _Check(library, generation)
    if await library.is_gone(generation):
        check.problems.append("The index was deleted from the disk.")
    await check.engines()
    is_damaged = bool(check.problems)
    await check.files()
    repaired = bool(check.problems)
    if is_damaged or generation.broken:
        generation.broken.setdefault(CATALOG, "files, catalog and engines do not agree")
        repaired = library.repair()
    elif check.problems:
        await library.sync()
    found = [*check.problems, *check.left_out]
    count = len(found)
    problems = found[:PROBLEMS_LIMIT]
    if count > PROBLEMS_LIMIT:
        problems.append(f"… and {count - PROBLEMS_LIMIT} more.")
    return Verified(check.file_count, check.chunk_count, problems, repaired)


class _Check:
    def __init__(self, library: Library, generation: Generation) -> None:
        self.problems: list[str] = []
        self.left_out: list[str] = []  # what no repair of the index brings in
        self.file_count = 0
        self.chunk_count = 0
        self._library = library
        self._generation = generation

    async def engines(self) -> None:
        """Compare the engines with the catalog."""
        await self._in_thread(self._compare_engines)

    async def files(self) -> None:
        """Compare the catalog with the files."""
        library, generation = self._library, self._generation
        listing = await self._read(lambda: list_sources(library.job.sources))
        self.left_out.extend(listing.problems)
        known = await self._in_thread(generation.catalog.files)
        if known is None:
            return
        self.file_count = len(listing.files)
        for path in sorted(known.keys() - listing.files.keys()):
            if known[path].source not in listing.unread:
                self.problems.append(f"{path} is in the index and no longer there.")
        present = list(listing.files.values())
        for at in range(0, len(present), FILES_AT_ONCE):
            part = present[at : at + FILES_AT_ONCE]
            found = await self._read(partial(self._read_some, part))
            await self._in_thread(partial(self._compare_files, found, known))

    def _read_some(self, present: Sequence[Present]) -> list[ReadFile]:
        library = self._library
        found = (read(each, library.job.sources, library.settings) for each in present)
        return [each for each in found if each is not None]

    def _compare_engines(self) -> None:
        generation = self._generation
        for part, why in generation.broken.items():
            self.problems.append(f"The {part} are damaged: {why.rstrip('.')}.")
        if CATALOG in generation.broken:
            return
        named = generation.catalog.ids()
        self.chunk_count = len(named)
        if (keywords := generation.keywords) is not None:
            self._compare(KEYWORDS, keywords.ids, named)
        if (vectors := generation.vectors) is not None:
            self._compare(VECTORS, vectors.ids, generation.catalog.ids(vector=HAS_VECTOR))

    def _compare(self, part: str, ids: Callable[[], set[int]], named: set[int]) -> None:
        try:
            there = ids()
        except UNSOUND as error:
            self._generation.note_damage(part, error)
            self.problems.append(f"The {part} are damaged: {error}.")
            return
        except EngineUnavailable as error:
            self.problems.append(error.text)
            return
        if missing := named - there:
            self.problems.append(f"The {part} lack {len(missing)} passages that the catalog names.")
        if strange := there - named:
            self.problems.append(f"The {part} hold {len(strange)} passages that the catalog does not name.")

    def _compare_files(self, files: Sequence[ReadFile], known: dict[str, FileRow]) -> None:
        for file in files:
            path = file.present.path
            row = known.get(path)
            if row is None:
                self.problems.append(f"{path} is not in the index.")
            elif file.problem is not None:
                self.left_out.append(f"{path} is left out: {file.problem}.")
            elif row.hash != file.hash:
                self.problems.append(f"{path} was changed and is not indexed as it is.")
            else:
                self._compare_passages(path, file)

    def _compare_passages(self, path: str, file: ReadFile) -> None:
        try:
            rows = self._generation.catalog.passages_of(path)
        except UNSOUND as error:
            self._generation.note_damage(CATALOG, error)
            self.problems.append(f"{path} is damaged in the catalog: {error}.")
            return
        area = file.present.area
        wanted = sorted((area, each.chunk.start_line, each.chunk.end_line, each.digest) for each in file.passages)
        stored = sorted((row.area, row.chunk.start_line, row.chunk.end_line, row.chunk.digest) for row in rows)
        if wanted != stored:
            self.problems.append(f"{path} has other passages in the catalog than in the file.")
            self._generation.note_damage(CATALOG, ValueError(f"{path} does not agree with its file"))

    async def _in_thread(self, call: Callable[[], T]) -> T | None:
        """Run a part of the check; when the catalog cannot be read, that is what was found."""
        if self._generation.closed:
            raise IndexUnavailable("the index was built anew while it was verified; verify again")
        try:
            return await self._library.in_thread(call)
        except UNSOUND as error:
            self._generation.note_damage(CATALOG, error)
            self.problems.append(f"The catalog is damaged: {error}.")
            return None

    async def _read(self, call: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._library.shared.readers, call)
