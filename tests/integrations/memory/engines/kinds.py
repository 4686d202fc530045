"""The kinds of engines, and how each is opened in a directory; a new one is a line here."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hub.memory.engine_contract import KeywordDocument, KeywordIndex, VectorIndex
from integrations.memory.chroma.engine import open_vectors as open_chroma
from integrations.memory.notes.index.exact import ExactIndex
from integrations.memory.notes.index.fts5 import Fts5Index
from integrations.memory.notes.index.sqlite_file import SqliteFile
from integrations.memory.whoosh.engine import open_keywords as open_whoosh

if TYPE_CHECKING:
    from hub.memory.engine_contract import Vector

KEYWORDS = ("fts5", "whoosh")
VECTORS = ("exact", "chroma", "server")
IN_FILES = ("fts5", "whoosh", "exact", "chroma")
"""Those that keep all they know in their directory."""
DIMENSIONS = 8
SERVER_S = 120.0
"""What a busy machine is given: a search waits for a quarter of it."""
LIMIT = 10_000
FILE = "index.db"


def document(id_: int, text: str, *, area: str = "private", title: str = "", headings: str = "") -> KeywordDocument:
    return KeywordDocument(id_, area, title, headings, text)


def vector(*numbers: float) -> Vector:
    """A vector of length one that points as the first few numbers say."""
    row = np.zeros(DIMENSIONS, dtype=np.float32)
    row[: len(numbers)] = numbers
    return row / np.float32(np.linalg.norm(row))


def random_vectors(count: int, dimensions: int = DIMENSIONS, seed: int = 1) -> list[Vector]:
    rows = np.random.default_rng(seed).normal(size=(count, dimensions)).astype(np.float32)
    return list(rows / np.linalg.norm(rows, axis=1, keepdims=True))


class OwnFts5(Fts5Index):
    """The engine in a file of its own."""

    def __init__(self, directory: Path) -> None:
        self._own = SqliteFile(directory / FILE, 1)
        try:
            super().__init__(self._own)
        except BaseException:
            self._own.close()
            raise

    def close(self) -> None:
        super().close()
        self._own.close()


class OwnExact(ExactIndex):
    """The engine in a file of its own."""

    def __init__(self, directory: Path, dimensions: int) -> None:
        self._own = SqliteFile(directory / FILE, 1)
        try:
            super().__init__(self._own, dimensions)
        except BaseException:
            self._own.close()
            raise

    def close(self) -> None:
        super().close()
        self._own.close()


def open_keywords(kind: str, directory: Path) -> KeywordIndex:
    return open_whoosh(directory, {}) if kind == "whoosh" else OwnFts5(directory)


def vectors_in(
    kind: str, directory: Path, server: str | None = None, dimensions: int = DIMENSIONS, timeout_s: float = 20.0
) -> VectorIndex:
    if kind == "server":
        assert server is not None
        return open_chroma(directory, dimensions, {"url": server, "timeout_s": SERVER_S})
    if kind == "chroma":
        return open_chroma(directory, dimensions, {"timeout_s": timeout_s})
    return OwnExact(directory, dimensions)


class Both:
    """An engine of either sort, filled and asked in the same way, for what has to hold for all of them.

    A passage holds the word of its number and the word that all have, and its vector is that of its number.
    """

    def __init__(self, kind: str, directory: Path, timeout_s: float = 20.0) -> None:
        self.kind = kind
        self.engine: Any = (
            open_keywords(kind, directory) if kind in KEYWORDS else vectors_in(kind, directory, timeout_s=timeout_s)
        )

    def put(self, ids: Iterable[int], removed: Sequence[int] = (), area: str = "private") -> None:
        wanted = list(ids)
        if self.kind in KEYWORDS:
            self.engine.apply(
                removed, [document(id_, f"word{id_} everywhere {_filler(id_)}", area=area) for id_ in wanted]
            )
        else:
            self.engine.apply(removed, [(id_, area, _vector(id_)) for id_ in wanted])

    def find(self, id_: int, limit: int = 3, area: str = "private") -> list[int]:
        asked = f"word{id_}" if self.kind in KEYWORDS else _vector(id_)
        return [found for found, _ in self.engine.search(asked, [area], limit)]

    def ids(self) -> set[int]:
        found: set[int] = self.engine.ids()
        return found

    def close(self) -> None:
        self.engine.close()


def _filler(id_: int) -> str:
    return " ".join(f"f{id_ * number % 997}" for number in range(1, 60))


def _vector(id_: int) -> Vector:
    return random_vectors(1, seed=id_)[0]
