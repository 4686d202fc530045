"""A whoosh index after one commit: the positions of its passages, and who sees them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from whoosh.searching import Searcher

from integrations.memory.whoosh.fields import AREA, ID
from integrations.memory.whoosh.scoring import LONG_FIELD, PassageScoring


@dataclass(frozen=True, slots=True)
class Segment:
    """One segment, which never changes but for what is deleted from it: the passage at each place, their areas, and
    how long the text at each place is.
    """

    ids: list[int]
    places: dict[int, int]
    areas: dict[str, frozenset[int]]
    lengths: list[int]


class Segments:
    """Segments that were read, so that a commit of one passage does not read the others again."""

    def __init__(self) -> None:
        self._known: dict[str, Segment] = {}

    def of(self, readers: Sequence[Any]) -> list[Segment]:
        """Return the segment of each reader, and drop closed ones."""
        known = {}
        for reader in readers:
            name = _name(reader)
            known[name] = self._known.get(name) or _read(reader)
        self._known = known
        return list(known.values())


class Snapshot:
    """Places of passages, over all segments.

    Args:
        reader: whoosh's reader of this commit; closed with the snapshot.
        generation: Number of the commit.
        segments: The segments read before.
    """

    def __init__(self, reader: Any, generation: int, segments: Segments) -> None:
        self.generation = generation
        self._reader = reader
        leaves = [(leaf, offset) for leaf, offset in reader.leaf_readers() if leaf.doc_count_all()]
        self._offsets: list[int] = [offset for _, offset in leaves]
        self._segments = segments.of([leaf for leaf, _ in leaves])
        self._lengths = {
            _name(leaf): segment.lengths for (leaf, _), segment in zip(leaves, self._segments, strict=True)
        }
        self._searcher: Any = None
        self._seen: dict[tuple[str, ...], set[int]] = {}

    def searcher(self) -> Any:
        """Return the one searcher of this commit."""
        if self._searcher is None:
            self._searcher = Searcher(self._reader, weighting=PassageScoring(self._lengths))
        return self._searcher

    def place(self, id_: int) -> int | None:
        """Return the position of a passage."""
        for offset, segment in zip(self._offsets, self._segments, strict=True):
            at = segment.places.get(id_)
            if at is not None and not self._reader.is_deleted(offset + at):
                return offset + at
        return None

    def id_at(self, place: int) -> int:
        """Return the passage at a position."""
        for offset, segment in zip(reversed(self._offsets), reversed(self._segments), strict=True):
            if place >= offset:
                return segment.ids[place - offset]
        raise IndexError(place)

    def places(self, areas: tuple[str, ...], allowed: Collection[int] | None) -> set[int]:
        """Return the positions of allowed passages of some areas; some may be deleted.

        It is a `set`, since whoosh takes no other, and is not to be changed.
        """
        if (seen := self._seen.get(areas)) is None:
            seen = self._seen[areas] = {
                offset + at
                for offset, segment in zip(self._offsets, self._segments, strict=True)
                for area in areas
                for at in segment.areas.get(area, ())
            }
        if allowed is None:
            return seen
        return seen & {place for id_ in allowed if (place := self.place(id_)) is not None}

    def ids(self) -> set[int]:
        """Return all passages."""
        is_deleted = self._reader.is_deleted if self._reader.has_deletions() else None
        return {
            id_
            for offset, segment in zip(self._offsets, self._segments, strict=True)
            for at, id_ in enumerate(segment.ids)
            if is_deleted is None or not is_deleted(offset + at)
        }

    def close(self) -> None:
        """Close the files."""
        # A searcher closes its reader, and a reader wants to be closed once.
        (self._reader if self._searcher is None else self._searcher).close()


def _name(reader: Any) -> str:
    return str(reader.segment().segment_id())


def _read(reader: Any) -> Segment:
    ids = [int(id_) for id_ in reader.column_reader(ID)]
    areas: dict[str, set[int]] = {}
    for at, area in enumerate(reader.column_reader(AREA)):
        areas.setdefault(area.decode(), set()).add(at)
    return Segment(
        ids,
        {id_: at for at, id_ in enumerate(ids)},
        {area: frozenset(at) for area, at in areas.items()},
        [reader.doc_field_length(at, LONG_FIELD, 1) for at in range(len(ids))],
    )
