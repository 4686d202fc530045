"""Stores passages as rows and reads them back; a row that cannot be read back is damage."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import msgspec

from hub.memory.chunking import Chunk
from hub.memory.engine_contract import IndexDamaged, KeywordDocument
from integrations.memory.notes.index.passages import IndexedChunk

COLUMNS = (
    "id, path, start_line, end_line, area, title, headings, text, kind, person, session, day, trusted, marks, words, "
    "digest, sum"
)
_SEPARATOR = "\x1f"


class StoredPassage(msgspec.Struct, frozen=True):
    """A passage as it is stored; `words` are those it is compared by."""

    id: int
    path: str
    area: str
    chunk: Chunk
    digest: str
    words: str

    @property
    def document(self) -> KeywordDocument:
        """The passage as the engine for words gets it."""
        chunk = self.chunk
        return KeywordDocument(self.id, self.area, chunk.title, "\n".join(chunk.headings), chunk.text, chunk.marks)


def values_of(path: str, area: str, passage: IndexedChunk) -> tuple[object, ...]:
    """Return the values of COLUMNS without id and sum."""
    chunk = passage.chunk
    return (
        *(path, chunk.start_line, chunk.end_line, area, chunk.title, _SEPARATOR.join(chunk.headings), chunk.text),
        *(chunk.kind, chunk.person, chunk.session, chunk.day, int(chunk.trusted), _SEPARATOR.join(chunk.marks)),
        *(passage.words, passage.digest),
    )


def passage_of(row: Sequence[object]) -> StoredPassage:
    """Return the passage of a row of COLUMNS.

    Raises:
        IndexDamaged: The row is not as written.
    """
    id_, path, start_line, end_line, area, title, headings, text, *rest = row
    kind, person, session, day, trusted, marks, words, digest, kept = rest
    texts = (path, area, title, headings, text, marks, words, digest)
    if not (isinstance(id_, int) and isinstance(start_line, int) and isinstance(end_line, int)) or not all(
        isinstance(each, str) for each in texts
    ):
        raise IndexDamaged(f"passage {id_!r} is damaged: a column has the wrong type")
    chunk = Chunk(
        start_line=start_line,
        end_line=end_line,
        text=str(text),
        title=str(title),
        headings=tuple(str(headings).split(_SEPARATOR)) if headings else (),
        kind=None if kind is None else str(kind),
        person=None if person is None else str(person),
        session=None if session is None else str(session),
        day=None if day is None else str(day),
        trusted=trusted == 1,
        marks=tuple(str(marks).split(_SEPARATOR)) if marks else (),
    )
    found = StoredPassage(id_, str(path), str(area), chunk, str(digest), str(words))
    if kept != checksum(id_, found.path, found.area, IndexedChunk(chunk, found.digest, found.words)):
        raise IndexDamaged(f"passage {id_} is damaged: its checksum differs")
    return found


def embedded_text(text: str, title: str, headings: str) -> str:
    """Return the embedded text of a passage, from three of its columns."""
    return Chunk(1, 1, text, title, tuple(headings.split(_SEPARATOR)) if headings else ()).embed_text


def checksum(id_: int, path: str, area: str, passage: IndexedChunk) -> bytes:
    """Return the checksum of a row."""
    chunk = passage.chunk
    parts = (str(id_), path, area, str(chunk.start_line), str(chunk.end_line), passage.words, passage.digest)
    more = (
        *(chunk.text, chunk.title, _SEPARATOR.join(chunk.headings), _SEPARATOR.join(chunk.marks), str(chunk.trusted)),
        *(chunk.kind or "", chunk.person or "", chunk.session or "", chunk.day or ""),
    )
    return hashlib.blake2b("\x1e".join((*parts, *more)).encode("utf-8", "surrogatepass"), digest_size=12).digest()
