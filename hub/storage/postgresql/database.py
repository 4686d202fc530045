"""The hub database of a home in PostgreSQL: the same promises as in SQLite, and a server that may go away."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import psycopg

from hub.core.errors import HubError
from hub.storage.database import POST_DELAY_S, Database
from hub.storage.document_table import DocumentTable
from hub.storage.postgresql.errors import DatabaseUnreachable, explain, refused_connection
from hub.storage.postgresql.ownership import Ownership
from hub.storage.postgresql.reading import PostgresqlReading
from hub.storage.postgresql.session import ANSWER_LIMIT_S, Session, Target
from hub.storage.postgresql.tables import prepare
from hub.storage.postgresql.writer import PATIENCE_S, PostgresqlWriter
from hub.storage.readers import ReadQueue
from hub.storage.schema_version import Migration

WATCH_S = 1.0


class PostgresqlDatabase(Database):
    """A home in a database that other homes may share.

    Args:
        target: The database and the home in it.
        migrations: The one at index n leads from schema version n to n + 1, in both databases.
        path: Where the home keeps its files; the database has none there.
        post_delay_s: How long a posted write may wait for others to share its commit, seconds.
        patience_s: How long awaited writes wait for a server that went away, seconds.
        answer_limit_s: After this long without an answer a connection counts as broken, seconds.
        worker: The worker that the hub is in, which has made the tables.
    """

    holds_files = True

    def __init__(
        self,
        target: Target,
        migrations: Sequence[Migration],
        path: Path,
        *,
        post_delay_s: float = POST_DELAY_S,
        patience_s: float = PATIENCE_S,
        answer_limit_s: float = ANSWER_LIMIT_S,
        worker: str | None = None,
    ) -> None:
        self.path = path
        self.place = target.place
        self.damage = None
        self.suspect = False
        self.restored_ms = 0
        self.documents: DocumentTable = DocumentTable(path.parent, self)
        self._target = target
        self._answer_limit_s = answer_limit_s
        self._migrations = tuple(migrations)
        self._ownership = Ownership(worker)
        self._is_prepared = worker is not None
        self._timeline = 0
        self._away_listeners: list[Callable[[HubError | None], object]] = []
        self._damage_listeners = []
        self._reading: list[Session] = []
        self._watching: asyncio.TimerHandle | None = None
        self._writer: PostgresqlWriter = PostgresqlWriter(
            target.place,
            self._connect_owner,
            self._ownership,
            post_delay_s=post_delay_s,
            patience_s=patience_s,
            on_away=self._tell_away,
        )
        self._readers = ReadQueue(target.place, lambda: PostgresqlReading(target.place, self._connect, self._reading))

    async def open(self) -> None:
        """Connect, make or migrate the tables, own the home, and load its small files.

        Raises:
            HomeOwned: Another hub owns it.
            DatabaseUnreachable: The server does not answer.
            UnusableDatabase: User, database or server are not as they must be; the error says what to change.
            NewerSchema: A newer program wrote it; it was not changed.
            MigrationFailed: A migration could not be done; all is as before it.
        """
        await self._writer.start()
        await self.documents.open()
        self._watch()

    async def close(self) -> None:
        """Flush pending writes, give the home up and close; later writes are refused. A second call does nothing."""
        await self._readers.stop()
        await self._writer.stop()
        if self._watching is not None:
            self._watching.cancel()
            self._watching = None

    def on_away(self, listener: Callable[[HubError | None], object]) -> None:
        """Call `listener`, in a database thread, when the server went away or the home was lost, and when it is back.

        Args:
            listener: Is given what is wrong, or None.
        """
        self._away_listeners.append(listener)

    def status(self) -> dict[str, Any]:
        """Return counters for diagnostics."""
        away = self._writer.away_since
        return {
            "database": self.place,
            "home": self._target.home,
            "commits": self._writer.commits,
            "commit_ms": round(self._writer.commit_s * 1_000, 2),
            "waiting": self._writer.waiting(),
            "rejected": self._writer.rejected,
            "away_s": None if away is None else round(time.monotonic() - away),
        }

    def _watch(self) -> None:
        """Break off connections whose server answers no more, though the network says that it is there."""
        for session in (self._writer.session, *self._reading):
            if session is not None:
                session.check()
        self._watching = asyncio.get_running_loop().call_later(WATCH_S, self._watch)

    # --- below: in the database's threads ---

    def _connect(self) -> Session:
        session = Session(self._target, self._answer_limit_s)
        if session.timeline < self._timeline:
            session.close()
            raise DatabaseUnreachable(
                f"{self.place} answers with a former primary (timeline {session.timeline}), which lacks what was "
                f"written since another server was promoted (timeline {self._timeline}). Stop it, or make it a standby "
                "with pg_rewind; when its data were restored on purpose, start the hub again.",
                retry_after_s=5.0,
            )
        self._timeline = session.timeline
        return session

    def _connect_owner(self) -> Session:
        session = self._connect()
        try:
            if not self._is_prepared:
                prepare(session.connection, self._migrations, self.place)
            self._ownership.take(session)
            found = session.execute("SELECT value FROM meta WHERE key = 'restored_ms'").fetchone()
            self.restored_ms = int(found[0]) if found is not None and str(found[0]).isdecimal() else 0
        except psycopg.Error as error:
            session.close()
            if session.is_lost and self._is_prepared:
                raise refused_connection(error, self.place) from None
            raise explain(error, self.place) from None
        except BaseException:
            session.close()
            raise
        self._is_prepared = True
        return session

    def _tell_away(self, error: HubError | None) -> None:
        for listener in self._away_listeners:
            listener(error)
