"""One version of an index: a SQLite file with the catalog and our own engines, and a folder of each other engine.

A change of the file is one transaction. An engine that keeps its own files may be cut off in the middle of one: then
it no longer holds the passages of the catalog, and the index is built again.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import time
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from hub.memory.engine_contract import EngineMissing, EngineUnavailable, IndexDamaged, KeywordIndex, VectorIndex
from integrations.memory.notes.index.catalog import HAS_VECTOR, REFUSED, UNBOUNDED, WAITING, Catalog, Portion
from integrations.memory.notes.index.engines import Engines
from integrations.memory.notes.index.passages import ReadFile
from integrations.memory.notes.index.sqlite_file import SqliteFile
from integrations.memory.notes.index.stored import StoredPassage

if TYPE_CHECKING:
    from hub.memory.engine_contract import Vector

FILE = "index.db"
VERSION = 1
KEYWORDS = "keywords"
VECTORS = "vectors"
AGAIN_S = 60.0
"""After which an engine that runs elsewhere is asked once more."""
WITHDRAWN_KEPT = 200
"""Texts that were removed and are known for a moment, so that they can be removed from the cache too."""
CHECKED_AT_ONCE = 500

UNSOUND = (IndexDamaged, sqlite3.DatabaseError)
"""What says that an index is damaged."""


class Embedded(msgspec.Struct):
    """Embedded passages: with their vectors, and those without one."""

    vectors: list[tuple[int, str, Vector]] = []
    refused: list[int] = []


class IndexVersion:
    """One version of an index; all methods block and run in the engine thread.

    Args:
        directory: The directory of its files; created if it does not exist.
        engines: Opens the engines.
        is_new: Whether it is to be created; otherwise it must exist.

    Raises:
        IndexDamaged: It is damaged, or missing.
        EngineMissing: There is no engine for words.
        OSError: It cannot be opened or created.

    Attributes:
        damage: The found damage; it is no longer searched, and must be rebuilt.
        outdated: Why it must be rebuilt, though it can be searched until then.
        away: Why the engine for vectors cannot be used now.
    """

    def __init__(self, directory: Path, engines: Engines, *, is_new: bool) -> None:
        self.directory = directory
        self.name = directory.name
        self.damage: str | None = None
        self.outdated: str | None = None
        self.away: str | None = None
        self.closed = False
        self._engines = engines
        self._vectors: VectorIndex | None = None
        self._keywords: KeywordIndex | None = None
        self._asked_at = float("-inf")
        self._withdrawn: deque[str] = deque(maxlen=WITHDRAWN_KEPT)
        if not is_new and not (directory / FILE).is_file():
            raise IndexDamaged(f"{directory / FILE} is missing")
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._file = SqliteFile(directory / FILE, VERSION)
        try:
            self.catalog = Catalog(self._file)
            self.embedder = self.catalog.get("embedder")
            self.dimensions = int(self.catalog.get("dimensions") or 0) or None
            self._keywords = engines.keywords(self._file, directory / KEYWORDS)
            self._compare_keywords()
            self._open_vectors()
        except BaseException:
            self.close()
            raise

    @property
    def keywords(self) -> KeywordIndex:
        """The engine for words."""
        if self._keywords is None:
            raise IndexDamaged("the index was closed")
        return self._keywords

    @property
    def vectors(self) -> VectorIndex | None:
        """The engine for vectors; None when there is none, or it cannot be used now."""
        if self._vectors is None and self.away is not None and time.monotonic() - self._asked_at > AGAIN_S:
            self._open_vectors()
        return self._vectors

    def note_damage(self, error: Exception) -> None:
        """Mark the version as damaged, so that it is not searched any more."""
        self.damage = self.damage or str(error)

    def lose_vectors(self, error: EngineUnavailable) -> None:
        """Suspend the vector engine for a while, because its server does not answer."""
        self.away, self._asked_at = error.text, time.monotonic()
        self._close_vectors()

    @contextlib.contextmanager
    def guard_damage(self) -> Iterator[None]:
        """Record damage found in this context, and raise it as IndexDamaged."""
        if self.closed or self.damage is not None:
            raise IndexDamaged(self.damage or "the index was closed")
        try:
            yield
        except UNSOUND as error:
            self.note_damage(error)
            raise error if isinstance(error, IndexDamaged) else IndexDamaged(str(error)) from error

    # --- changes ---

    def apply(self, files: Sequence[ReadFile], gone: Sequence[str] = (), budget: int = UNBOUNDED) -> Portion:
        """Index files that were read and remove vanished ones; see `Catalog.change` for the rest.

        Raises:
            IndexDamaged: The index is damaged.
            OSError: It cannot be written; nothing changed.
        """
        with self.guard_damage():
            try:
                with self._file.transaction():
                    portion = self.catalog.change(files, gone, budget)
                    if portion.size:
                        self.keywords.apply(portion.removed, portion.added)
                    if portion.removed:
                        self._remove_vectors(portion.removed)
            except OSError:
                self._compare_keywords()  # an engine with files of its own may have taken what the catalog did not
                raise
            self._withdrawn.extend(portion.withdrawn)
            return portion

    def touch(self, files: Sequence[ReadFile]) -> None:
        """Note new stamps of unchanged files; raises as `apply`."""
        with self.guard_damage():
            self.catalog.touch(files)

    def use_embedder(self, fingerprint: str, dimensions: int) -> bool:
        """Use the vectors of an embedder from now on; return whether they fit into this index.

        Raises:
            EngineMissing, EngineUnavailable, IndexDamaged, OSError: The engine cannot be used.
        """
        if self.embedder not in (None, fingerprint) or self.dimensions not in (None, dimensions):
            return False
        with self.guard_damage():
            if self._vectors is None and self.away is None:
                self._vectors = self._engines.vectors(self._file, self.directory / VECTORS, dimensions)
            if self.embedder is None or self.dimensions is None:
                with self._file.transaction():
                    self.catalog.put("embedder", fingerprint)
                    self.catalog.put("dimensions", str(dimensions))
                self.embedder, self.dimensions = fingerprint, dimensions
        return True

    def put_vectors(self, embedded: Embedded) -> None:
        """Keep vectors of passages that still exist; raises as `apply`."""
        with self.guard_damage():
            if (vectors := self.vectors) is None:
                raise EngineUnavailable(self.away or self.outdated or "there is no engine for vectors")
            existing = self.catalog.existing_ids(each[0] for each in embedded.vectors)
            kept = [each for each in embedded.vectors if each[0] in existing]
            with self._file.transaction():
                vectors.apply((), kept)
                self.catalog.set_vector((each[0] for each in kept), HAS_VECTOR)
                self.catalog.set_vector(embedded.refused, REFUSED)

    def refuse(self, ids: Sequence[int]) -> None:
        """Mark passages that cannot be embedded; raises as `apply`."""
        with self.guard_damage():
            self.catalog.set_vector(ids, REFUSED)

    def purge(self) -> None:
        """Erase everything removed, in memory and files; raises as `apply`."""
        self._withdrawn.clear()
        with self.guard_damage():
            self.keywords.purge()
            if (vectors := self.vectors) is not None:
                try:
                    vectors.purge()
                except EngineUnavailable as error:
                    self.lose_vectors(error)
            self._file.fold()

    # --- queries ---

    def without_forgotten(self, rows: Iterable[StoredPassage], leaving_out: Mapping[str, str]) -> list[StoredPassage]:
        """Return passages without those of conversations that may hold text forgotten since.

        Args:
            rows: The passages.
            leaving_out: The omissions of conversations, by path.
        """
        found = list(rows)
        told = {row.path: leaving_out[row.path] for row in found if row.path in leaving_out}
        outdated: Collection[str] = self.catalog.outdated_files(told) if told else ()
        return [row for row in found if row.path not in outdated]

    def numbers(self) -> tuple[int, int, int]:
        """Return how many files and passages there are, and how many of them wait for a vector."""
        try:
            with self.guard_damage():
                counts = self.catalog.counts().values()
                waiting = self.catalog.count(vector=WAITING)
        except UNSOUND:
            return 0, 0, 0
        return sum(files for files, _ in counts), sum(chunks for _, chunks in counts), waiting

    def embed_texts_with(self, texts: Sequence[str]) -> set[str]:
        """Return the embedded texts of passages that contain one of these texts, or have it for a digest.

        Those that were removed lately are among them.
        """
        with self.guard_damage():
            found = {row.chunk.embed_text for row in self.catalog.passages_with(texts)}
        found.update(each for each in self._withdrawn if any(text in each for text in texts))
        return found

    def check(self, after: int) -> int:
        """Check some passages, and the structure of the file at the beginning; return the last that was checked.

        Raises:
            IndexDamaged: The index is damaged.
        """
        with self.guard_damage():
            if not after:
                self._file.check()
                self._compare_keywords()
            rows = self.catalog.rows_after(after, CHECKED_AT_ONCE)
        return rows[-1].id if rows else 0

    def size_bytes(self) -> int:
        """Return the size of its files."""
        sizes = 0
        for folder, _, names in os.walk(self.directory):  # which does without what vanishes meanwhile
            for name in names:
                with contextlib.suppress(OSError):
                    sizes += os.lstat(os.path.join(folder, name)).st_size
        return sizes

    def close(self) -> None:
        """Close its files; calling it twice does no harm."""
        self.closed = True
        self._close_vectors()
        keywords, self._keywords = self._keywords, None
        if keywords is not None:
            with contextlib.suppress(OSError, *UNSOUND):
                keywords.close()
        self._file.close()

    def _close_vectors(self) -> None:
        vectors, self._vectors = self._vectors, None
        if vectors is not None:
            with contextlib.suppress(OSError, EngineUnavailable, *UNSOUND):
                vectors.close()

    def _remove_vectors(self, ids: Sequence[int]) -> None:
        if (vectors := self.vectors) is None:
            return
        try:
            vectors.apply(ids, ())
        except EngineUnavailable as error:
            self.lose_vectors(error)

    def _compare_keywords(self) -> None:
        if self.keywords.ids() != self.catalog.ids():
            error = IndexDamaged("the engine for words holds other passages than the catalog")
            self.note_damage(error)
            raise error

    def _open_vectors(self) -> None:
        self._asked_at = time.monotonic()
        if self.dimensions is None:
            return
        try:
            self._vectors = self._engines.vectors(self._file, self.directory / VECTORS, self.dimensions)
            has_all = self._vectors.ids() == self.catalog.ids(vector=HAS_VECTOR)
            self.away = None
        except (EngineUnavailable, EngineMissing) as error:
            self.away = error.text
            return
        except UNSOUND as error:
            has_all, self.away = False, None
            self.outdated = f"the vectors are damaged: {error}"
        if not has_all:
            self.outdated = self.outdated or "the engine for vectors holds other passages than the catalog"
            self._close_vectors()
