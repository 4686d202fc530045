"""The vectors of one area as one matrix in memory, which grows in place and is searched whole."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hub.memory.engine_contract import Vector

SMALLEST_ROWS = 64
GROWTH = 1.5
FEW = 0.25
"""Share of the rows below which those that are allowed are looked at one by one."""


class Matrix:
    """Rows of vectors, each under a number; the order of rows means nothing.

    Args:
        dimensions: Length of a row.
        rows: How many are expected.
    """

    def __init__(self, dimensions: int, rows: int = 0) -> None:
        self._rows = np.empty((max(rows, SMALLEST_ROWS), dimensions), dtype=np.float32)
        self._ids = np.empty(len(self._rows), dtype=np.int64)
        self._at: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self._at)

    def __iter__(self) -> Iterator[int]:
        return iter(self._at)

    def __contains__(self, id_: int) -> bool:
        return id_ in self._at

    def put(self, id_: int, vector: Vector) -> None:
        """Store a vector, replacing an earlier one."""
        at = self._at.get(id_)
        if at is None:
            at = len(self._at)
            if at == len(self._rows):
                self._grow()
            self._at[id_] = at
            self._ids[at] = id_
        self._rows[at] = vector

    def take(self, id_: int) -> None:
        """Take a vector out, if it is there; the last row moves into its place."""
        at = self._at.pop(id_, None)
        if at is None:
            return
        last = len(self._at)
        if at != last:
            moved = int(self._ids[last])
            self._rows[at] = self._rows[last]
            self._ids[at] = moved
            self._at[moved] = at

    def vector(self, id_: int) -> Vector:
        """Return a copy of one vector."""
        row: Vector = self._rows[self._at[id_]].copy()
        return row

    def cosines(self, vector: Vector, ids: Iterable[int]) -> dict[int, float]:
        """Return the cosine with each of these that are here."""
        known = [id_ for id_ in ids if id_ in self._at]
        if not known:
            return {}
        scores = self._rows[[self._at[id_] for id_ in known]] @ vector
        return {id_: _cosine(score) for id_, score in zip(known, scores, strict=True)}

    def nearest(self, vector: Vector, limit: int, allowed: Collection[int] | None = None) -> list[tuple[int, float]]:
        """Return ids and cosines of the nearest, in no order."""
        count = len(self._at)
        rows: NDArray[np.int64] | None = None
        if allowed is not None:
            rows = np.fromiter((self._at[id_] for id_ in allowed if id_ in self._at), dtype=np.int64)
        if (count if rows is None else len(rows)) == 0 or limit <= 0:
            return []
        if rows is None:
            scores = self._rows[:count] @ vector
        elif len(rows) < FEW * count:
            scores = self._rows[rows] @ vector
        else:
            scores = (self._rows[:count] @ vector)[rows]
        best = np.argpartition(scores, -limit)[-limit:] if limit < len(scores) else np.arange(len(scores))
        ids = self._ids[best if rows is None else rows[best]]
        return [(int(id_), _cosine(score)) for id_, score in zip(ids, scores[best], strict=True)]

    def _grow(self) -> None:
        more = int(len(self._rows) * GROWTH)
        rows, ids = np.empty((more, self._rows.shape[1]), dtype=np.float32), np.empty(more, dtype=np.int64)
        rows[: len(self._rows)], ids[: len(self._ids)] = self._rows, self._ids
        self._rows, self._ids = rows, ids


def _cosine(score: np.float32) -> float:
    """Return the value clipped to -1 to 1 against rounding."""
    return min(1.0, max(-1.0, float(score)))
