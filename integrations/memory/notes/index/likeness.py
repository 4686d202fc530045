"""Pairs of similar entries of one area, for tidying: by their vectors, else by common words."""

from __future__ import annotations

import asyncio
import heapq
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from hub.memory.contract import Hit
from hub.memory.engine_contract import EngineUnavailable
from hub.memory.ranking import SNIPPET_LIMIT
from integrations.memory.notes.hits import hit_of
from integrations.memory.notes.index.agent_index import AgentIndex
from integrations.memory.notes.index.index_version import UNSOUND, IndexVersion
from integrations.memory.notes.index.index_work import IndexUnavailable
from integrations.memory.notes.index.stored import StoredPassage

if TYPE_CHECKING:
    from hub.memory.engine_contract import Vector

LOOKED_AT = 5_000
"""Passages of an area that are compared, the newest first."""
BLOCK = 256
VECTORS_AT_ONCE = 1_000
COMMON_LIMIT = 200
"""A word that more passages have than this does not make any two of them alike."""

Pair = tuple[float, int, int]


async def similar(
    index: AgentIndex, areas: Sequence[str], threshold: float, limit: int
) -> list[tuple[Hit, Hit, float]]:
    """Return pairs of similar passages, with their similarity 0 to 1, highest first.

    Raises:
        IndexUnavailable: There is no index.
    """
    await index.open()
    version = index.version
    if version is None:
        raise IndexUnavailable("there is no index yet")
    found: list[tuple[Hit, Hit, float]] = []
    for area in dict.fromkeys(areas):
        rows = await index.in_thread(partial(_rows_of, version, area, index.leaving_out))
        vectors = await _vectors(index, version, rows)
        compare = partial(_by_vectors, rows, vectors) if vectors is not None else partial(_by_words, rows)
        work = asyncio.get_running_loop().run_in_executor(index.shared.readers, compare, threshold, limit)
        by_id = {row.id: row for row in rows}
        found.extend((_hit(by_id[one]), _hit(by_id[other]), likeness) for likeness, one, other in await work)
    found.sort(key=lambda each: each[2], reverse=True)
    return found[:limit]


def _rows_of(version: IndexVersion, area: str, leaving_out: Mapping[str, str]) -> list[StoredPassage]:
    try:
        with version.guard_damage():
            return version.without_forgotten(version.catalog.all_rows([area], LOOKED_AT), leaving_out)
    except UNSOUND as error:
        raise IndexUnavailable(f"the index is being built again: {error}") from error


async def _vectors(index: AgentIndex, version: IndexVersion, rows: Sequence[StoredPassage]) -> dict[int, Vector] | None:
    """Return all vectors, None if too few exist to compare."""
    ids = [row.id for row in rows]
    found: dict[int, Vector] = {}
    for at in range(0, len(ids), VECTORS_AT_ONCE):
        part = ids[at : at + VECTORS_AT_ONCE]
        some = await index.in_thread(partial(_some_vectors, version, part))
        if some is None:
            return None
        found |= some
    return found if len(found) * 2 > len(ids) else None


def _some_vectors(version: IndexVersion, ids: Sequence[int]) -> dict[int, Vector] | None:
    try:
        with version.guard_damage():
            return None if (vectors := version.vectors) is None else vectors.vectors(ids)
    except EngineUnavailable as error:
        version.lose_vectors(error)
    except UNSOUND:
        pass
    return None


def _by_vectors(rows: Sequence[StoredPassage], vectors: dict[int, Vector], threshold: float, limit: int) -> list[Pair]:
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


def _by_words(rows: Sequence[StoredPassage], threshold: float, limit: int) -> list[Pair]:
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


def _apart(pairs: Iterator[tuple[float, StoredPassage, StoredPassage]]) -> Iterator[Pair]:
    """Leave out adjacent passages of one file, which overlap."""
    for likeness, one, other in pairs:
        first, second = one.chunk, other.chunk
        touching = first.start_line <= second.end_line + 1 and second.start_line <= first.end_line + 1
        both_entries = first.kind is not None and second.kind is not None
        if one.path != other.path or both_entries or not touching:
            yield min(1.0, likeness), one.id, other.id


def _hit(row: StoredPassage) -> Hit:
    return hit_of(row.path, row.chunk, row.chunk.text[:SNIPPET_LIMIT])
