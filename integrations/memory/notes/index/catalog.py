"""The catalog: which files were read, which passages they hold, and what is under way. SQLite; the ids of the engines.

A change is written here first and marked as staged, then the engines take it, then it is marked as done: whatever a
crash leaves in between is found at the next opening and done again.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from hub.memory.chunking import Chunk
from hub.memory.contract import Filters
from integrations.memory.notes.index.contract import IndexDamaged, KeywordDocument
from integrations.memory.notes.index.passages import IndexedChunk, Outline, ReadFile, Stamp
from integrations.memory.notes.index.sqlite_file import Layout, SqliteFile

FILE = "catalog.db"
VERSION = 2

_SCHEMA = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE files (
    path TEXT PRIMARY KEY, source TEXT NOT NULL, area TEXT NOT NULL, mtime_ns INTEGER NOT NULL,
    size_bytes INTEGER NOT NULL, inode INTEGER NOT NULL, racy INTEGER NOT NULL, hash TEXT NOT NULL, told TEXT NOT NULL,
    problem TEXT
) WITHOUT ROWID;
CREATE TABLE chunks (
    id INTEGER PRIMARY KEY AUTOINCREMENT, state INTEGER NOT NULL, vector INTEGER NOT NULL DEFAULT 0,
    path TEXT NOT NULL, start_line INTEGER NOT NULL, end_line INTEGER NOT NULL, area TEXT NOT NULL,
    title TEXT NOT NULL, headings TEXT NOT NULL, text TEXT NOT NULL, kind TEXT, person TEXT, session TEXT, day TEXT,
    trusted INTEGER NOT NULL, marks TEXT NOT NULL, words TEXT NOT NULL, digest TEXT NOT NULL, sum BLOB NOT NULL
);
CREATE INDEX chunks_by_path ON chunks (path);
CREATE INDEX chunks_by_day ON chunks (area, day);
CREATE INDEX chunks_by_filter ON chunks (area, state, vector, person, kind, trusted, session);
CREATE INDEX chunks_by_digest ON chunks (digest);
CREATE INDEX chunks_staged ON chunks (state) WHERE state != 0;
CREATE INDEX chunks_waiting ON chunks (vector) WHERE vector = 0;
CREATE TABLE marks (
    mark TEXT NOT NULL, area TEXT NOT NULL, id INTEGER NOT NULL, PRIMARY KEY (mark, area, id)
) WITHOUT ROWID;
CREATE INDEX marks_by_id ON marks (id)
"""
LIVE, ADDING, REMOVING = 0, 1, 2
WAITING, HAS_VECTOR, REFUSED = 0, 1, 2
# SQLite takes the index over what is staged only where its own condition stands in the query.
_ADDING = f"state != {LIVE} AND state = {ADDING}"
_REMOVING = f"state != {LIVE} AND state = {REMOVING}"

_FIELDS = (
    "id, path, start_line, end_line, area, title, headings, text, kind, person, session, day, trusted, marks, words, "
    "digest, sum"
)
UNBOUNDED = 1 << 62
TOLD_LIMIT = 200
FEW = 1_000
"""Passages that are looked up one by one rather than met on the way through all of them."""

_PARTS = "\x1f"
_SLICE = 500
"""Ids named in one statement."""


@dataclass(frozen=True, slots=True)
class FileRow:
    """A file as it was read; `told` as of `Present`, nothing while not all of it is in the engines."""

    path: str
    source: str
    area: str
    stamp: Stamp
    hash: str
    told: str
    problem: str | None


@dataclass(frozen=True, slots=True)
class Row:
    """A passage as it is stored; `words` are those it is compared by."""

    id: int
    path: str
    area: str
    chunk: Chunk
    digest: str
    words: str


@dataclass(frozen=True, slots=True)
class Staged:
    """What the engines have to take, and what is to be staged after that."""

    removed: list[int]
    added: list[KeywordDocument]
    left: list[ReadFile] = field(default_factory=list)
    left_gone: list[str] = field(default_factory=list)

    @property
    def size(self) -> int:
        """How many passages the engines have to deal with."""
        return len(self.removed) + len(self.added)


class Catalog:
    """See the module; blocks, and is called in one thread at a time.

    Args:
        directory: Where its file is.

    Raises:
        IndexDamaged: What is there is not what was written.
        OSError: It cannot be opened or made.
    """

    def __init__(self, directory: Path) -> None:
        self._file = SqliteFile(directory / FILE, Layout(_SCHEMA, VERSION))

    # --- what is known ---

    def get(self, key: str) -> str | None:
        """Return a fact about the whole index."""
        with self._file.reading() as connection:
            found = connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        return None if found is None else str(found[0])

    def put(self, key: str, value: str) -> None:
        """Keep a fact about the whole index."""
        with self._file.changing() as connection:
            connection.execute("INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)", (key, value))

    def files(self, paths: Collection[str] | None = None) -> dict[str, FileRow]:
        """Return what is known of all files, or of some."""
        query = "SELECT path, source, area, mtime_ns, size_bytes, inode, racy, hash, told, problem FROM files"
        with self._file.reading() as connection:
            if paths is None:
                rows: Iterable[sqlite3.Row] = connection.execute(query)
            else:
                rows = (row for each in paths for row in connection.execute(f"{query} WHERE path = ?", (each,)))
            return {
                path: FileRow(path, source, area, Stamp(mtime_ns, size_bytes, inode, bool(racy)), hash_, told, problem)
                for path, source, area, mtime_ns, size_bytes, inode, racy, hash_, told, problem in rows
            }

    def counts(self) -> dict[str, tuple[int, int]]:
        """Return files and passages by area."""
        with self._file.reading() as connection:
            files = dict(connection.execute("SELECT area, count(*) FROM files GROUP BY area"))
            chunks = dict(connection.execute("SELECT area, count(*) FROM chunks WHERE state = 0 GROUP BY area"))
        return {area: (files.get(area, 0), chunks.get(area, 0)) for area in sorted({*files, *chunks})}

    def ids(self, *, vector: int | None = None) -> set[int]:
        """Return all passages, or those with, without or refused a vector."""
        with self._file.reading() as connection:
            if vector is None:
                return {id_ for (id_,) in connection.execute("SELECT id FROM chunks WHERE state = 0")}
            query = "SELECT id FROM chunks WHERE state = 0 AND vector = ?"
            return {id_ for (id_,) in connection.execute(query, (vector,))}

    def count(self, *, vector: int | None = None) -> int:
        """Return how many passages there are, or how many of them with, without or refused a vector."""
        query = "SELECT count(*) FROM chunks WHERE state = 0"
        with self._file.reading() as connection:
            if vector is None:
                found = connection.execute(query)
            elif vector == WAITING:
                found = connection.execute(f"{query} AND vector = 0")  # by its own index
            else:
                found = connection.execute(f"{query} AND vector = ?", (vector,))
            return int(found.fetchone()[0])

    # --- what changes ---

    def stage(self, files: Sequence[ReadFile], gone: Sequence[str] = (), budget: int = UNBOUNDED) -> Staged:
        """Write what was read, mark it as staged, and return what the engines have to take.

        A passage that stands elsewhere in its file now keeps its id, and the engines are not told.

        Args:
            files: What was read.
            gone: Paths of files that are there no longer.
            budget: Passages that are put in or taken out at most; what is left is told, to be staged again.
        """
        staged = Staged([], [])
        with self._file.changing() as connection:
            for path in gone:
                leaving = _standing(connection, path)[: budget - staged.size]
                staged.removed.extend(_withdraw(connection, leaving))
                if staged.size >= budget:
                    staged.left_gone.append(path)
                else:
                    connection.execute("DELETE FROM files WHERE path = ?", (path,))
            for file in files:
                if staged.size >= budget or not self._stage_file(connection, file, staged, budget):
                    staged.left.append(file)
        return staged

    def touch(self, files: Iterable[ReadFile]) -> None:
        """Note new stamps of files whose content is the same."""
        with self._file.changing() as connection:
            connection.executemany(
                "UPDATE files SET mtime_ns = ?, size_bytes = ?, inode = ?, racy = ? WHERE path = ?",
                (
                    (stamp.mtime_ns, stamp.size_bytes, stamp.inode, int(stamp.racy), file.present.path)
                    for file in files
                    for stamp in (file.present.stamp,)
                ),
            )

    def staged(self) -> Staged:
        """Return what was staged and not finished."""
        added = f"SELECT {_FIELDS} FROM chunks WHERE {_ADDING}"  # noqa: S608
        with self._file.reading() as connection:
            removed = [id_ for (id_,) in connection.execute(f"SELECT id FROM chunks WHERE {_REMOVING}")]  # noqa: S608
            rows = [_row(each) for each in connection.execute(added)]
        return Staged(removed, [document_of(row) for row in rows])

    def finish(self) -> list[str]:
        """Mark what was staged as done, and return what was embedded of the passages that are gone now."""
        query = f"SELECT text, title, headings FROM chunks WHERE {_REMOVING} ORDER BY id DESC LIMIT ?"  # noqa: S608
        with self._file.changing() as connection:
            rows = connection.execute(query, (TOLD_LIMIT,)).fetchall()
            connection.execute(f"DELETE FROM marks WHERE id IN (SELECT id FROM chunks WHERE {_REMOVING})")  # noqa: S608
            connection.execute(f"DELETE FROM chunks WHERE {_REMOVING}")  # noqa: S608
            connection.execute(f"UPDATE chunks SET state = {LIVE} WHERE {_ADDING}")  # noqa: S608
        gone = (Chunk(1, 1, text, title, tuple(above.split(_PARTS)) if above else ()) for text, title, above in rows)
        return [each.embed_text for each in gone]

    def set_vector(self, ids: Iterable[int], value: int) -> None:
        """Note whether passages have a vector."""
        with self._file.changing() as connection:
            connection.executemany("UPDATE chunks SET vector = ? WHERE id = ?", ((value, id_) for id_ in ids))

    # --- what is asked ---

    def waiting(self, limit: int) -> list[Row]:
        """Return passages that wait for a vector, the newest first."""
        query = f"SELECT {_FIELDS} FROM chunks WHERE vector = 0 AND state = 0 ORDER BY id DESC LIMIT ?"  # noqa: S608
        with self._file.reading() as connection:
            return [_row(each) for each in connection.execute(query, (limit,))]

    def waiting_after(self, id_: int, limit: int) -> list[tuple[int, str, str]]:
        """Return id, area and digest of passages that wait for a vector, by id."""
        query = "SELECT id, area, digest FROM chunks WHERE vector = 0 AND state = 0 AND id > ? ORDER BY id LIMIT ?"
        with self._file.reading() as connection:
            return connection.execute(query, (id_, limit)).fetchall()

    def by_digest(self, digests: Iterable[str]) -> dict[str, int]:
        """Return a passage with a vector for each of these digests that has one."""
        wanted = list(dict.fromkeys(digests))
        query = f"SELECT digest, id FROM chunks WHERE digest IN ({_places(wanted)}) AND state = 0 AND vector = 1"  # noqa: S608
        with self._file.reading() as connection:
            return dict(connection.execute(query, wanted))

    def rows(self, ids: Iterable[int]) -> dict[int, Row]:
        """Return passages by id, without those that are not there or are being removed.

        Raises:
            IndexDamaged: One is not what was written; nothing of it is shown.
        """
        return {row.id: row for row in self._rows(ids)}

    def outlines(self, ids: Sequence[int]) -> list[Outline]:
        """Return what passages are ranked by; they are not looked over as those are that are shown.

        Raises:
            IndexDamaged: One cannot be what was written.
        """
        query = f"SELECT id, path, day, words FROM chunks WHERE state = 0 AND id IN ({_places(ids)})"  # noqa: S608
        with self._file.reading() as connection:
            found = [Outline(*each) for each in connection.execute(query, ids)]
        if not all(map(Outline.is_sound, found)):
            raise IndexDamaged("a passage of the catalog is not what was written")
        return found

    def there(self, ids: Iterable[int]) -> set[int]:
        """Return those of these ids that are passages now."""
        wanted = list(ids)
        found: set[int] = set()
        with self._file.reading() as connection:
            for at in range(0, len(wanted), _SLICE):
                part = wanted[at : at + _SLICE]
                query = f"SELECT id FROM chunks WHERE state = 0 AND id IN ({_places(part)})"  # noqa: S608
                found.update(id_ for (id_,) in connection.execute(query, part))
        return found

    def all_rows(self, areas: Sequence[str], limit: int) -> list[Row]:
        """Return the passages of some areas, the newest first."""
        query = f"SELECT {_FIELDS} FROM chunks WHERE state = 0 AND area IN ({_places(areas)}) ORDER BY id DESC LIMIT ?"  # noqa: S608
        with self._file.reading() as connection:
            return [_row(each) for each in connection.execute(query, (*areas, limit))]

    def allowed(self, areas: Sequence[str], filters: Filters) -> set[int] | None:
        """Return the passages that may be looked at; None when nothing but the area is asked for."""
        wanted: list[tuple[str, str | int]] = []
        if filters.person is not None:
            wanted.append(("person", filters.person))
        if filters.session is not None:
            wanted.append(("session", filters.session))
        if filters.kind is not None:
            wanted.append(("kind", str(filters.kind)))
        if filters.trusted is not None:
            wanted.append(("trusted", int(filters.trusted)))
        if not wanted:
            return None
        also = "".join(f" AND {name} = ?" for name, _ in wanted)
        query = f"SELECT id FROM chunks WHERE state = 0 AND area IN ({_places(areas)}){also}"  # noqa: S608
        with self._file.reading() as connection:
            found = connection.execute(query, (*areas, *(value for _, value in wanted)))
            return {id_ for (id_,) in found}

    def marked(self, marks: Collection[str], areas: Sequence[str]) -> set[int]:
        """Return the passages of some areas that have one of the marks."""
        query = f"SELECT id FROM marks WHERE mark IN ({_places(marks)}) AND area IN ({_places(areas)})"  # noqa: S608
        with self._file.reading() as connection:
            return {id_ for (id_,) in connection.execute(query, (*marks, *areas))}

    def latest(self, areas: Sequence[str], limit: int, allowed: Collection[int] | None) -> list[int]:
        """Return the newest dated passages of some areas, of a day entries before prose."""
        columns = "SELECT day, kind IS NOT NULL, path, start_line, id FROM chunks WHERE day IS NOT NULL AND state = 0"
        order = "ORDER BY day DESC, kind IS NULL, path DESC, start_line DESC"
        found: list[tuple[Any, ...]] = []
        with self._file.reading() as connection:
            if allowed is not None and len(allowed) <= FEW:
                few = list(allowed)
                query = f"{columns} AND id IN ({_places(few)}) AND area IN ({_places(areas)})"
                found += connection.execute(query, (*few, *areas))
            else:
                # Area by area: then days come in order by the index, and only as many are sorted as are looked at.
                for area in areas:
                    rows = connection.execute(f"{columns} AND area = ? {order}", (area,))
                    found += islice((row for row in rows if allowed is None or row[-1] in allowed), limit)
        return [row[-1] for row in sorted(found, reverse=True)[:limit]]

    def passages_of(self, path: str) -> list[Row]:
        """Return what is stored of a file, in order; a row that is not what was written is told by an error."""
        query = f"SELECT {_FIELDS} FROM chunks WHERE path = ? AND state = 0 ORDER BY start_line, id"  # noqa: S608
        with self._file.reading() as connection:
            return [_row(each) for each in connection.execute(query, (path,))]

    def others(self, told: Mapping[str, str]) -> set[str]:
        """Return those of these files whose passages were made of other facts than what is told of them now."""
        query = "SELECT told FROM files WHERE path = ?"
        with self._file.reading() as connection:
            return {path for path, now in told.items() if connection.execute(query, (path,)).fetchone() != (now,)}

    def having(self, texts: Sequence[str]) -> list[Row]:
        """Return passages that hold one of these texts, or have it for a digest; looks at all of them."""
        query = f"SELECT {_FIELDS} FROM chunks WHERE instr(text, ?) > 0 OR digest = ? LIMIT ?"  # noqa: S608
        found: list[Row] = []
        with self._file.reading() as connection:
            for text in texts:
                found += [_row(each) for each in connection.execute(query, (text, text, TOLD_LIMIT))]
        return found

    def fold(self) -> None:
        """Write the log back into the file, so that what was removed is in neither."""
        with self._file.reading() as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def close(self) -> None:
        """Let go of the file; calling it twice does no harm."""
        self._file.close()

    def _rows(self, ids: Iterable[int]) -> Iterator[Row]:
        wanted = list(ids)
        with self._file.reading() as connection:
            for at in range(0, len(wanted), _SLICE):
                part = wanted[at : at + _SLICE]
                query = f"SELECT {_FIELDS} FROM chunks WHERE state = 0 AND id IN ({_places(part)})"  # noqa: S608
                yield from [_row(each) for each in connection.execute(query, part)]

    def _stage_file(self, connection: sqlite3.Connection, file: ReadFile, staged: Staged, budget: int) -> bool:
        """Stage one file, and return whether all of it is."""
        present, stamp = file.present, file.present.stamp
        known: dict[str, list[_Standing]] = defaultdict(list)
        standing = _standing(connection, present.path)
        for each in standing:
            # Passages of another area are other passages: who sees them is part of what they are.
            known[each[1] if each[4] == present.area else ""].append(each)
        kept: set[int] = set()
        fresh: list[IndexedChunk] = []
        for passage in file.passages:
            chunk = passage.chunk
            if same := known.get(passage.digest):
                id_, _, start_line, end_line, _ = same.pop(0)
                kept.add(id_)
                if (start_line, end_line) != (chunk.start_line, chunk.end_line):
                    values = (chunk.start_line, chunk.end_line, _sum(id_, present.path, present.area, passage), id_)
                    connection.execute("UPDATE chunks SET start_line = ?, end_line = ?, sum = ? WHERE id = ?", values)
            else:
                fresh.append(passage)
        # What is not to be seen any longer goes first.
        leaving = [each for each in standing if each[0] not in kept]
        room = budget - staged.size
        is_whole = len(leaving) + len(fresh) <= room
        staged.removed.extend(_withdraw(connection, leaving[:room]))
        room -= len(leaving[:room])
        staged.added.extend(_insert(connection, present.path, present.area, each) for each in fresh[:room])
        connection.execute(
            "INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                *(present.path, present.source, present.area, stamp.mtime_ns, stamp.size_bytes, stamp.inode),
                *(int(stamp.racy or not is_whole), file.hash if is_whole else ""),
                *(present.told if is_whole else "", file.problem),
            ),
        )
        return is_whole


def document_of(row: Row) -> KeywordDocument:
    """Return a passage as the engine for words gets it."""
    chunk = row.chunk
    return KeywordDocument(row.id, row.area, chunk.title, "\n".join(chunk.headings), chunk.text, chunk.marks)


_Standing = tuple[int, str, int, int, str]


def _standing(connection: sqlite3.Connection, path: str) -> list[_Standing]:
    query = (
        "SELECT id, digest, start_line, end_line, area FROM chunks WHERE path = ? AND state != 2 "
        "ORDER BY start_line, id"
    )
    return connection.execute(query, (path,)).fetchall()


def _withdraw(connection: sqlite3.Connection, standing: Iterable[_Standing]) -> list[int]:
    ids = [each[0] for each in standing]
    connection.executemany("UPDATE chunks SET state = 2 WHERE id = ?", ((id_,) for id_ in ids))
    return ids


def _insert(connection: sqlite3.Connection, path: str, area: str, passage: IndexedChunk) -> KeywordDocument:
    chunk = passage.chunk
    cursor = connection.execute(
        "INSERT INTO chunks (state, path, start_line, end_line, area, title, headings, text, kind, person, session, "
        "day, trusted, marks, words, digest, sum) VALUES (1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, x'')",
        (
            *(path, chunk.start_line, chunk.end_line, area, chunk.title, _PARTS.join(chunk.headings), chunk.text),
            *(chunk.kind, chunk.person, chunk.session, chunk.day, int(chunk.trusted), _PARTS.join(chunk.marks)),
            *(passage.words, passage.digest),
        ),
    )
    id_ = int(cursor.lastrowid or 0)
    connection.execute("UPDATE chunks SET sum = ? WHERE id = ?", (_sum(id_, path, area, passage), id_))
    marks = ((mark, area, id_) for mark in chunk.marks)
    connection.executemany("INSERT OR IGNORE INTO marks VALUES (?, ?, ?)", marks)
    return document_of(Row(id_, path, area, chunk, passage.digest, passage.words))


def _row(found: Sequence[object]) -> Row:
    """Read a row, and make sure that it is what was written."""
    id_, path, start_line, end_line, area, title, headings, text, *rest = found
    kind, person, session, day, trusted, marks, words, digest, kept = rest
    texts = (path, area, title, headings, text, marks, words, digest)
    if not (isinstance(id_, int) and isinstance(start_line, int) and isinstance(end_line, int)) or not all(
        isinstance(each, str) for each in texts
    ):
        raise IndexDamaged(f"passage {id_!r} of the catalog is not what was written")
    chunk = Chunk(
        start_line=start_line,
        end_line=end_line,
        text=str(text),
        title=str(title),
        headings=tuple(str(headings).split(_PARTS)) if headings else (),
        kind=None if kind is None else str(kind),
        person=None if person is None else str(person),
        session=None if session is None else str(session),
        day=None if day is None else str(day),
        trusted=trusted == 1,
        marks=tuple(str(marks).split(_PARTS)) if marks else (),
    )
    row = Row(id_, str(path), str(area), chunk, str(digest), str(words))
    if kept != _sum(id_, row.path, row.area, IndexedChunk(chunk, row.digest, row.words)):
        raise IndexDamaged(f"passage {id_} of the catalog is not what was written")
    return row


def _sum(id_: int, path: str, area: str, passage: IndexedChunk) -> bytes:
    chunk = passage.chunk
    # The digest is made of the text and all that is said about it; it is checked anew with each sum.
    parts = (str(id_), path, area, str(chunk.start_line), str(chunk.end_line), passage.words, passage.digest)
    told = (
        *(chunk.text, chunk.title, _PARTS.join(chunk.headings), _PARTS.join(chunk.marks), str(chunk.trusted)),
        *(chunk.kind or "", chunk.person or "", chunk.session or "", chunk.day or ""),
    )
    return hashlib.blake2b("\x1e".join((*parts, *told)).encode("utf-8", "surrogatepass"), digest_size=12).digest()


def _places(values: Collection[object]) -> str:
    return ",".join("?" * len(values))
