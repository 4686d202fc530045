"""Gives the passages that wait their vectors: many files' in one go, kept as they come, waiting on when it fails."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hub.memory.engine_contract import EngineMissing, EngineUnavailable
from integrations.memory.notes.index.contract import Embedder, EmbeddingFailed
from integrations.memory.notes.index.embedders import ChosenEmbedder
from integrations.memory.notes.index.engine_thread import EngineThread
from integrations.memory.notes.index.index_version import UNSOUND, Embedded, IndexVersion
from integrations.memory.notes.index.stored import StoredPassage

if TYPE_CHECKING:
    from hub.memory.engine_contract import Vector

_log = logging.getLogger(__name__)

AT_ONCE = 2_048
"""Passages handed to the embedder in one call, which puts as many into a request as its provider takes."""
KEPT_AT_ONCE = 128
"""Vectors written in one go, so that a search need not wait for long."""


@dataclass(slots=True)
class Tally:
    """The work done: passages embedded, and the requests for them."""

    embedded: int = 0
    requests: int = 0

    def plus(self, other: Tally) -> Tally:
        """Return the sum of both."""
        return Tally(self.embedded + other.embedded, self.requests + other.requests)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome: why passages still wait, when to try again, and whether the index cannot hold these vectors."""

    problem: str | None = None
    retry_after_s: float | None = None
    other_vectors: bool = False


async def vectorize(thread: EngineThread, version: IndexVersion, chosen: ChosenEmbedder, tally: Tally) -> Outcome:
    """Embed the waiting passages of an index until none is left, or it fails; finished ones stay. May be cancelled."""
    embedder, fingerprint = chosen.embedder, chosen.fingerprint
    if embedder is None or fingerprint is None:
        return Outcome()
    if version.embedder not in (None, fingerprint):
        return Outcome(other_vectors=True)
    while not version.closed:
        rows = await thread.run(lambda: version.catalog.waiting(AT_ONCE))
        if not rows:
            return Outcome()
        try:
            outcome = await _some(thread, version, embedder, fingerprint, rows, tally)
        except EmbeddingFailed as error:
            return Outcome(error.text, error.retry_after_s)
        except (EngineUnavailable, EngineMissing) as error:
            return Outcome(error.text)
        if outcome is not None:
            return outcome
    return Outcome()


async def _some(
    thread: EngineThread,
    version: IndexVersion,
    embedder: Embedder,
    fingerprint: str,
    rows: list[StoredPassage],
    tally: Tally,
) -> Outcome | None:
    by_text: dict[str, list[StoredPassage]] = {}
    for row in rows:
        by_text.setdefault(row.chunk.embed_text, []).append(row)
    made, spent = await embedder.documents(list(by_text))
    tally.requests += spent.requests
    embedded = _sorted_out(by_text, made)
    if embedded.vectors:
        dimensions = len(embedded.vectors[0][2])
        if not await thread.run(lambda: version.use_embedder(fingerprint, dimensions)):
            return Outcome(other_vectors=True)
    tally.embedded += len(embedded.vectors)
    for at in range(0, max(1, len(embedded.vectors)), KEPT_AT_ONCE):
        part = Embedded(embedded.vectors[at : at + KEPT_AT_ONCE], embedded.refused if at == 0 else [])
        await thread.run(lambda part=part: _keep(version, part))  # type: ignore[misc]
    return None


def _keep(version: IndexVersion, part: Embedded) -> None:
    if part.vectors:
        version.put_vectors(part)
    else:
        version.refuse(part.refused)


def _sorted_out(by_text: dict[str, list[StoredPassage]], made: list[Vector | None]) -> Embedded:
    found = Embedded()
    for rows, vector in zip(by_text.values(), made, strict=True):
        if vector is not None:
            found.vectors.extend((row.id, row.area, vector) for row in rows)
        else:
            found.refused.extend(row.id for row in rows)
    return found


async def take_over(thread: EngineThread, old: IndexVersion, fresh: IndexVersion) -> None:
    """Copy vectors of identical texts from the old index, which has the same embedder."""
    last = 0
    while not (old.closed or fresh.closed):
        last = await thread.run(lambda last=last: _take_over_some(old, fresh, last))  # type: ignore[misc]
        if not last:
            return


def _take_over_some(old: IndexVersion, fresh: IndexVersion, after: int) -> int:
    """Take over some, and return the id of the last that was looked at, 0 at the end."""
    vectors, fingerprint, dimensions = old.vectors, old.embedder, old.dimensions
    if vectors is None or fingerprint is None or dimensions is None:
        return 0
    waiting = fresh.catalog.waiting_after(after, KEPT_AT_ONCE)
    if not waiting or not fresh.use_embedder(fingerprint, dimensions):
        return 0
    try:
        known = old.catalog.by_digest(digest for _, _, digest in waiting)
        there = vectors.vectors(known.values())
    except (EngineUnavailable, *UNSOUND) as error:
        _log.info("vectors of %s cannot be taken over: %s", old.name, error)
        return 0
    found = Embedded(
        [
            (id_, area, there[known[digest]])
            for id_, area, digest in waiting
            if digest in known and known[digest] in there
        ]
    )
    if found.vectors:
        fresh.put_vectors(found)
    return waiting[-1][0]
