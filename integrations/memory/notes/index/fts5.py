"""The keyword engine in SQLite's full-text index. It is given tokenised words and stores no other text."""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections.abc import Collection, Iterable, Sequence

from hub.memory.engine_contract import EngineMissing, KeywordDocument
from hub.memory.terms import FIELDS, WEIGHTS, query_terms, terms_of
from integrations.memory.notes.index.common_terms import SAMPLE, CommonTerms
from integrations.memory.notes.index.sqlite_file import SqliteFile

LARGE = 5_000
"""Passages from which on common words are distinguished from others."""
LEARN_AGAIN = 0.2
CANDIDATES, LEAST_CANDIDATES = 4, 50
"""Passages found by rarer words, of which the common ones choose: this many times the requested number."""
# Words hold letters and digits, and marks of dates these two; every other sign of ASCII parts them.
_TOKENIZER = "ascii tokenchars ''@-''"
_SCHEMA = f"""
CREATE TABLE IF NOT EXISTS passages (id INTEGER PRIMARY KEY, area TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS terms (id INTEGER PRIMARY KEY, packed BLOB NOT NULL);
CREATE VIRTUAL TABLE IF NOT EXISTS words USING fts5({", ".join(FIELDS)}, content='', tokenize='{_TOKENIZER}')
"""
_PUT = f"INSERT INTO words (rowid, {', '.join(FIELDS)}) VALUES (?, ?, ?, ?, ?)"  # noqa: S608
_TAKE = f"INSERT INTO words (words, rowid, {', '.join(FIELDS)}) VALUES ('delete', ?, ?, ?, ?, ?)"  # noqa: S608


class Fts5Index:
    """See `KeywordIndex`.

    The indexed form of a passage is kept, packed: an index without its text needs it to remove a passage, and
    SQLite before 3.43 knows no other way.

    Args:
        file: The database of its tables; created if they do not exist.

    Raises:
        IndexDamaged, OSError: The tables cannot be read, or not be created.
        EngineMissing: This SQLite was built without FTS5.
    """

    name = "fts5"

    def __init__(self, file: SqliteFile) -> None:
        if not _has_fts5():
            raise EngineMissing(
                "This Python's SQLite was built without FTS5. Name another engine for memory: keywords."
            )
        self._learnt = CommonTerms({}, 0)
        self._changed = 1
        self._file = file
        file.create(_SCHEMA)
        with file.reading() as connection:
            connection.execute("INSERT INTO words (words) VALUES ('integrity-check')")

    def apply(self, removed: Collection[int], added: Sequence[KeywordDocument]) -> None:
        """Remove passages and add others, in one transaction."""
        documents = {document.id: document for document in added}
        rows = [(document.id, document.area, _columns(document)) for document in documents.values()]
        with self._file.transaction() as connection:
            self._take(connection, {*removed, *documents})
            connection.executemany(
                "INSERT INTO passages (id, area) VALUES (?, ?)", ((id_, area) for id_, area, _ in rows)
            )
            connection.executemany(
                "INSERT INTO terms (id, packed) VALUES (?, ?)", ((id_, _packed(columns)) for id_, _, columns in rows)
            )
            connection.executemany(_PUT, ((id_, *columns) for id_, _, columns in rows))
        self._changed += len(removed) + len(documents)

    def search(
        self, query: str, areas: Sequence[str], limit: int, allowed: Collection[int] | None = None
    ) -> list[tuple[int, float]]:
        """Return ids and BM25 scores, best first.

        In a large index, words that most passages hold only order what the others find: scoring half of all passages
        for their sake would take longer than all the rest.
        """
        terms = query_terms(query)
        if not terms or not areas or limit <= 0 or (allowed is not None and not allowed):
            return []
        sought, common = self._common().split(terms)
        if common:
            found = self._matched(sought, areas, max(limit * CANDIDATES, LEAST_CANDIDATES), allowed)
            if len(found) >= limit:
                return self._ordered(found, common)[:limit]
        return self._matched(terms, areas, limit, allowed)

    def ids(self) -> set[int]:
        """Return the ids of all passages."""
        with self._file.reading() as connection:
            return {id_ for (id_,) in connection.execute("SELECT id FROM passages")}

    def purge(self) -> None:
        """Erase removed passages from the file: their words stay in FTS5 until it is merged."""
        with self._file.transaction() as connection:
            connection.execute("INSERT INTO words (words) VALUES ('optimize')")
        self._file.fold()

    def close(self) -> None:
        """Do nothing: the file is the caller's."""

    def _matched(
        self, terms: Sequence[str], areas: Sequence[str], limit: int, allowed: Collection[int] | None
    ) -> list[tuple[int, float]]:
        only = "" if allowed is None else "AND passages.id IN (SELECT value FROM json_each(?))"
        # CROSS JOIN: words first, then who may see them; the other way round every passage is looked at.
        statement = f"""
            SELECT passages.id, -bm25(words, {", ".join(map(str, WEIGHTS))}) AS score
            FROM words CROSS JOIN passages ON passages.id = words.rowid
            WHERE words MATCH ? AND passages.area IN ({", ".join("?" * len(areas))}) {only}
            ORDER BY score DESC, passages.id LIMIT ?
        """  # noqa: S608  nothing of it comes from outside
        match = " OR ".join(f'"{term}"' for term in terms)
        values = [match, *areas, *([] if allowed is None else [json.dumps(list(allowed))]), limit]
        with self._file.reading() as connection:
            return [(int(id_), float(score)) for id_, score in connection.execute(statement, values)]

    def _ordered(self, found: Sequence[tuple[int, float]], common: Sequence[str]) -> list[tuple[int, float]]:
        """Add the scores of common words, best first."""
        learnt = self._common()
        scored = []
        with self._file.reading() as connection:
            for id_, score in found:
                (packed,) = connection.execute("SELECT packed FROM terms WHERE id = ?", (id_,)).fetchone()
                # With a blank at either end, a word is found as what is between blanks.
                columns = [f" {column} " for column in self._unpacked(id_, packed)]
                worth = sum(learnt.weight(term, _times(term, columns)) for term in common)
                scored.append((id_, score + worth))
        return sorted(scored, key=lambda each: (-each[1], each[0]))

    def _common(self) -> CommonTerms:
        """Return the common words, recomputed when a large part of the index has changed."""
        if self._changed > self._learnt.count * LEARN_AGAIN:
            with self._file.reading() as connection:
                (count,) = connection.execute("SELECT count(*) FROM passages").fetchone()
                rows: list[tuple[int, bytes]] = []
                if count >= LARGE:
                    rows = connection.execute(
                        "SELECT id, packed FROM terms WHERE id % ? = 0", (max(1, count // SAMPLE),)
                    ).fetchall()
            passages = (" ".join(self._unpacked(id_, packed)).split() for id_, packed in rows)
            self._learnt, self._changed = CommonTerms.learnt(passages, count), 0
        return self._learnt

    def _take(self, connection: sqlite3.Connection, ids: Iterable[int]) -> None:
        gone = [(id_,) for id_ in ids]
        rows = [
            (id_, *self._unpacked(id_, packed))
            for each in gone
            for id_, packed in connection.execute("SELECT id, packed FROM terms WHERE id = ?", each)
        ]
        connection.executemany(_TAKE, rows)
        connection.executemany("DELETE FROM terms WHERE id = ?", gone)
        connection.executemany("DELETE FROM passages WHERE id = ?", gone)

    def _unpacked(self, id_: int, packed: bytes) -> list[str]:
        try:
            columns = zlib.decompress(packed).decode().split("\n")
        except (zlib.error, TypeError, UnicodeDecodeError) as error:
            raise self._file.damage_error(f"the words of passage {id_} are not what was written: {error}") from error
        if len(columns) != len(FIELDS):
            raise self._file.damage_error(f"the words of passage {id_} are not what was written.")
        return columns


def _times(term: str, columns: Sequence[str]) -> float:
    return sum(weight * column.count(f" {term} ") for weight, column in zip(WEIGHTS, columns, strict=True))


def _columns(document: KeywordDocument) -> list[str]:
    terms = terms_of(document)
    return [" ".join(each) for each in (terms.title, terms.headings, terms.text, terms.marks)]


def _packed(columns: list[str]) -> bytes:
    return zlib.compress("\n".join(columns).encode(), level=1)


def _has_fts5() -> bool:
    connection = sqlite3.connect(":memory:")
    try:
        return bool(connection.execute("SELECT sqlite_compileoption_used('ENABLE_FTS5')").fetchone()[0])
    finally:
        connection.close()
