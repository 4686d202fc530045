"""The fields of a passage in whoosh: words tokenised and counted by us, without positions.

whoosh writes these classes into its index by name: renaming one makes every index a damaged one (and it is rebuilt).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

from whoosh import columns, fields, formats
from whoosh.analysis import Analyzer, Token

from hub.memory.terms import FIELDS
from hub.memory.words import words_of

ID, AREA = "id", "area"


class Words(Analyzer):  # type: ignore[misc]
    """Our analyser for what whoosh itself cuts: English stems, Chinese characters and pairs."""

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other)

    __hash__ = None  # type: ignore[assignment]

    def __call__(self, value: str, **_: Any) -> Iterator[Token]:
        """Yield a token for each word."""
        for position, word in enumerate(words_of(value)):
            yield Token(text=word, pos=position, boost=1.0, stopped=False)


class CountedWords(fields.FieldType):  # type: ignore[misc]
    """A field that takes words, and stores how often each occurs."""

    def __init__(self) -> None:
        self.format = formats.Existence()
        self.analyzer = Words()
        self.scorable = True
        self.stored = False
        self.unique = False
        self.vector = None
        self.column_type = None
        self.spelling = False

    def index(self, value: Sequence[str], **_: Any) -> Iterator[tuple[bytes, int, float, bytes]]:
        """Yield word, count, weight and the count as whoosh packs it."""
        for word, count in Counter(value).items():
            yield word.encode(), count, float(count), _packed(count)


def schema() -> fields.Schema:
    """Return the schema of a passage: words by field, its number and its area."""
    counted = {name: CountedWords() for name in FIELDS}
    return fields.Schema(
        **{ID: fields.COLUMN(columns.NumericColumn("q")), AREA: fields.COLUMN(columns.RefBytesColumn()), **counted}
    )


@lru_cache(maxsize=256)
def _packed(count: int) -> bytes:
    packed: bytes = formats.pack_uint(count)
    return packed
