"""Which part of each conversation is in memory, and which conversations are still to be written: database rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import orjson
from msgspec import Struct

from hub.core.sql import SqlConnection
from hub.sessions.session import Session
from hub.storage.database import Database

TRIES = 5
"""Starts at which a conversation that is to be written is tried again."""
WANTED_LIMIT = 500


class FlushPlan(Struct, frozen=True):
    """A planned write, kept so that a crash neither loses nor repeats it."""

    slug: str
    title: str
    text: str
    trusted: bool
    entry_id: str
    entry_ms: int


class FlushPosition(Struct, frozen=True):
    """The entry up to which a conversation is written.

    Attributes:
        entry_id, entry_ms: Its last entry that was considered.
        path: The file that was written last.
        plan: The plan that was being written when the hub went down.
    """

    entry_id: str | None = None
    entry_ms: int = 0
    path: str | None = None
    plan: FlushPlan | None = None


class FlushStore:
    """The rows, by the id of the transcript."""

    def __init__(self, db: Database) -> None:
        self._db = db

    def want(self, session: Session, now_ms: int) -> None:
        """Note that a conversation is to be written; ordered before later writes to the database."""
        self._db.post(_upsert(session, now_ms, "wanted_ms = excluded.wanted_ms, tries = 0", {"wanted_ms": now_ms}))

    async def take_due(self) -> list[Session]:
        """Return the conversations still to be written, and count an attempt for each, up to the last one allowed.

        Rows of conversations that are over and written are removed.
        """

        def read(connection: SqlConnection) -> list[tuple[str, str, str]]:
            connection.execute("UPDATE memory_flushes SET wanted_ms = NULL, plan = NULL WHERE tries >= ?", (TRIES,))
            connection.execute(
                "DELETE FROM memory_flushes WHERE wanted_ms IS NULL AND plan IS NULL"
                " AND session_id NOT IN (SELECT session_id FROM sessions)"
            )
            rows = connection.execute(
                "SELECT session_key, session_id, agent_id FROM memory_flushes"
                " WHERE wanted_ms IS NOT NULL OR plan IS NOT NULL ORDER BY wanted_ms LIMIT ?",
                (WANTED_LIMIT,),
            ).fetchall()
            connection.executemany(
                "UPDATE memory_flushes SET tries = tries + 1 WHERE session_id = ?", [(row[1],) for row in rows]
            )
            return rows

        rows = await self._db.write(read)
        return [Session(key, session_id, agent_id, 0, 0) for key, session_id, agent_id in rows]

    async def position(self, session_id: str) -> FlushPosition:
        """Return the entry up to which a conversation is written."""
        row = await self._db.read(
            lambda connection: connection.execute(
                "SELECT entry_id, entry_ms, path, plan FROM memory_flushes WHERE session_id = ?", (session_id,)
            ).fetchone()
        )
        if row is None:
            return FlushPosition()
        return FlushPosition(
            row[0], row[1], row[2], msgspec.json.decode(row[3], type=FlushPlan) if row[3] is not None else None
        )

    async def plan(self, session: Session, plan: FlushPlan, now_ms: int) -> None:
        """Note a planned write; it is on disk when this returns."""
        values = {"plan": msgspec.json.encode(plan).decode()}
        await self._db.write(_upsert(session, now_ms, "plan = excluded.plan", values))

    async def mark_written(self, session: Session, entry_id: str, entry_ms: int, path: str | None, now_ms: int) -> None:
        """Note that a conversation is written up to an entry; on disk when this returns."""
        values = {"entry_id": entry_id, "entry_ms": entry_ms, "path": path}
        changes = (
            "entry_id = excluded.entry_id, entry_ms = excluded.entry_ms,"
            " path = coalesce(excluded.path, memory_flushes.path), plan = NULL, wanted_ms = NULL, tries = 0"
        )
        await self._db.write(_upsert(session, now_ms, changes, values))

    async def drop(self, session_id: str) -> None:
        """Note that a conversation need not be written."""
        await self._db.write(
            lambda connection: (
                connection.execute(
                    "UPDATE memory_flushes SET wanted_ms = NULL, plan = NULL WHERE session_id = ?", (session_id,)
                ).rowcount
            )
        )

    async def speakers(self, session: Session) -> dict[str | None, bool]:
        """Return the ids of the persons who spoke in a conversation, and whether with an owner's rights.

        None stands for people outside this home.
        """
        rows = await self._db.read(
            lambda connection: connection.execute(
                "SELECT DISTINCT authority FROM runs"
                " WHERE session_key = ? AND session_id = ? AND lane = 'main' AND authority IS NOT NULL",
                (session.key, session.session_id),
            ).fetchall()
        )
        speakers = [orjson.loads(authority) for (authority,) in rows]
        found: dict[str | None, bool] = {}
        for each in speakers:
            person, owner = each.get("person"), bool(each.get("owner"))
            if person is not None or not owner:
                found[person] = found.get(person, False) or owner
        return found


def _upsert(session: Session, now_ms: int, changes: str, values: dict[str, Any]) -> Callable[[SqlConnection], None]:
    columns = {
        "session_id": session.session_id,
        "session_key": session.key,
        "agent_id": session.agent_id,
        "updated_ms": now_ms,
        **values,
    }
    statement = (
        f"INSERT INTO memory_flushes({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})"  # noqa: S608
        f" ON CONFLICT(session_id) DO UPDATE SET updated_ms = excluded.updated_ms, {changes}"
    )

    def write(connection: SqlConnection) -> None:
        connection.execute(statement, tuple(columns.values()))

    return write
