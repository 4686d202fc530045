"""Words in whoosh: BM25F over title, headings and text, in segments that are written once and merged now and then."""

from __future__ import annotations

import contextlib
import errno
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

from whoosh import index, query as queries
from whoosh.filedb.filestore import FileStorage
from whoosh.index import LockError

from hub.memory.engine_contract import IndexDamaged, KeywordDocument
from hub.memory.terms import FIELDS, WEIGHTS, query_terms, terms_of
from integrations.memory.whoosh.fields import AREA, ID, schema
from integrations.memory.whoosh.snapshot import Segments, Snapshot
from integrations.memory.whoosh.writer import PassageWriter, merge_segments, purge_deleted

FOLDER = "whoosh"
SHOWN = 200
_NO_FILES = {errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.EINVAL, errno.EOVERFLOW}


class WhooshIndex:
    """See `KeywordIndex`.

    Args:
        directory: The parent of its folder.

    Raises:
        IndexDamaged, OSError: See `EngineModule.open_keywords`.
    """

    name = "whoosh"

    def __init__(self, directory: Path) -> None:
        self._path = directory / FOLDER
        self._segments = Segments()
        self._snapshot: Snapshot | None = None
        self._is_open = True
        self._path.mkdir(parents=True, exist_ok=True)
        with self._told():
            storage = FileStorage(str(self._path))
            if not any(self._path.iterdir()):
                index.FileIndex.create(storage, schema(), "memory")
            self._index = index.FileIndex(storage, indexname="memory")
            self._look()

    def apply(self, removed: Collection[int], added: Sequence[KeywordDocument]) -> None:
        """Remove passages and add others, in one commit."""
        documents = {document.id: document for document in added}
        if not removed and not documents:
            return
        with self._told():
            snapshot = self._look()
            gone = [at for id_ in {*removed, *documents} if (at := snapshot.place(id_)) is not None]
            if not gone and not documents:
                return
            writer = PassageWriter(self._index)
            try:
                for at in gone:
                    writer.delete_document(at)
                for document in documents.values():
                    writer.add_document(**_fields(document))
                writer.commit(mergetype=merge_segments)
            except BaseException:
                _cancel(writer)
                raise
            self._look()

    def search(
        self, query: str, areas: Sequence[str], limit: int, allowed: Collection[int] | None = None
    ) -> list[tuple[int, float]]:
        """Return ids and BM25F scores, best first."""
        terms = query_terms(query)
        if not terms or limit <= 0:
            return []
        with self._told():
            snapshot = self._look()
            places = snapshot.places(tuple(dict.fromkeys(areas)), allowed)
            # To whoosh, an empty filter is no filter.
            if not places:
                return []
            asked = queries.Or(
                [
                    queries.Term(field, term, boost=weight)
                    for term in terms
                    for field, weight in zip(FIELDS, WEIGHTS, strict=True)
                ]
            )
            results = snapshot.searcher().search(asked, limit=limit, filter=places)
            found = [(snapshot.id_at(hit.docnum), float(hit.score)) for hit in results if hit.docnum in places]
        return sorted(found, key=lambda each: (-each[1], each[0]))

    def ids(self) -> set[int]:
        """Return the ids of all passages."""
        with self._told():
            return self._look().ids()

    def purge(self) -> None:
        """Leave nothing in the files of passages that were taken out, by rewriting the segments that held some."""
        with self._told():
            self._look()
            writer = PassageWriter(self._index)
            try:
                writer.commit(mergetype=purge_deleted)
            except BaseException:
                _cancel(writer)
                raise
            self._look()

    def close(self) -> None:
        """Close the files."""
        self._is_open = False
        if self._snapshot is not None:
            self._snapshot.close()
            self._snapshot = None

    def _look(self) -> Snapshot:
        """Return the index after the last commit."""
        generation = self._index.latest_generation()
        if self._snapshot is not None and self._snapshot.generation == generation:
            return self._snapshot
        if self._snapshot is not None:
            self._snapshot.close()
            self._snapshot = None
        self._snapshot = Snapshot(self._index.reader(), generation, self._segments)
        return self._snapshot

    @contextlib.contextmanager
    def _told(self) -> Iterator[None]:
        """Raise the contract's errors for whoosh's, which on foreign files can be any."""
        if not self._is_open:
            raise RuntimeError("this index was closed")
        try:
            yield
        except IndexDamaged:
            raise
        except OSError as error:
            if error.errno is None or error.errno in _NO_FILES:
                raise IndexDamaged(f"{self._path} cannot be read: {error}") from error
            raise
        except LockError as error:
            raise OSError(errno.EAGAIN, "another process writes this index", str(self._path)) from error
        except Exception as error:  # a file that is not what was written can raise whatever reading it runs into
            raise IndexDamaged(f"{self._path} cannot be read: {type(error).__name__}: {str(error)[:SHOWN]}") from error


def _fields(document: KeywordDocument) -> dict[str, Any]:
    terms = terms_of(document)
    return {
        ID: document.id,
        AREA: document.area.encode(),
        "title": terms.title,
        "headings": terms.headings,
        "text": terms.text,
        "marks": terms.marks,
    }


def _cancel(writer: Any) -> None:
    """Give up a writer; a commit that failed has done it already."""
    if not writer.is_closed:
        # What stopped it is reported; whoosh releases its lock before it raises another.
        with contextlib.suppress(OSError, ValueError):
            writer.cancel()
