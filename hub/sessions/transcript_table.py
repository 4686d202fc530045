"""Transcripts as rows of the hub database: the end of a run and its last words are one transaction there."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from hub.core.errors import NotFound
from hub.core.sql import SqlConnection
from hub.sessions.entry import FORMAT_VERSION, Header, TranscriptEntry, encode_line
from hub.sessions.keys import is_incognito
from hub.sessions.said import READ_BYTES, SaidSoFar, said_in
from hub.sessions.session import Session
from hub.sessions.tail import last_of
from hub.sessions.transcript import Redact, Transcript
from hub.sessions.transcript_file import NewerTranscript, TranscriptReading, read_lines
from hub.sessions.transcript_store import StoredFile, StoredKind, kind_of
from hub.storage.database import Database
from hub.storage.said_index import IndexedLine, IndexedTranscript

_log = logging.getLogger(__name__)

IN_TABLE = -1
"""In place of an inode: what the index knows of a file says nothing about the table."""
TAIL_ROWS = 4
"""So many rows for each message that is wanted are read first, and four times as many whenever that is not enough."""

HEAD = (
    "INSERT INTO transcripts(session_id, agent_id, session_key, version, put_away) VALUES (?, ?, ?, ?, 0)"
    " ON CONFLICT(session_id) DO NOTHING"
)
LINE = (
    "INSERT INTO transcript(session_id, seq, id, run_id, ts_ms, data) VALUES (?, ?, ?, ?, ?, ?)"
    " ON CONFLICT(session_id, id) DO NOTHING"
)
_Line = tuple[str, int, str, str | None, int, str]


class TranscriptTable:
    """The transcripts of a home in its database; see `TranscriptStore`.

    Args:
        db: The hub database.
    """

    def __init__(self, db: Database) -> None:
        self._db = db

    def place(self, agent_id: str, session_id: str) -> str:
        """Return where a transcript is, for people."""
        return f"{session_id}, in the table transcript of the hub database"

    async def open(self, agent_id: str, header: Header, redact: Redact | None) -> Transcript:
        """Open a transcript; a line that cannot be read stays where it is."""
        found, last = await self._db.read(partial(_load, session_id=header.session_id))
        if found is not None and found.damaged:
            version = found.header.version if found.header is not None else 0
            if version > FORMAT_VERSION:
                raise NewerTranscript(
                    f"the transcript {header.session_id} has format version {version}; this program knows "
                    f"{FORMAT_VERSION}. Update Homarus, or reset this session to start it over.",
                    details={"session_id": header.session_id, "version": version},
                )
            _log.warning(
                "%s: %d line(s) cannot be read and are left alone; the other %d entries are used",
                *(self.place(agent_id, header.session_id), len(found.damaged), len(found.entries)),
            )
        log = TableLog(self._db, agent_id, header, last + 1)
        return Transcript(log, found.entries if found is not None else [], redact)

    async def read(self, agent_id: str, session_id: str) -> TranscriptReading | None:
        """Read a transcript; None if there is none."""
        found, _ = await self._db.read(partial(_load, session_id=session_id))
        return found

    async def tail(self, agent_id: str, session_id: str, count: int) -> Sequence[TranscriptEntry] | None:
        """Return the last messages of a transcript's current branch."""
        return await self._db.read(partial(_tail, session_id=session_id, count=count))

    async def put_away(self, agent_id: str, key: str, present: Callable[[], str | None]) -> None:
        """Mark a session's transcripts as deleted; incognito ones are deleted indeed."""
        if is_incognito(key):
            await self._db.write(partial(_delete_of, agent_id=agent_id, key=key, present=lambda: None))
            return
        mark = "UPDATE transcripts SET put_away = 1 WHERE agent_id = ? AND session_key = ?"
        await self._db.write(lambda connection: connection.execute(mark, (agent_id, key)).rowcount)

    async def forget(self, agent_id: str, key: str, present: Callable[[], str | None]) -> None:
        """Delete a session's transcripts, but for the one whose id `present` returns."""
        await self._db.write(partial(_delete_of, agent_id=agent_id, key=key, present=present))

    async def remove(self, agent_id: str, session_id: str) -> None:
        """Delete a transcript, if there is one."""
        await self._db.write(partial(_delete, session_id=session_id))

    async def agents_by_id(self) -> dict[str, str]:
        """Return the agent of every transcript that was not put away, by id."""
        select = "SELECT session_id, agent_id FROM transcripts WHERE put_away = 0"
        return await self._db.read(lambda connection: dict(connection.execute(select).fetchall()))

    async def said_since(self, agent_id: str, session_id: str, known: IndexedTranscript | None) -> SaidSoFar | None:
        """Read on in a transcript's rows; None if there is nothing new."""
        return await self._db.read(partial(_said_since, session_id=session_id, known=known))

    async def lines(self, wanted: Sequence[tuple[str, IndexedLine]]) -> list[bytes | None]:
        """Return indexed lines; None for one that is gone."""
        return await self._db.read(partial(_lines, wanted=[line for _, line in wanted]))

    async def stored(self, sessions: Mapping[str, Session]) -> list[StoredFile]:
        """Return all transcripts, named as if they were files."""
        rows = await self._db.read(_sizes)
        keys = frozenset(each.key for each in sessions.values())
        return [_stored(row, sessions.get(row[0]), keys) for row in rows]

    async def discard(self, path: Path) -> None:
        """Delete a transcript that `stored` returned."""
        await self.remove("", path.stem)


class TableLog:
    """The one writer of one transcript's rows.

    What was appended waits here until a transaction has it. Each of them writes all that waits, so that one that failed
    is made up for by the next; a row that is there already is not written twice.
    """

    def __init__(self, db: Database, agent_id: str, header: Header, next_seq: int) -> None:
        self._db = db
        self._head = (header.session_id, agent_id, header.key, header.version)
        self._next = next_seq
        self._waiting: dict[int, _Line] = {}

    def append(self, entries: Iterable[TranscriptEntry]) -> None:
        """Take entries in order, after all others."""
        for entry in entries:
            data = encode_line(entry.as_dict()).rstrip(b"\n").decode()
            self._waiting[self._next] = (self._head[0], self._next, entry.id, entry.run_id, entry.ts_ms, data)
            self._next += 1

    async def flush(self) -> None:
        """Return once everything appended is durable.

        Raises:
            HubError: The database did not take it; it is written with the next.
        """
        if (rows := self.begin_sync()) is not None:
            await self._db.write(rows)
            rows.kept()

    async def sync(self) -> None:
        """Return once everything appended is durable."""
        await self.flush()

    def begin_sync(self) -> PendingRows | None:
        """Return what writes the rows that wait; None if there are none."""
        return PendingRows(self._head, self._waiting) if self._waiting else None

    def close(self) -> None:
        """Do nothing: the database is the hub's."""


class PendingRows:
    """Rows of a transcript that a transaction has yet to write; it may be called again."""

    def __init__(self, head: tuple[str, str, str, int], waiting: dict[int, _Line]) -> None:
        self._head = head
        self._waiting = waiting
        self._rows = tuple(waiting.values())

    def __call__(self, connection: SqlConnection) -> None:
        """Write them in the transaction of `connection`."""
        connection.execute(HEAD, self._head)  # each time: a run may write its last words after all was deleted
        connection.executemany(LINE, self._rows)

    def kept(self) -> None:
        """Let them go: their transaction is durable."""
        for row in self._rows:
            self._waiting.pop(row[1], None)

    def drop(self) -> None:
        """Leave them to the next transaction, unless they are kept."""


# -- below: in the threads of the database -----------------------------------------------------------------------------


def _load(connection: SqlConnection, session_id: str) -> tuple[TranscriptReading | None, int]:
    """Return a transcript, and the number of its last line; -1 for none."""
    select = "SELECT session_id, session_key, version FROM transcripts WHERE session_id = ?"
    head = connection.execute(select, (session_id,)).fetchone()
    if head is None:
        return None, -1
    select = "SELECT seq, data FROM transcript WHERE session_id = ? ORDER BY seq"
    rows = connection.execute(select, (session_id,)).fetchall()
    lines = [encode_line(Header(*head).as_dict()), *(f"{data}\n".encode() for _, data in rows)]
    return read_lines(b"".join(lines)), rows[-1][0] if rows else -1


def _tail(connection: SqlConnection, session_id: str, count: int) -> list[TranscriptEntry] | None:
    select = "SELECT data FROM transcript WHERE session_id = ? ORDER BY seq DESC LIMIT ?"
    taken = count * TAIL_ROWS
    while True:
        lines = [str(row[0]).encode() for row in connection.execute(select, (session_id, taken))]
        lines.reverse()
        found = last_of(lines, count)
        if found is None or len(found) == count or len(lines) < taken:
            return found
        taken *= 4


def _delete_of(connection: SqlConnection, agent_id: str, key: str, present: Callable[[], str | None]) -> None:
    select = "SELECT session_id FROM transcripts WHERE agent_id = ? AND session_key = ?"
    for (session_id,) in connection.execute(select, (agent_id, key)).fetchall():
        if session_id != present():
            _delete(connection, session_id)


def _delete(connection: SqlConnection, session_id: str) -> None:
    connection.execute("DELETE FROM transcript WHERE session_id = ?", (session_id,))
    connection.execute("DELETE FROM transcripts WHERE session_id = ?", (session_id,))


def _said_since(connection: SqlConnection, session_id: str, known: IndexedTranscript | None) -> SaidSoFar | None:
    select = "SELECT agent_id, session_key FROM transcripts WHERE session_id = ? AND put_away = 0"
    head = connection.execute(select, (session_id,)).fetchone()
    if head is None:
        raise NotFound(f"there is no transcript {session_id}")
    if known is not None and known.inode != IN_TABLE:
        known = None
    agent_id, key = head
    begin = at = known.end_bytes if known is not None else 0
    said: list[tuple[IndexedLine, str]] = []
    taken = 0
    select = "SELECT seq, data FROM transcript WHERE session_id = ? AND seq >= ? ORDER BY seq LIMIT 1000"
    for seq, data in connection.execute(select, (session_id, begin)).fetchall():
        if taken > READ_BYTES:
            break
        line = str(data).encode()
        at, taken = seq + 1, taken + len(line)
        if not is_incognito(key) and (found := said_in(line)) is not None:
            said.append((IndexedLine(session_id, found[0], seq, len(line)), found[1]))
    if at == begin:
        return None
    return SaidSoFar(IndexedTranscript(session_id, agent_id, key, IN_TABLE, at), tuple(said), from_start=known is None)


def _lines(connection: SqlConnection, wanted: Iterable[IndexedLine]) -> list[bytes | None]:
    select = "SELECT data FROM transcript WHERE session_id = ? AND seq = ?"
    found = (connection.execute(select, (line.session_id, line.begin_bytes)).fetchone() for line in wanted)
    return [str(row[0]).encode() if row is not None else None for row in found]


def _sizes(connection: SqlConnection) -> list[tuple[Any, ...]]:
    return connection.execute(
        "SELECT transcripts.session_id, transcripts.session_key, transcripts.put_away,"
        " coalesce(sum(length(transcript.data)), 0), coalesce(max(transcript.ts_ms), 0)"
        " FROM transcripts LEFT JOIN transcript ON transcript.session_id = transcripts.session_id"
        " GROUP BY transcripts.session_id, transcripts.session_key, transcripts.put_away"
    ).fetchall()


def _stored(row: tuple[Any, ...], session: Session | None, keys: frozenset[str]) -> StoredFile:
    session_id, key, put_away, size, changed_ms = row
    path = Path(f"{session_id}.jsonl")
    if put_away:
        return StoredFile("deleted" / path, StoredKind.DELETED, size, changed_ms)
    if session is not None:
        return StoredFile(path, kind_of(session), size, session.updated_ms, key)
    return StoredFile(path, StoredKind.PAST if key in keys else StoredKind.KEPT, size, changed_ms, key)
