"""Deletes the words of a session from the hub database."""

from __future__ import annotations

import sqlite3

from hub.core.sql import SqlConnection

_WORDS = (
    "DELETE FROM inbox WHERE session_key = ? AND received_ms < ?",
    "DELETE FROM outbox WHERE session_key = ? AND created_ms < ?",
    "DELETE FROM runs WHERE session_key = ? AND created_ms < ?",
    "DELETE FROM approvals WHERE session_key = ? AND created_ms < ?",
    "DELETE FROM idempotency WHERE replace(responses, ?, '') <> responses AND created_ms < ?",
    "DELETE FROM system_events WHERE session_key = ? AND created_ms < ?",
)


def forget_session(connection: SqlConnection, session_key: str, before_ms: int) -> None:
    """Delete a session's received, sent, run, asked and answered words before a time, and overwrite them in SQLite.

    Args:
        connection: Inside a transaction.
        session_key: The session.
        before_ms: Milliseconds since the epoch.
    """
    overwrites = isinstance(connection, sqlite3.Connection)
    if overwrites:
        connection.execute("PRAGMA secure_delete = ON")
    for statement in _WORDS:
        connection.execute(statement, (session_key, before_ms))
    if overwrites:
        connection.execute("PRAGMA secure_delete = OFF")
