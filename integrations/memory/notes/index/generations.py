"""One whole index of an agent: catalog and both engines in one directory, changed together, mended when opened."""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import sqlite3
import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar

from integrations.memory.notes.index.catalog import (
    FILE,
    HAS_VECTOR,
    REFUSED,
    UNBOUNDED,
    WAITING,
    Catalog,
    Row,
    Staged,
    document_of,
)
from integrations.memory.notes.index.contract import (
    EngineMissing,
    EngineUnavailable,
    IndexDamaged,
    KeywordIndex,
    VectorIndex,
)
from integrations.memory.notes.index.passages import ReadFile

if TYPE_CHECKING:
    from integrations.memory.notes.index.contract import Vector

_log = logging.getLogger(__name__)

T = TypeVar("T")

KEYWORDS = "keywords"
VECTORS = "vectors"
CATALOG = "catalog"
AGAIN_S = 60.0
"""After which an engine that runs elsewhere is asked once more."""
WITHDRAWN_KEPT = 200
"""Texts that were taken out and are known for a moment, so that they can be taken out of the cache too."""
MEND_AT_ONCE = 500
MEND_LIMIT = 1_000
"""When more is missing, all is built anew, beside and in portions."""

UNSOUND = (IndexDamaged, sqlite3.DatabaseError)
"""What tells that files of an index are not what was written."""


class EngineOpener(Protocol):
    """What opens the engines; see `engines.Engines`."""

    def keywords(self, directory: Path) -> KeywordIndex: ...

    def vectors(self, directory: Path, dimensions: int) -> VectorIndex: ...


@dataclass(slots=True)
class Embedded:
    """Passages that were embedded: with their vectors, and those that no vector could be made of."""

    vectors: list[tuple[int, str, Vector]] = field(default_factory=list)
    refused: list[int] = field(default_factory=list)


class Generation:
    """An index; everything blocks, and is called in the thread of the engines.

    Args:
        directory: Where its files are; made when it is missing.
        engines: Opens the engines.
        is_new: Whether it is begun; else its catalog must be there.

    Raises:
        IndexDamaged: The catalog is not what was written, or missing.
        OSError: It cannot be opened or made.

    Attributes:
        broken: Parts that were found damaged, with what was found; they are not asked any longer.
        away: Why the engine for vectors cannot be had now.
    """

    def __init__(self, directory: Path, engines: EngineOpener, *, is_new: bool) -> None:
        self.directory = directory
        self.name = directory.name
        self.broken: dict[str, str] = {}
        self.away: str | None = None
        self.closed = False
        self._engines = engines
        self._vectors: VectorIndex | None = None
        self._keywords: KeywordIndex | None = None
        self._asked_at = float("-inf")
        self._unfinished = True
        self._withdrawn: deque[str] = deque(maxlen=WITHDRAWN_KEPT)
        if not is_new and not (directory / FILE).is_file():
            raise IndexDamaged(f"{directory / FILE} is missing")
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.catalog = Catalog(directory)
        try:
            self.embedder = self.catalog.get("embedder")
            self.dimensions = int(self.catalog.get("dimensions") or 0) or None
            self._open_keywords()
            self._open_vectors()
            self._mend_if_possible()
        except BaseException:
            self.close()
            raise

    @property
    def keywords(self) -> KeywordIndex | None:
        """The engine for words; None while it is damaged."""
        return None if KEYWORDS in self.broken else self._keywords

    @property
    def vectors(self) -> VectorIndex | None:
        """The engine for vectors; None when there are none, or it is damaged or away."""
        if self._vectors is None and self.away is not None and time.monotonic() - self._asked_at > AGAIN_S:
            self._open_vectors()
            self._mend_vectors()
        return None if VECTORS in self.broken else self._vectors

    def note_damage(self, part: str, error: Exception) -> None:
        """Ask a part no longer, because of what was found."""
        self.broken.setdefault(part, str(error))

    def lose_vectors(self, error: EngineUnavailable) -> None:
        """Ask the engine for vectors no longer until a while has passed: it runs elsewhere and does not answer."""
        self.away, self._asked_at = error.text, time.monotonic()
        if self._vectors is not None:
            with contextlib.suppress(OSError, EngineUnavailable, *UNSOUND):
                self._vectors.close()
        self._vectors = None

    # --- changes ---

    def apply(self, files: Sequence[ReadFile], gone: Sequence[str] = (), budget: int = UNBOUNDED) -> Staged:
        """Bring in files that were read and take out those that are gone; see `Catalog.stage` for what is left.

        Raises:
            IndexDamaged: A part is damaged; it is in `broken`.
            OSError: There is no room, or no right to write; what was there can be searched.
        """
        if self.closed:
            raise IndexDamaged("the index was closed meanwhile")
        if self._unfinished:
            self.mend()
        staged = self._in_catalog(lambda: self.catalog.stage(files, gone, budget))
        self._finish(staged)
        return staged

    def touch(self, files: Sequence[ReadFile]) -> None:
        """Note new stamps of unchanged files; raises as `apply`."""
        self._in_catalog(lambda: self.catalog.touch(files))

    def use_embedder(self, fingerprint: str, dimensions: int) -> bool:
        """Take up vectors of an embedder; return whether this index can hold them beside those it has.

        Raises:
            EngineMissing, EngineUnavailable, IndexDamaged, OSError: The engine cannot be had.
        """
        if self.embedder not in (None, fingerprint) or self.dimensions not in (None, dimensions):
            return False
        if self._vectors is None and self.away is None:
            self._vectors = self._in(VECTORS, lambda: self._engines.vectors(self.directory / VECTORS, dimensions))
        if self.embedder is None or self.dimensions is None:
            self.catalog.put("embedder", fingerprint)
            self.catalog.put("dimensions", str(dimensions))
            self.embedder, self.dimensions = fingerprint, dimensions
        return True

    def put_vectors(self, embedded: Embedded) -> None:
        """Keep vectors of passages that are still there; raises as `apply`."""
        wanted = self._in_catalog(lambda: self.catalog.there(each[0] for each in embedded.vectors))
        vectors = self.vectors
        if vectors is None:
            raise EngineUnavailable(self.away or self.broken.get(VECTORS) or "there is no engine for vectors")
        there = [each for each in embedded.vectors if each[0] in wanted]
        self._in(VECTORS, lambda: vectors.apply((), there))
        self._in_catalog(lambda: self.catalog.set_vector((each[0] for each in there), HAS_VECTOR))
        if embedded.refused:
            self.refuse(embedded.refused)

    def refuse(self, ids: Sequence[int]) -> None:
        """Note passages of which no vector can be made; raises as `apply`."""
        self._in_catalog(lambda: self.catalog.set_vector(ids, REFUSED))

    # --- what is looked at ---

    def rows(self, ids: Iterable[int]) -> dict[int, Row]:
        """Return passages by id, without any that is not what was written; that is noted."""
        wanted = list(ids)
        try:
            return self.catalog.rows(wanted)
        except UNSOUND as error:
            self.note_damage(CATALOG, error)
        sound: dict[int, Row] = {}
        for id_ in wanted:
            with contextlib.suppress(*UNSOUND):
                sound.update(self.catalog.rows([id_]))
        return sound

    def without_forgotten(self, rows: Iterable[Row], leaving_out: Mapping[str, str]) -> list[Row]:
        """Return passages without those of conversations in which there may still be what was forgotten since.

        Args:
            rows: The passages.
            leaving_out: What is told of conversations that something is left out of, by path.
        """
        found = list(rows)
        told = {row.path: leaving_out[row.path] for row in found if row.path in leaving_out}
        if not told:
            return found
        try:
            others: Collection[str] = self.catalog.others(told)
        except UNSOUND as error:
            self.note_damage(CATALOG, error)
            others = told
        return [row for row in found if row.path not in others]

    def numbers(self) -> tuple[int, int, int]:
        """Return how many files and passages there are, and how many of them wait for a vector."""
        try:
            counts = self.catalog.counts().values()
            waiting = self.catalog.count(vector=WAITING)
        except UNSOUND as error:
            self.note_damage(CATALOG, error)
            return 0, 0, 0
        return sum(files for files, _ in counts), sum(chunks for _, chunks in counts), waiting

    def embed_texts_with(self, texts: Sequence[str]) -> set[str]:
        """Return what passages were embedded as that hold one of these texts, or have it for a digest.

        Those that were taken out lately are among them.

        Raises:
            IndexDamaged: The catalog is damaged.
        """
        found = {row.chunk.embed_text for row in self._in_catalog(lambda: self.catalog.having(texts))}
        found.update(each for each in self._withdrawn if any(text in each for text in texts))
        return found

    def forget_withdrawn(self) -> None:
        """Keep nothing of what was taken out, in memory or in any file."""
        self._withdrawn.clear()
        self._in_catalog(self.catalog.fold)
        if (keywords := self.keywords) is not None:
            self._in(KEYWORDS, keywords.purge)
        if (vectors := self.vectors) is not None:
            try:
                self._in(VECTORS, vectors.purge)
            except EngineUnavailable as error:
                self.lose_vectors(error)

    def size_bytes(self) -> int:
        """Return what its files take."""
        sizes = 0
        for folder, _, names in os.walk(self.directory):  # which does without what vanishes meanwhile
            for name in names:
                with contextlib.suppress(OSError):
                    sizes += os.lstat(os.path.join(folder, name)).st_size
        return sizes

    def mend(self) -> None:
        """Finish what was begun, and make the engines hold what the catalog names; they were one when it was written.

        Raises:
            IndexDamaged: The catalog is damaged.
            OSError: It cannot be written.
        """
        self._finish(self._in_catalog(self.catalog.staged))
        self._mend_keywords()
        self._mend_vectors()

    def close(self) -> None:
        """Let go of the files; calling it twice does no harm."""
        self.closed = True
        for engine in (self._vectors, self._keywords):
            if engine is not None:
                with contextlib.suppress(OSError, EngineUnavailable, *UNSOUND):
                    engine.close()
        self.catalog.close()

    # --- below ---

    def _mend_if_possible(self) -> None:
        """Mend what can be; on a full disk what is there can be searched, and the rest follows with the next change."""
        try:
            self.mend()
        except OSError as error:
            _log.warning("%s cannot be mended now: %s", self.directory, error)
            self._unfinished = True

    def _open_keywords(self) -> None:
        try:
            self._keywords = self._engines.keywords(self.directory / KEYWORDS)
        except (*UNSOUND, EngineMissing) as error:
            self.note_damage(KEYWORDS, error)

    def _open_vectors(self) -> None:
        self._asked_at = time.monotonic()
        if self.dimensions is None:
            return
        try:
            self._vectors = self._engines.vectors(self.directory / VECTORS, self.dimensions)
            self.away = None
        except (EngineUnavailable, EngineMissing) as error:
            self.away = error.text
        except UNSOUND as error:
            self.note_damage(VECTORS, error)

    def _finish(self, staged: Staged) -> None:
        """Hand what is staged to the engines, and mark it as done."""
        self._unfinished = True
        if staged.removed or staged.added:
            if (keywords := self.keywords) is not None:
                self._in(KEYWORDS, lambda: keywords.apply(staged.removed, staged.added))
            if (vectors := self.vectors) is not None and staged.removed:
                try:
                    self._in(VECTORS, lambda: vectors.apply(staged.removed, ()))
                except EngineUnavailable as error:
                    self.lose_vectors(error)
            self._withdrawn.extend(self._in_catalog(self.catalog.finish))
        self._unfinished = False

    def _mend_keywords(self) -> None:
        if (keywords := self.keywords) is None:
            return
        with contextlib.suppress(IndexDamaged):
            there = self._in(KEYWORDS, keywords.ids)
            named = self._in_catalog(self.catalog.ids)
            if strange := there - named:
                self._in(KEYWORDS, lambda: keywords.apply(strange, ()))
            missing = sorted(named - there)
            if len(missing) > MEND_LIMIT:
                self.note_damage(
                    KEYWORDS, IndexDamaged(f"{len(missing)} passages are missing from the engine for words")
                )
                return
            for at in range(0, len(missing), MEND_AT_ONCE):
                rows = self.rows(missing[at : at + MEND_AT_ONCE])
                self._in(KEYWORDS, partial(keywords.apply, (), [document_of(row) for row in rows.values()]))

    def _mend_vectors(self) -> None:
        """What has no vector waits for one again; what has one does not."""
        if (vectors := self._vectors) is None or VECTORS in self.broken:
            return
        with contextlib.suppress(IndexDamaged):
            try:
                there = self._in(VECTORS, vectors.ids)
                named = self._in_catalog(self.catalog.ids)
                if strange := there - named:
                    self._in(VECTORS, lambda: vectors.apply(strange, ()))
            except EngineUnavailable as error:
                self.lose_vectors(error)
                return
            marked = self._in_catalog(lambda: self.catalog.ids(vector=HAS_VECTOR))
            if lost := marked - there:
                self.catalog.set_vector(lost, WAITING)
            if found := self.catalog.ids(vector=WAITING) & there:
                self.catalog.set_vector(found, HAS_VECTOR)

    def _in_catalog(self, call: Callable[[], T]) -> T:
        return self._in(CATALOG, call)

    def _in(self, part: str, call: Callable[[], T]) -> T:
        """Call a part; damage that shows is noted and told in one way."""
        try:
            return call()
        except UNSOUND as error:
            if _is_full(error):
                raise OSError(errno.ENOSPC, "the disk is full", str(self.directory)) from error
            self.note_damage(part, error)
            raise error if isinstance(error, IndexDamaged) else IndexDamaged(str(error)) from error


def _is_full(error: Exception) -> bool:
    return getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_FULL
