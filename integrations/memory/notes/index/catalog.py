"""The catalog of an index: the indexed files and their passages. Engines use the same ids."""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import islice
from typing import Any

import msgspec

from hub.memory.contract import Filters
from hub.memory.engine_contract import IndexDamaged, KeywordDocument
from integrations.memory.notes.index.passages import IndexedChunk, Outline, ReadFile, Stamp
from integrations.memory.notes.index.sqlite_file import SqliteFile
from integrations.memory.notes.index.stored import (
    COLUMNS,
    StoredPassage,
    checksum,
    embedded_text,
    passage_of,
    values_of,
)

_SCHEMA = """
CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS files (
    path TEXT PRIMARY KEY, source TEXT NOT NULL, area TEXT NOT NULL, mtime_ns INTEGER NOT NULL,
    ctime_ns INTEGER NOT NULL, size_bytes INTEGER NOT NULL, inode INTEGER NOT NULL, racy INTEGER NOT NULL,
    hash TEXT NOT NULL, told TEXT NOT NULL, problem TEXT, warning TEXT
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS chunks (
    id INTEGER PRIMARY KEY AUTOINCREMENT, vector INTEGER NOT NULL DEFAULT 0,
    path TEXT NOT NULL, start_line INTEGER NOT NULL, end_line INTEGER NOT NULL, area TEXT NOT NULL,
    title TEXT NOT NULL, headings TEXT NOT NULL, text TEXT NOT NULL, kind TEXT, person TEXT, session TEXT, day TEXT,
    trusted INTEGER NOT NULL, marks TEXT NOT NULL, words TEXT NOT NULL, digest TEXT NOT NULL, sum BLOB NOT NULL
);
CREATE INDEX IF NOT EXISTS chunks_by_path ON chunks (path, start_line);
CREATE INDEX IF NOT EXISTS chunks_by_day ON chunks (area, day);
CREATE INDEX IF NOT EXISTS chunks_by_filter ON chunks (area, vector, person, kind, trusted, session);
CREATE INDEX IF NOT EXISTS chunks_by_digest ON chunks (digest);
CREATE INDEX IF NOT EXISTS chunks_waiting ON chunks (vector) WHERE vector = 0;
CREATE TABLE IF NOT EXISTS marks (
    mark TEXT NOT NULL, area TEXT NOT NULL, id INTEGER NOT NULL, PRIMARY KEY (mark, area, id)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS marks_by_id ON marks (id)
"""
WAITING, HAS_VECTOR, REFUSED = 0, 1, 2

UNBOUNDED = 1 << 62
WITHDRAWN_LIMIT = 200
FEW = 1_000
"""Passages that are looked up one by one rather than met on the way through all of them."""
_SLICE = 500
"""Ids named in one statement."""
SHORT_ENTRY = 300
"""Characters of an entry that is ranked and shown with those beside it."""
_BESIDE = (
    "CASE WHEN it.kind IS NOT NULL AND length(it.text) <= {limit} THEN (SELECT id FROM chunks AS other "
    "WHERE other.path = it.path AND other.start_line {side} it.start_line AND other.area = it.area "
    "AND other.kind IS NOT NULL ORDER BY other.start_line {order} LIMIT 1) END"
)
_BEFORE = _BESIDE.format(limit=SHORT_ENTRY, side="<", order="DESC")
_AFTER = _BESIDE.format(limit=SHORT_ENTRY, side=">", order="ASC")


class FileRow(msgspec.Struct, frozen=True):
    """A file as it was last read; `told` is that of `Present`, and empty until all of the file is indexed."""

    path: str
    source: str
    area: str
    stamp: Stamp
    hash: str
    told: str
    problem: str | None
    warning: str | None


class Portion(msgspec.Struct):
    """The effect of a catalog change on the engines, and the rest for the next change.

    Attributes:
        removed, added: Passages for the engines to remove and to add.
        withdrawn: The embedded texts of removed ones; of many, some.
        left, left_gone: Files, and paths of deleted files, that did not fit into the budget.
    """

    removed: list[int] = []
    added: list[KeywordDocument] = []
    withdrawn: list[str] = []
    left: list[ReadFile] = []
    left_gone: list[str] = []

    @property
    def size(self) -> int:
        """The number of passages that the engines have to process."""
        return len(self.removed) + len(self.added)


class Catalog:
    """See the module; blocks, and is called in one thread at a time.

    Args:
        file: The database of its tables; created if they do not exist.

    Raises:
        IndexDamaged: The content is not as written.
        OSError: They cannot be created.
    """

    def __init__(self, file: SqliteFile) -> None:
        self._file = file
        file.create(_SCHEMA)

    # --- facts ---

    def get(self, key: str) -> str | None:
        """Return an index-wide fact."""
        with self._file.reading() as connection:
            found = connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        return None if found is None else str(found[0])

    def put(self, key: str, value: str) -> None:
        """Store an index-wide fact."""
        with self._file.transaction() as connection:
            connection.execute("INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)", (key, value))

    def files(self, paths: Collection[str] | None = None) -> dict[str, FileRow]:
        """Return the rows of all files, or of some."""
        query = (
            "SELECT path, source, area, mtime_ns, ctime_ns, size_bytes, inode, racy, hash, told, problem, warning "
            "FROM files"
        )
        with self._file.reading() as connection:
            if paths is None:
                rows: Iterable[sqlite3.Row] = connection.execute(query)
            else:
                rows = (row for each in paths for row in connection.execute(f"{query} WHERE path = ?", (each,)))
            return {
                path: FileRow(path, source, area, Stamp(mtime, ctime, size, inode, bool(racy)), *rest)
                for path, source, area, mtime, ctime, size, inode, racy, *rest in rows
            }

    def counts(self) -> dict[str, tuple[int, int]]:
        """Return files and passages by area."""
        with self._file.reading() as connection:
            files = dict(connection.execute("SELECT area, count(*) FROM files GROUP BY area"))
            chunks = dict(connection.execute("SELECT area, count(*) FROM chunks GROUP BY area"))
        return {area: (files.get(area, 0), chunks.get(area, 0)) for area in sorted({*files, *chunks})}

    def ids(self, *, vector: int | None = None) -> set[int]:
        """Return all passages, or those with, without or refused a vector."""
        where, values = ("", ()) if vector is None else (" WHERE vector = ?", (vector,))
        with self._file.reading() as connection:
            return {id_ for (id_,) in connection.execute(f"SELECT id FROM chunks{where}", values)}  # noqa: S608

    def count(self, *, vector: int) -> int:
        """Return how many passages have, lack or were refused a vector."""
        # Those that wait have an index of their own, which a parameter would not find.
        where, values = ("vector = 0", ()) if vector == WAITING else ("vector = ?", (vector,))
        with self._file.reading() as connection:
            found = connection.execute(f"SELECT count(*) FROM chunks WHERE {where}", values)  # noqa: S608
            return int(found.fetchone()[0])

    # --- changes ---

    def change(self, files: Sequence[ReadFile], gone: Sequence[str] = (), budget: int = UNBOUNDED) -> Portion:
        """Store files that were read, and return the changes for the engines.

        A passage that only moved within its file keeps its id, and the engines need not know.

        Args:
            files: The files read.
            gone: Paths of files that no longer exist.
            budget: Passages that are added or removed at most.
        """
        portion = Portion()
        with self._file.transaction() as connection:
            for path in gone:
                leaving = _rows_of(connection, path)[: budget - portion.size]
                _remove(connection, leaving, portion)
                if portion.size >= budget:
                    portion.left_gone.append(path)
                else:
                    connection.execute("DELETE FROM files WHERE path = ?", (path,))
            for file in files:
                if portion.size >= budget or not self._change_file(connection, file, portion, budget):
                    portion.left.append(file)
        return portion

    def touch(self, files: Iterable[ReadFile]) -> None:
        """Note new stamps of files whose content is the same."""
        with self._file.transaction() as connection:
            connection.executemany(
                "UPDATE files SET mtime_ns = ?, ctime_ns = ?, size_bytes = ?, inode = ?, racy = ? WHERE path = ?",
                (
                    (stamp.mtime_ns, stamp.ctime_ns, stamp.size_bytes, stamp.inode, int(stamp.racy), file.present.path)
                    for file in files
                    for stamp in (file.present.stamp,)
                ),
            )

    def set_vector(self, ids: Iterable[int], value: int) -> None:
        """Note whether passages have a vector."""
        with self._file.transaction() as connection:
            connection.executemany("UPDATE chunks SET vector = ? WHERE id = ?", ((value, id_) for id_ in ids))

    # --- queries ---

    def waiting(self, limit: int) -> list[StoredPassage]:
        """Return passages that wait for a vector, the newest first."""
        return self._passages("vector = 0 ORDER BY id DESC LIMIT ?", (limit,))

    def waiting_after(self, id_: int, limit: int) -> list[tuple[int, str, str]]:
        """Return id, area and digest of passages that wait for a vector, by id."""
        query = "SELECT id, area, digest FROM chunks WHERE vector = 0 AND id > ? ORDER BY id LIMIT ?"
        with self._file.reading() as connection:
            return connection.execute(query, (id_, limit)).fetchall()

    def by_digest(self, digests: Iterable[str]) -> dict[str, int]:
        """Return a passage with a vector for each of these digests that has one."""
        wanted = list(dict.fromkeys(digests))
        query = f"SELECT digest, id FROM chunks WHERE digest IN ({_marks(wanted)}) AND vector = 1"  # noqa: S608
        with self._file.reading() as connection:
            return dict(connection.execute(query, wanted))

    def rows(self, ids: Iterable[int]) -> dict[int, StoredPassage]:
        """Return passages by id, without those that do not exist.

        Raises:
            IndexDamaged: A row is not as written.
        """
        wanted = list(ids)
        parts = (wanted[at : at + _SLICE] for at in range(0, len(wanted), _SLICE))
        return {row.id: row for part in parts for row in self._passages(f"id IN ({_marks(part)})", part)}

    def rows_after(self, id_: int, limit: int) -> list[StoredPassage]:
        """Return passages by id; raises as `rows`."""
        return self._passages("id > ? ORDER BY id LIMIT ?", (id_, limit))

    def outlines(self, ids: Sequence[int]) -> list[Outline]:
        """Return the ranking fields of passages; they are checked less closely than shown ones.

        Raises:
            IndexDamaged: A row cannot be as written.
        """
        query = f"SELECT id, path, day, words, {_BEFORE}, {_AFTER} FROM chunks AS it WHERE id IN ({_marks(ids)})"  # noqa: S608
        with self._file.reading() as connection:
            found = [Outline(*each) for each in connection.execute(query, ids)]
        if not all(map(Outline.is_sound, found)):
            raise IndexDamaged("a passage is damaged: it differs from what was written")
        return found

    def existing_ids(self, ids: Iterable[int]) -> set[int]:
        """Return those of these ids that are passages now."""
        wanted = list(ids)
        found: set[int] = set()
        with self._file.reading() as connection:
            for at in range(0, len(wanted), _SLICE):
                part = wanted[at : at + _SLICE]
                query = f"SELECT id FROM chunks WHERE id IN ({_marks(part)})"  # noqa: S608
                found.update(id_ for (id_,) in connection.execute(query, part))
        return found

    def all_rows(self, areas: Sequence[str], limit: int) -> list[StoredPassage]:
        """Return the passages of some areas, the newest first."""
        return self._passages(f"area IN ({_marks(areas)}) ORDER BY id DESC LIMIT ?", (*areas, limit))

    def filtered_ids(self, areas: Sequence[str], filters: Filters) -> set[int] | None:
        """Return the passages that pass the filters; None when there is no filter but the area."""
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
        query = f"SELECT id FROM chunks WHERE area IN ({_marks(areas)}){also}"  # noqa: S608
        with self._file.reading() as connection:
            found = connection.execute(query, (*areas, *(value for _, value in wanted)))
            return {id_ for (id_,) in found}

    def marked_ids(self, marks: Collection[str], areas: Sequence[str]) -> set[int]:
        """Return the passages of some areas that have one of the marks."""
        query = f"SELECT id FROM marks WHERE mark IN ({_marks(marks)}) AND area IN ({_marks(areas)})"  # noqa: S608
        with self._file.reading() as connection:
            return {id_ for (id_,) in connection.execute(query, (*marks, *areas))}

    def latest(self, areas: Sequence[str], limit: int, allowed: Collection[int] | None) -> list[int]:
        """Return the newest dated passages of some areas; of one day, entries before prose."""
        columns = "SELECT day, kind IS NOT NULL, path, start_line, id FROM chunks WHERE day IS NOT NULL"
        order = "ORDER BY day DESC, kind IS NULL, path DESC, start_line DESC"
        found: list[tuple[Any, ...]] = []
        with self._file.reading() as connection:
            if allowed is not None and len(allowed) <= FEW:
                few = list(allowed)
                query = f"{columns} AND id IN ({_marks(few)}) AND area IN ({_marks(areas)})"
                found += connection.execute(query, (*few, *areas))
            else:
                # Area by area: then days come in order by the index, and only as many are sorted as are looked at.
                for area in areas:
                    rows = connection.execute(f"{columns} AND area = ? {order}", (area,))
                    found += islice((row for row in rows if allowed is None or row[-1] in allowed), limit)
        return [row[-1] for row in sorted(found, reverse=True)[:limit]]

    def outdated_files(self, told: Mapping[str, str]) -> set[str]:
        """Return those of these files whose passages were made with other data about them."""
        query = "SELECT told FROM files WHERE path = ?"
        with self._file.reading() as connection:
            return {path for path, now in told.items() if connection.execute(query, (path,)).fetchone() != (now,)}

    def passages_with(self, texts: Sequence[str]) -> list[StoredPassage]:
        """Return passages that hold one of these texts, or have it for a digest; looks at all of them."""
        where = "instr(text, ?) > 0 OR digest = ? LIMIT ?"
        return [row for text in texts for row in self._passages(where, (text, text, WITHDRAWN_LIMIT))]

    def _passages(self, where: str, values: Sequence[object]) -> list[StoredPassage]:
        with self._file.reading() as connection:
            rows = connection.execute(f"SELECT {COLUMNS} FROM chunks WHERE {where}", values)  # noqa: S608
            return [passage_of(each) for each in rows]

    def _change_file(self, connection: sqlite3.Connection, file: ReadFile, portion: Portion, budget: int) -> bool:
        """Write one file, and return whether all of it fitted."""
        present, stamp = file.present, file.present.stamp
        known: dict[str, list[_Row]] = defaultdict(list)
        rows = _rows_of(connection, present.path)
        for each in rows:
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
                    values = (chunk.start_line, chunk.end_line, checksum(id_, present.path, present.area, passage), id_)
                    connection.execute("UPDATE chunks SET start_line = ?, end_line = ?, sum = ? WHERE id = ?", values)
            else:
                fresh.append(passage)
        # What must no longer be seen goes first.
        leaving = [each for each in rows if each[0] not in kept]
        room = budget - portion.size
        is_whole = len(leaving) + len(fresh) <= room
        _remove(connection, leaving[:room], portion)
        room -= len(leaving[:room])
        portion.added.extend(_insert(connection, present.path, present.area, each) for each in fresh[:room])
        connection.execute(
            "INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                *(present.path, present.source, present.area, stamp.mtime_ns, stamp.ctime_ns, stamp.size_bytes),
                *(stamp.inode, int(stamp.racy or not is_whole), file.hash if is_whole else ""),
                *(present.dependencies if is_whole else "", file.problem, file.warning),
            ),
        )
        return is_whole


_Row = tuple[int, str, int, int, str]


def _rows_of(connection: sqlite3.Connection, path: str) -> list[_Row]:
    query = "SELECT id, digest, start_line, end_line, area FROM chunks WHERE path = ? ORDER BY start_line, id"
    return connection.execute(query, (path,)).fetchall()


def _remove(connection: sqlite3.Connection, rows: Sequence[_Row], portion: Portion) -> None:
    ids = [each[0] for each in rows]
    few = ids[: max(0, WITHDRAWN_LIMIT - len(portion.withdrawn))]
    query = f"SELECT text, title, headings FROM chunks WHERE id IN ({_marks(few)})"  # noqa: S608
    portion.withdrawn.extend(embedded_text(*each) for each in connection.execute(query, few))
    for table in ("marks", "chunks"):
        connection.executemany(f"DELETE FROM {table} WHERE id = ?", ((id_,) for id_ in ids))  # noqa: S608
    portion.removed.extend(ids)


def _insert(connection: sqlite3.Connection, path: str, area: str, passage: IndexedChunk) -> KeywordDocument:
    values = values_of(path, area, passage)
    columns = COLUMNS.removeprefix("id, ")
    cursor = connection.execute(f"INSERT INTO chunks ({columns}) VALUES ({_marks(values)}, x'')", values)  # noqa: S608
    id_ = int(cursor.lastrowid or 0)
    connection.execute("UPDATE chunks SET sum = ? WHERE id = ?", (checksum(id_, path, area, passage), id_))
    marks = ((mark, area, id_) for mark in passage.chunk.marks)
    connection.executemany("INSERT OR IGNORE INTO marks VALUES (?, ?, ?)", marks)
    return StoredPassage(id_, path, area, passage.chunk, passage.digest, passage.words).document


def _marks(values: Collection[object]) -> str:
    return ",".join("?" * len(values))
