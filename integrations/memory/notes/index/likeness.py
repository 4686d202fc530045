"""Pairs of entries that are alike, for tidying up: by their vectors, else by words they share; never of two areas."""

from __future__ import annotations

import asyncio
import heapq
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from hub.memory.contract import Hit
from hub.memory.ranking import SNIPPET_LIMIT
from integrations.memory.notes.hits import hit_of
from integrations.memory.notes.index.catalog import Row
from integrations.memory.notes.index.contract import EngineUnavailable
from integrations.memory.notes.index.generations import UNSOUND, VECTORS, Generation
from integrations.memory.notes.index.library import IndexUnavailable, Library

if TYPE_CHECKING:
    from integrations.memory.notes.index.contract import Vector

LOOKED_AT = 5_000
"""Passages of an area that are compared, the newest first."""
BLOCK = 256
VECTORS_AT_ONCE = 1_000
COMMON_LIMIT = 200
"""A word that more passages have than this does not make any two of them alike."""

Pair = tuple[float, int, int]


async def similar(library: Library, areas: Sequence[str], threshold: float, limit: int) -> list[tuple[Hit, Hit, float]]:
    """Return pairs of passages that are alike, with their likeness 0 to 1, most first.

    Raises:
        IndexUnavailable: There is no index.
    """
    await library.open()
    generation = library.generation
    if generation is None:
        raise IndexUnavailable("there is no index yet")
    found: list[tuple[Hit, Hit, float]] = []
    for area in dict.fromkeys(areas):
        rows = await library.in_thread(partial(_rows_of, generation, area, library.leaving_out))
        vectors = await _vectors(library, generation, rows)
        compare = partial(_by_vectors, rows, vectors) if vectors is not None else partial(_by_words, rows)
        work = asyncio.get_running_loop().run_in_executor(library.shared.readers, compare, threshold, limit)
        by_id = {row.id: row for row in rows}
        found.extend((_hit(by_id[one]), _hit(by_id[other]), likeness) for likeness, one, other in await work)
    found.sort(key=lambda each: each[2], reverse=True)
    return found[:limit]


def _rows_of(generation: Generation, area: str, leaving_out: Mapping[str, str]) -> list[Row]:
    if generation.closed:
        raise IndexUnavailable("the index was built anew meanwhile; try again")
    try:
        return generation.without_forgotten(generation.catalog.all_rows([area], LOOKED_AT), leaving_out)
    except UNSOUND as error:
        generation.note_damage("catalog", error)
        raise IndexUnavailable(f"the catalog is damaged and built anew: {error}") from error


async def _vectors(library: Library, generation: Generation, rows: Sequence[Row]) -> dict[int, Vector] | None:
    """Return the vectors of all of them, None when there are not enough to compare by."""
    ids = [row.id for row in rows]
    found: dict[int, Vector] = {}
    for at in range(0, len(ids), VECTORS_AT_ONCE):
        part = ids[at : at + VECTORS_AT_ONCE]
        some = await library.in_thread(partial(_some_vectors, generation, part))
        if some is None:
            return None
        found |= some
    return found if len(found) * 2 > len(ids) else None


def _some_vectors(generation: Generation, ids: Sequence[int]) -> dict[int, Vector] | None:
    if generation.closed or (vectors := generation.vectors) is None:
        return None
    try:
        return vectors.vectors(ids)
    except EngineUnavailable as error:
        generation.lose_vectors(error)
    except UNSOUND as error:
        generation.note_damage(VECTORS, error)
    return None


def _by_vectors(rows: Sequence[Row], vectors: dict[int, Vector], threshold: float, limit: int) -> list[Pair]:
    import numpy as np

    known = [row for row in rows if row.id in vectors]
    if len(known) < 2:
        return []
    matrix = np.stack([vectors[row.id] for row in known])
    best: list[Pair] = []
    for begin in range(0, len(known), BLOCK):
        scores = matrix[begin : begin + BLOCK] @ matrix[begin:].T
        ones, others = np.nonzero(scores >= threshold)
        pairs = (
            (float(scores[one, other]), known[begin + int(one)], known[begin + int(other)])
            for one, other in zip(ones, others, strict=True)
            if other > one
        )
        best = heapq.nlargest(limit, [*best, *_apart(pairs)])
    return best


def _by_words(rows: Sequence[Row], threshold: float, limit: int) -> list[Pair]:
    words = {row.id: frozenset(row.words.split()) for row in rows}
    having: dict[str, list[int]] = {}
    for id_, own in words.items():
        for word in own:
            having.setdefault(word, []).append(id_)
    by_id = {row.id: row for row in rows}
    best: list[Pair] = []
    for id_, own in words.items():
        shared = Counter(
            other for word in own if len(having[word]) <= COMMON_LIMIT for other in having[word] if other > id_
        )
        pairs = (
            (likeness, by_id[id_], by_id[other])
            for other in shared
            if (likeness := len(own & words[other]) / len(own | words[other])) >= threshold
        )
        best = heapq.nlargest(limit, [*best, *_apart(pairs)])
    return best


def _apart(pairs: Iterator[tuple[float, Row, Row]]) -> Iterator[Pair]:
    """Leave out neighbours of one file, of which each repeats the end of the other."""
    for likeness, one, other in pairs:
        first, second = one.chunk, other.chunk
        touching = first.start_line <= second.end_line + 1 and second.start_line <= first.end_line + 1
        both_entries = first.kind is not None and second.kind is not None
        if one.path != other.path or both_entries or not touching:
            yield min(1.0, likeness), one.id, other.id


def _hit(row: Row) -> Hit:
    return hit_of(row.path, row.chunk, row.chunk.text[:SNIPPET_LIMIT])
