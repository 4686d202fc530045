"""The tables of the full-text index of transcripts, and their statements. All of it can be rebuilt."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Sequence

from msgspec import Struct

from hub.core.sql import SqlConnection

_FIRST = (
    """CREATE TABLE transcripts(session_id TEXT PRIMARY KEY, agent_id TEXT NOT NULL, key TEXT NOT NULL,
        inode INTEGER NOT NULL, end_bytes INTEGER NOT NULL)""",
    """CREATE TABLE said(id INTEGER PRIMARY KEY, session_id TEXT NOT NULL, ts_ms INTEGER NOT NULL,
        begin_bytes INTEGER NOT NULL, size_bytes INTEGER NOT NULL)""",
    """CREATE INDEX said_session ON said(session_id)""",
    # Words hold letters and digits, and whatever is not ASCII; every other sign parts them.
    """CREATE VIRTUAL TABLE words USING fts5(text, tokenize = 'ascii')""",
)


def _first(connection: sqlite3.Connection) -> None:
    for statement in _FIRST:
        connection.execute(statement)


SAID_MIGRATIONS = (_first,)


class IndexedLine(Struct, frozen=True):
    """A transcript line with words in it.

    Attributes:
        session_id: The id of its transcript.
        ts_ms: Milliseconds since the epoch.
        begin_bytes: Its start in the file; its number where transcripts are rows.
        size_bytes: Its length.
    """

    session_id: str
    ts_ms: int
    begin_bytes: int
    size_bytes: int


class IndexedTranscript(Struct, frozen=True):
    """A transcript, and the position up to which it is indexed.

    Attributes:
        session_id: Its name.
        agent_id: Its agent.
        key: The session that it belongs to, or belonged to before it was reset.
        inode: The inode of its file: a file that was written again has another; a number of its own for rows.
        end_bytes: Everything before this, or before the row of this number, is indexed.
    """

    session_id: str
    agent_id: str
    key: str
    inode: int
    end_bytes: int


def indexed_transcripts(connection: SqlConnection) -> list[IndexedTranscript]:
    """Return the indexed transcripts."""
    rows = connection.execute("SELECT session_id, agent_id, key, inode, end_bytes FROM transcripts")
    return [IndexedTranscript(*row) for row in rows]


def put(
    connection: SqlConnection,
    transcript: IndexedTranscript,
    said: Sequence[tuple[IndexedLine, str]],
    *,
    from_start: bool,
) -> None:
    """Add lines of a transcript with their words, separated by blanks.

    Args:
        connection: Inside a transaction.
        transcript: How far it is indexed then.
        said: The lines.
        from_start: Whether its indexed content is deleted first.
    """
    if from_start:
        drop(connection, transcript.session_id)
    (last,) = connection.execute("SELECT coalesce(max(id), 0) FROM said").fetchone()
    for id_, (line, words) in enumerate(said, start=last + 1):
        connection.execute(
            "INSERT INTO said VALUES (?, ?, ?, ?, ?)",
            (id_, line.session_id, line.ts_ms, line.begin_bytes, line.size_bytes),
        )
        connection.execute("INSERT INTO words(rowid, text) VALUES (?, ?)", (id_, words))
    connection.execute(
        "INSERT INTO transcripts VALUES (?, ?, ?, ?, ?)"
        " ON CONFLICT(session_id) DO UPDATE SET inode = excluded.inode, end_bytes = excluded.end_bytes",
        (transcript.session_id, transcript.agent_id, transcript.key, transcript.inode, transcript.end_bytes),
    )


def drop(connection: SqlConnection, session_id: str) -> None:
    """Remove a transcript; `scrub` erases its words from disk."""
    connection.execute("PRAGMA secure_delete = ON")
    connection.execute("DELETE FROM words WHERE rowid IN (SELECT id FROM said WHERE session_id = ?)", (session_id,))
    connection.execute("DELETE FROM said WHERE session_id = ?", (session_id,))
    connection.execute("DELETE FROM transcripts WHERE session_id = ?", (session_id,))


def scrub(connection: SqlConnection) -> None:
    """Erase the words of removed transcripts from disk: until then they are only marked as deleted."""
    connection.execute("INSERT INTO words(words) VALUES ('optimize')")


def find(
    connection: SqlConnection, words: Sequence[str], session_ids: Collection[str], limit: int
) -> list[IndexedLine]:
    """Return the lines with all of the words, the latest first.

    Args:
        connection: Inside a transaction.
        words: At least one; the last of them may be the beginning of a word.
        session_ids: The transcripts that are searched.
        limit: Maximum number of lines.
    """
    expression = " AND ".join('"' + each.replace('"', '""') + '"' for each in words) + (
        "*" if len(words[-1]) > 1 else ""
    )
    rows = connection.execute(
        "SELECT said.session_id, ts_ms, begin_bytes, size_bytes FROM words JOIN said ON said.id = words.rowid"
        " WHERE words MATCH ? ORDER BY ts_ms DESC, said.id DESC",
        (expression,),
    )
    found: list[IndexedLine] = []
    for row in rows:
        if row[0] in session_ids:
            found.append(IndexedLine(*row))
            if len(found) == limit:
                break
    return found
