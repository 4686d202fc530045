"""Exact vectors: kept in SQLite, searched as one product of a matrix and a vector. Nothing is approximate."""

from __future__ import annotations

import zlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from hub.memory.engine_contract import checked_vector
from integrations.memory.notes.index.matrix import Matrix
from integrations.memory.notes.index.sqlite_file import SqliteFile

if TYPE_CHECKING:
    from hub.memory.engine_contract import Vector

_STORED = np.dtype("<f4")
_SCHEMA = """
CREATE TABLE IF NOT EXISTS vectors (
    id INTEGER PRIMARY KEY, area TEXT NOT NULL, crc INTEGER NOT NULL, vector BLOB NOT NULL
)
"""


class ExactIndex:
    """See `VectorIndex`.

    Args:
        file: The database of its table; created if it does not exist.
        dimensions: Length of the vectors.

    Raises:
        IndexDamaged, OSError: The table cannot be read, or not be created.
    """

    name = "exact"

    def __init__(self, file: SqliteFile, dimensions: int) -> None:
        self._dimensions = dimensions
        self._areas: dict[str, Matrix] = {}
        self._area_of: dict[int, str] = {}
        self._file = file
        file.create(_SCHEMA)
        self._load()

    def apply(self, removed: Collection[int], added: Sequence[tuple[int, str, Vector]]) -> None:
        """Remove passages and add others, in one transaction."""
        wanted = {id_: (area, checked_vector(vector, self._dimensions)) for id_, area, vector in added}
        with self._file.transaction() as connection:
            connection.executemany("DELETE FROM vectors WHERE id = ?", ((id_,) for id_ in {*removed, *wanted}))
            connection.executemany(
                "INSERT INTO vectors (id, area, crc, vector) VALUES (?, ?, ?, ?)",
                (_row(id_, area, vector) for id_, (area, vector) in wanted.items()),
            )
            self._file.on_commit(partial(self._changed, removed, wanted))

    def search(
        self, vector: Vector, areas: Sequence[str], limit: int, allowed: Collection[int] | None = None
    ) -> list[tuple[int, float]]:
        """Return ids and cosines, best first."""
        asked = checked_vector(vector, self._dimensions)
        found = [
            each
            for area in dict.fromkeys(areas)
            if (matrix := self._areas.get(area)) is not None
            for each in matrix.nearest(asked, limit, allowed)
        ]
        return sorted(found, key=lambda each: (-each[1], each[0]))[: max(0, limit)]

    def cosines(self, vector: Vector, ids: Iterable[int]) -> dict[int, float]:
        """Return the cosine of each of these passages that has a vector."""
        asked, wanted = checked_vector(vector, self._dimensions), list(ids)
        return {id_: score for matrix in self._areas.values() for id_, score in matrix.cosines(asked, wanted).items()}

    def vectors(self, ids: Iterable[int]) -> dict[int, Vector]:
        """Return copies of the vectors of those passages that have one."""
        return {id_: self._areas[self._area_of[id_]].vector(id_) for id_ in ids if id_ in self._area_of}

    def ids(self) -> set[int]:
        """Return the ids of all passages."""
        return set(self._area_of)

    def purge(self) -> None:
        """Erase removed passages from the file."""
        self._file.fold()

    def close(self) -> None:
        """Release the memory; the file belongs to the caller."""
        self._areas.clear()
        self._area_of.clear()

    def _load(self) -> None:
        length = self._dimensions * _STORED.itemsize
        with self._file.reading() as connection:
            for area, count in connection.execute("SELECT area, count(*) FROM vectors GROUP BY area").fetchall():
                self._areas[area] = Matrix(self._dimensions, int(count * 1.1))
            for id_, area, crc, blob in connection.execute("SELECT id, area, crc, vector FROM vectors"):
                if not isinstance(blob, bytes) or len(blob) != length or crc != _crc(id_, area, blob):
                    raise self._file.damage_error(f"the vector of passage {id_} is damaged: its checksum differs")
                self._put(id_, area, np.frombuffer(blob, dtype=_STORED))

    def _changed(self, removed: Collection[int], added: Mapping[int, tuple[str, Vector]]) -> None:
        for id_ in removed:
            self._take(id_)
        for id_, (area, vector) in added.items():
            self._put(id_, area, vector)

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


def _row(id_: int, area: str, vector: Vector) -> tuple[int, str, int, bytes]:
    blob = vector.astype(_STORED, copy=False).tobytes()
    return id_, area, _crc(id_, area, blob), blob


def _crc(id_: int, area: str, blob: bytes) -> int:
    return zlib.crc32(blob, zlib.crc32(f"{id_}|{area}|".encode()))
