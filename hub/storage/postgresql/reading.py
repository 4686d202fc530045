"""Reads of a home in PostgreSQL: each piece of work sees one snapshot, and waits for a server that is away."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import psycopg

from hub.core.errors import HubError
from hub.storage.postgresql.errors import explain, is_away
from hub.storage.postgresql.session import Session
from hub.storage.readers import READ_LIMIT_S, Reading, Work

RETRY_S = 0.5
ANSWER_GRACE_S = 5.0
"""After its limit the server itself ends a statement; who hears nothing for so long then hears nothing any more."""
_BEGIN = b"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"


class PostgresqlReading(Reading):
    """Reads with one connection.

    Args:
        name: Of the database, in errors.
        connect: Makes a connection.
        sessions: Where the connection is watched.
    """

    def __init__(self, name: str, connect: Callable[[], Session], sessions: list[Session]) -> None:
        self._name = name
        self._connect = connect
        self._sessions = sessions
        self._session: Session | None = None

    def read(self, work: Work, limit_s: float) -> Any:
        """Return what `work` returns, on one snapshot."""
        end = time.monotonic() + limit_s
        while True:
            try:
                session = self._connected()
            except HubError as error:
                if error.retry_after_s is None or time.monotonic() > end:
                    raise
            else:
                try:
                    return self._in_snapshot(session, work, limit_s)
                except psycopg.Error as error:
                    if not session.is_lost and not is_away(error):
                        raise explain(error, self._name) from None
                    self.close()
                    if time.monotonic() > end:
                        raise explain(error, self._name) from None
            time.sleep(RETRY_S)

    def _connected(self) -> Session:
        if self._session is None:
            self._session = self._connect()
            self._sessions.append(self._session)
        return self._session

    def _in_snapshot(self, session: Session, work: Work, limit_s: float) -> Any:
        longer = b"; SET LOCAL statement_timeout = %d" % max(1, limit_s * 1_000) if limit_s != READ_LIMIT_S else b""
        usual = session.answer_limit_s
        session.control(_BEGIN + longer)
        session.answer_limit_s = max(usual, limit_s + ANSWER_GRACE_S) if longer else usual
        try:
            return work(session)
        finally:
            session.answer_limit_s = usual
            session.roll_back()

    def close(self) -> None:
        """Close the connection."""
        if self._session is not None:
            self._sessions.remove(self._session)
            self._session.close()
            self._session = None
