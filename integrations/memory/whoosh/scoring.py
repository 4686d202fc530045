"""BM25F as whoosh scores it, with the lengths of passages in memory: it reads one from its files for each score."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from whoosh import scoring

LENGTH_COUNTS = {"B": 0.75, "title_B": 0.0, "headings_B": 0.0, "marks_B": 0.0}
"""How much a long field counts less than a short one: of a title, its length says nothing."""
LONG_FIELD = "text"


class PassageScoring(scoring.BM25F):  # type: ignore[misc]
    """See `whoosh.scoring.BM25F`.

    Args:
        lengths: The lengths of the long field of each passage, by the name of its segment.
    """

    def __init__(self, lengths: Mapping[str, Sequence[int]]) -> None:
        super().__init__(**LENGTH_COUNTS)
        self._lengths = lengths

    def scorer(self, searcher: Any, fieldname: str, text: str, qf: int = 1) -> Any:
        """Return the scorer of one word in one field, of one segment or of all."""
        scorer = super().scorer(searcher, fieldname, text, qf)
        if fieldname != LONG_FIELD:
            scorer.dfl = _any_length
        elif (segment := getattr(searcher.reader(), "segment", None)) is not None:
            scorer.dfl = self._lengths[str(segment().segment_id())].__getitem__
        return scorer


def _any_length(_: int) -> int:
    """Return a dummy length for fields in which it does not count."""
    return 1
