"""Writes a change in whoosh: one segment a commit, and segments merged when there are enough of a size."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from whoosh.codec.whoosh3 import W3Codec
from whoosh.reading import SegmentReader
from whoosh.writing import SegmentWriter

POOL_MB = 256
"""Memory a bulk build may take before it sorts on disk."""
LOCK_LIMIT_S = 5.0
MERGE_FACTOR = 8
"""As many segments of about one size become one."""


class PassageWriter(SegmentWriter):  # type: ignore[misc]
    """Writes one commit.

    Args:
        index: The index it is for.

    Raises:
        LockError: Somebody else writes it, for longer than is waited for.
    """

    def __init__(self, index: Any) -> None:
        super().__init__(index, timeout=LOCK_LIMIT_S, limitmb=POOL_MB, codec=W3Codec(compression=3), compound=False)

    def _flush_segment(self) -> None:
        """As whoosh does, with the lengths of fields looked up once: it asks for one at every posting."""
        self.perdocwriter.close()
        reader = self.per_document_reader()
        self.fieldwriter.add_postings(self.schema, _Lengths(reader, self.docnum), self.pool.iter_postings())
        self.fieldwriter.close()
        reader.close()


class _Lengths:
    def __init__(self, reader: Any, count: int) -> None:
        self._reader = reader
        self._count = count

    def doc_field_length_reader(self, field: str) -> Callable[[int], int]:
        """Return a function for the length of a field of a document."""
        length = self._reader.doc_field_length_reader(field)
        return [length(number) for number in range(self._count)].__getitem__


def merge_segments(writer: Any, segments: list[Any]) -> list[Any]:
    """Merge mostly deleted segments, and enough segments of similar size; return the rest."""
    tiers: dict[int, list[Any]] = {}
    old: list[Any] = []
    rest: list[Any] = []
    for segment in segments:
        live = segment.doc_count_all() - segment.deleted_count()
        if live <= segment.doc_count_all() / 2:
            old.append(segment)
        else:
            tiers.setdefault(_tier(live), []).append(segment)
    for tier in tiers.values():
        (old if len(tier) >= MERGE_FACTOR else rest).extend(tier)
    _rewrite(writer, old)
    return rest


def purge_deleted(writer: Any, segments: list[Any]) -> list[Any]:
    """Rewrite segments with deletions; return the rest."""
    _rewrite(writer, [segment for segment in segments if segment.deleted_count()])
    return [segment for segment in segments if not segment.deleted_count()]


def _rewrite(writer: Any, segments: list[Any]) -> None:
    for segment in segments:
        if segment.doc_count_all() > segment.deleted_count():
            reader = SegmentReader(writer.storage, writer.schema, segment)
            writer.add_reader(reader)
            reader.close()


def _tier(count: int) -> int:
    tier = 0
    while count >= MERGE_FACTOR:
        count //= MERGE_FACTOR
        tier += 1
    return tier
