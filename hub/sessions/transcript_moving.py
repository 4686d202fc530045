"""Carries transcripts between files of the home and the table, line by line and unchanged."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from hub.core.sql import SqlConnection
from hub.sessions.entry import Header, encode_line
from hub.sessions.transcript_file import TranscriptReading, move_to_deleted, parse_line, read_lines
from hub.sessions.transcript_table import HEAD, LINE
from hub.storage.database import Database
from hub.storage.document_moving import TABLE, documents_into_files, files_into_documents
from hub.storage.files import write_atomic
from hub.storage.homedir import Home
from hub.storage.moving import READ_LIMIT_S, MoveFailed, move_rows

TABLES = frozenset({"transcripts", "transcript"})
DELETED = "deleted"


async def files_into_table(home: Home, db: Database) -> int:
    """Write every transcript's file into the table, which has none yet; return how many.

    Lines that are damaged stay in their file, which is not changed.

    Raises:
        MoveFailed: What arrived differs.
        OSError: The disk cannot be read.
    """
    paths: dict[tuple[str, str], list[Path]] = {}
    for path in sorted(home.agents.glob(f"*/sessions/{DELETED}/*.jsonl")):
        paths.setdefault((path.parents[2].name, path.stem), []).append(path)
    for path in sorted(home.agents.glob("*/sessions/*.jsonl")):  # there is one too if a run ended after it was deleted
        paths.setdefault((path.parents[1].name, path.stem), []).append(path)
    for (agent_id, session_id), found in paths.items():
        readings = [read_lines(await asyncio.to_thread(path.read_bytes)) for path in found]
        lines = _lines(readings)
        header = next((each.header for each in readings if each.header is not None), Header(session_id, ""))
        head = (session_id, agent_id, header.key, header.version)
        is_away = found[0].parent.name == DELETED
        await db.write(partial(_put, head=head, lines=lines, is_away=is_away))
        if await db.read(partial(_get, session_id=session_id), limit_s=READ_LIMIT_S) != lines:
            raise MoveFailed(f"not every line of {found[0]} arrived. The home stays where it was; report this.")
    return len(paths)


async def table_into_files(home: Home, db: Database) -> int:
    """Write every transcript of the table as a file, in place of what lies there; return how many.

    Files of transcripts that the table does not have are moved to `deleted/` beside the others.

    Raises:
        MoveFailed: What arrived differs.
        StorageError: The disk cannot be written.
    """
    select = "SELECT session_id, agent_id, session_key, version, put_away FROM transcripts"
    heads = await db.read(lambda connection: connection.execute(select).fetchall())
    live = {home.sessions(agent_id) / f"{session_id}.jsonl" for session_id, agent_id, _, _, away in heads if not away}
    for path in home.agents.glob("*/sessions/*.jsonl"):
        if path not in live:  # before the others are written, of which one may take its place
            move_to_deleted(path)
    for session_id, agent_id, key, version, put_away in heads:
        folder = home.sessions(agent_id)
        path = (folder / DELETED if put_away else folder) / f"{session_id}.jsonl"
        lines = await db.read(partial(_get, session_id=session_id), limit_s=READ_LIMIT_S)
        header = encode_line(Header(session_id, key, version).as_dict())
        data = header + b"".join(line.encode() + b"\n" for line in lines)
        await asyncio.to_thread(_write, path, data)
    return len(heads)


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_atomic(path, data, 0o600)
    if path.read_bytes() != data:
        raise MoveFailed(f"{path} does not hold what was written. The home stays where it was; look at the disk.")


def _lines(readings: Sequence[TranscriptReading]) -> list[str]:
    """Return the lines of the entries, unchanged; of several with one id, the first."""
    lines: dict[str, str] = {}
    for line in (line for each in readings for line in each.good):
        entry = parse_line(line)
        if entry is not None and not isinstance(entry, Header):
            lines.setdefault(entry.id, line.decode())
    return list(lines.values())


def _put(connection: SqlConnection, head: tuple[str, str, str, int], lines: list[str], *, is_away: bool) -> None:
    connection.execute("DELETE FROM transcript WHERE session_id = ?", (head[0],))
    connection.execute("DELETE FROM transcripts WHERE session_id = ?", (head[0],))
    connection.execute(HEAD, head)
    connection.execute("UPDATE transcripts SET put_away = ? WHERE session_id = ?", (int(is_away), head[0]))
    rows = []
    for seq, line in enumerate(lines):
        entry = parse_line(line.encode())
        if entry is not None and not isinstance(entry, Header):
            rows.append((head[0], seq, entry.id, entry.run_id, entry.ts_ms, line))
    connection.executemany(LINE, rows)


def _get(connection: SqlConnection, session_id: str) -> list[str]:
    select = "SELECT data FROM transcript WHERE session_id = ? ORDER BY seq"
    return [str(row[0]) for row in connection.execute(select, (session_id,))]


async def carry(home: Home, source: Database, target: Database) -> dict[str, Any]:
    """Carry a home over, and return how many rows, transcripts and small files it has; nothing if it was there already.

    Raises:
        HubError: It cannot be done; the old side is in charge still.
    """
    transcripts = documents = 0

    async def carry_files() -> None:
        nonlocal transcripts, documents
        if not source.holds_files:
            transcripts = await files_into_table(home, target)
            documents = await files_into_documents(home, target)
        else:
            transcripts = await table_into_files(home, source)
            documents = await documents_into_files(home, source)

    try:
        await source.open()
        await target.open()
        found = await move_rows(source, target, carry_files, without=TABLES | {TABLE})
    finally:
        await source.close()
        await target.close()
    if found is None:
        return {}
    return {"rows": sum(each.rows for each in found.values()), "transcripts": transcripts, "documents": documents}
