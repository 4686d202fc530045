"""The rows of sessions in the hub database."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import orjson

from hub.core.sql import SqlConnection
from hub.sessions.session import Session


def select_all(connection: SqlConnection) -> list[tuple[Any, ...]]:
    """Return all rows: those of `Session.from_row`, then what is kept as JSON."""
    return connection.execute("SELECT key, session_id, agent_id, created_ms, updated_ms, data FROM sessions").fetchall()


def upsert(sessions: Iterable[Session]) -> Callable[[SqlConnection], None]:
    """Return the statement that inserts or replaces sessions by key."""
    rows = [
        (each.key, each.session_id, each.agent_id, each.created_ms, each.updated_ms, orjson.dumps(each.data()).decode())
        for each in sessions
    ]

    def write(connection: SqlConnection) -> None:
        connection.executemany(
            "INSERT INTO sessions(key, session_id, agent_id, created_ms, updated_ms, data) VALUES (?, ?, ?, ?, ?, ?)"
            " ON CONFLICT(key) DO UPDATE SET session_id = excluded.session_id, agent_id = excluded.agent_id,"
            " created_ms = excluded.created_ms, updated_ms = excluded.updated_ms, data = excluded.data",
            rows,
        )

    return write


def delete(key: str) -> Callable[[SqlConnection], None]:
    """Return the statement that deletes a session's row."""

    def write(connection: SqlConnection) -> None:
        connection.execute("DELETE FROM sessions WHERE key = ?", (key,))

    return write
