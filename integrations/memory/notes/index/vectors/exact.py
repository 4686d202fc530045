"""Exact vectors: kept in SQLite, searched as one product of a matrix and a vector. Nothing is approximate."""

from __future__ import annotations

import zlib
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from integrations.memory.notes.index.sqlite_file import Layout, SqliteFile
from integrations.memory.notes.index.vectors.checked import checked
from integrations.memory.notes.index.vectors.matrix import Matrix

if TYPE_CHECKING:
    from integrations.memory.notes.index.contract import IndexDamaged, Vector

VERSION = 1
FILE = "exact.db"
_STORED = np.dtype("<f4")
_SCHEMA = """
CREATE TABLE facts (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE vectors (id INTEGER PRIMARY KEY, area TEXT NOT NULL, crc INTEGER NOT NULL, vector BLOB NOT NULL)
"""


class ExactIndex:
    """See `VectorIndex`.

    Args:
        directory: Where its file is.
        dimensions: Length of the vectors.

    Raises:
        IndexDamaged, OSError: See `open_vectors`.
    """

    name = "exact"

    def __init__(self, directory: Path, dimensions: int) -> None:
        self._dimensions = dimensions
        self._areas: dict[str, Matrix] = {}
        self._area_of: dict[int, str] = {}
        # Two vectors of usual length on a page; longer ones go on.
        self._file = SqliteFile(directory / FILE, Layout(_SCHEMA, VERSION, page_bytes=16_384, cache_kib=2_048))
        try:
            self._load()
        except BaseException:
            self._file.close()
            raise

    def apply(self, removed: Collection[int], added: Sequence[tuple[int, str, Vector]]) -> None:
        """Take passages out and put others in, in one transaction."""
        wanted = {id_: (area, checked(vector, self._dimensions)) for id_, area, vector in added}
        with self._file.changing() as connection:
            connection.executemany("DELETE FROM vectors WHERE id = ?", ((id_,) for id_ in {*removed, *wanted}))
            connection.executemany(
                "INSERT INTO vectors (id, area, crc, vector) VALUES (?, ?, ?, ?)",
                (_row(id_, area, vector) for id_, (area, vector) in wanted.items()),
            )
        for id_ in removed:
            self._take(id_)
        for id_, (area, vector) in wanted.items():
            self._put(id_, area, vector)

    def search(
        self, vector: Vector, areas: Sequence[str], limit: int, allowed: Collection[int] | None = None
    ) -> list[tuple[int, float]]:
        """Return ids and cosines, best first."""
        asked = checked(vector, self._dimensions)
        found = [
            each
            for area in dict.fromkeys(areas)
            if (matrix := self._areas.get(area)) is not None
            for each in matrix.nearest(asked, limit, allowed)
        ]
        return sorted(found, key=lambda each: (-each[1], each[0]))[: max(0, limit)]

    def cosines(self, vector: Vector, ids: Iterable[int]) -> dict[int, float]:
        """Return the cosine of each of these that has a vector."""
        asked, wanted = checked(vector, self._dimensions), list(ids)
        return {id_: score for matrix in self._areas.values() for id_, score in matrix.cosines(asked, wanted).items()}

    def vectors(self, ids: Iterable[int]) -> dict[int, Vector]:
        """Return copies of the vectors of these, of those that have one."""
        return {id_: self._areas[self._area_of[id_]].vector(id_) for id_ in ids if id_ in self._area_of}

    def ids(self) -> set[int]:
        """Return what is in it."""
        return set(self._area_of)

    def purge(self) -> None:
        """Leave nothing in the file of passages that were taken out."""
        self._file.fold()

    def close(self) -> None:
        """Let go of the file and the memory."""
        self._file.close()
        self._areas.clear()
        self._area_of.clear()

    def _load(self) -> None:
        length = self._dimensions * _STORED.itemsize
        with self._file.reading() as connection:
            kept = connection.execute("SELECT value FROM facts WHERE name = 'dimensions'").fetchone()
            if kept is None:
                connection.execute("INSERT INTO facts VALUES ('dimensions', ?)", (self._dimensions,))
                kept = (self._dimensions,)
            if kept != (self._dimensions,):
                raise self._damaged(f"the vectors have {kept[0]} dimensions, not {self._dimensions}.")
            for area, count in connection.execute("SELECT area, count(*) FROM vectors GROUP BY area").fetchall():
                self._areas[area] = Matrix(self._dimensions, int(count * 1.1))
            for id_, area, crc, blob in connection.execute("SELECT id, area, crc, vector FROM vectors"):
                if not isinstance(blob, bytes) or len(blob) != length or crc != _crc(id_, area, blob):
                    raise self._damaged(f"the vector of passage {id_} is not what was written.")
                self._put(id_, area, np.frombuffer(blob, dtype=_STORED))

    def _put(self, id_: int, area: str, vector: Vector) -> None:
        if self._area_of.get(id_, area) != area:
            self._take(id_)
        self._area_of[id_] = area
        if (matrix := self._areas.get(area)) is None:
            matrix = self._areas[area] = Matrix(self._dimensions)
        matrix.put(id_, vector)

    def _take(self, id_: int) -> None:
        if (area := self._area_of.pop(id_, None)) is not None:
            self._areas[area].take(id_)

    def _damaged(self, text: str) -> IndexDamaged:
        return self._file.damaged(f"{FILE}: {text}")


def _row(id_: int, area: str, vector: Vector) -> tuple[int, str, int, bytes]:
    blob = vector.astype(_STORED, copy=False).tobytes()
    return id_, area, _crc(id_, area, blob), blob


def _crc(id_: int, area: str, blob: bytes) -> int:
    return zlib.crc32(blob, zlib.crc32(f"{id_}|{area}|".encode()))
