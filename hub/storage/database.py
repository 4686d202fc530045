"""A SQLite database with one writer: durable when awaited, read without waiting, never silently emptied."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from hub.core.errors import HubError
from hub.core.sql import SqlConnection
from hub.storage.connection import Synchronous, connect
from hub.storage.damage import (
    CHECK_LIMIT_BYTES,
    Damage,
    damaged_copies,
    find_damage,
    finish_interrupted,
    is_foreign,
    make_new,
    replace_damaged,
    suspect_mark,
)
from hub.storage.errors import DatabaseDamaged, NewerSchema, from_os, from_sqlite, is_damage
from hub.storage.files import FILES, Documents
from hub.storage.instance_lock import StoreLock
from hub.storage.readers import READ_LIMIT_S, ReadQueue, SqliteReading
from hub.storage.schema_version import Migration, migrate, refuse_newer, schema_version
from hub.storage.writer import WriteQueue, Writer

_log = logging.getLogger(__name__)

T = TypeVar("T")

POST_DELAY_S = 0.05


class Database:
    """One database file: a writer thread that batches commits, and reader threads with their own snapshots.

    Args:
        path: The file; its directory must exist.
        migrations: The one at index n leads from schema version n to n + 1.
        synchronous: FULL makes every awaited write durable against power loss; NORMAL against a crash only.
        post_delay_s: How long a posted write may wait for others to share its commit, seconds.
        disposable: Whether a damaged or newer file is replaced by a new one at once, without a check at each start,
            without saving its rows, and without a copy before a migration.
    """

    holds_files = False
    """Whether transcripts and small files are kept in it; beside a file of the home they are files too."""
    documents: Documents = FILES
    """The small files of its home."""

    def __init__(
        self,
        path: Path,
        migrations: Sequence[Migration],
        *,
        synchronous: Synchronous = "FULL",
        post_delay_s: float = POST_DELAY_S,
        disposable: bool = False,
    ) -> None:
        self.path = path
        self.place = str(path)
        """Where it is, for people."""
        self.damage: Damage | None = None
        """The damage found and repaired at opening, for a repair."""
        self.suspect = False
        """Whether a damaged page was found while open; the next start checks and repairs."""
        self.restored_ms = 0
        """When the home was restored from a backup, milliseconds since the epoch; 0 when it never was."""
        self._migrations = tuple(migrations)
        self._synchronous: Synchronous = synchronous
        self._disposable = disposable
        self._owned = StoreLock(path)
        self._writer: WriteQueue = Writer(
            path, self._open_for_writing, post_delay_s=post_delay_s, on_damage=self._met_damage
        )
        self._readers = ReadQueue(path.name, lambda: SqliteReading(path, self._open_for_reading, self._met_damage))
        self._damage_listeners: list[Callable[[], object]] = []

    async def open(self) -> None:
        """Open the file, creating, repairing or migrating it as needed.

        Raises:
            AlreadyRunning: Another hub holds it, from this home or by another path.
            NewerSchema: A newer program wrote it; it was not changed.
            MigrationFailed: A migration could not be done; the file is as before it.
            StorageError: The disk is full, or the file or directory cannot be written.
        """
        try:
            await self._writer.start()
        except Exception:  # not when it is cancelled: then the thread goes on opening it, until `close`
            self._owned.release()
            raise

    async def close(self) -> None:
        """Flush pending writes and close; later ones are refused. A second call does nothing."""
        await self._readers.stop()
        await self._writer.stop()
        self._owned.release()

    async def write(self, fn: Callable[[SqlConnection], T]) -> T:
        """Run `fn` in the writer thread and return its result once its changes are on disk.

        Args:
            fn: Changes the database through the connection it is given; plain, short, without waiting for anything. It
                runs under a savepoint of a transaction it shares with others, and must not end that transaction. It
                must not return the connection or a cursor.

        Raises:
            StorageError: It could not be made durable; nothing was written.
            Unavailable: The database is closed.
            QueryFailed: A constraint does not allow it, or a statement is wrong; nothing was written.
            Exception: What `fn` raised; nothing was written.

        Cancelling it before `fn` begins keeps it from running; later it is kept, whole, as if not cancelled.
        """
        result: T = await self._writer.submit(fn)
        return result

    async def read(self, fn: Callable[[SqlConnection], T], *, limit_s: float = READ_LIMIT_S) -> T:
        """Run `fn` in a reader thread on a snapshot that includes every awaited write.

        Raises:
            TimedOut: Its statements took longer than `limit_s` seconds.
            StorageError: The file could not be read.
            QueryFailed: A statement is wrong, or it would write.
            Exception: What `fn` raised.
        """
        result: T = await self._readers.submit(fn, limit_s)
        return result

    def post(self, fn: Callable[[SqlConnection], Any]) -> bool:
        """Write without waiting, in order with all other writes; errors are logged.

        Returns:
            False when it was refused because the queue is full, or the database is closed.
        """
        return self._writer.post(fn)

    def on_damage(self, listener: Callable[[], object]) -> None:
        """Call `listener`, in a database thread, when a page proves damaged while the file is open."""
        self._damage_listeners.append(listener)

    def on_away(self, listener: Callable[[HubError | None], object]) -> None:
        """Call `listener` when the database cannot be reached, and when it is back: a file is always there."""

    def damaged_copies(self) -> list[Path]:
        """Return the damaged files that were set aside here, oldest first."""
        return damaged_copies(self.path)

    def status(self) -> dict[str, Any]:
        """Return counters for diagnostics."""
        return {
            "file": str(self.path),
            "commits": self._writer.commits,
            "waiting": self._writer.waiting(),
            "rejected": self._writer.rejected,
            "suspect": self.suspect,
        }

    # --- below: in the database's threads ---

    def _open_for_writing(self) -> sqlite3.Connection:
        try:
            if not self._disposable:  # whoever may not have the home's database has no use for the others
                self._owned.acquire()
            finish_interrupted(self.path)
            if not self.path.exists():
                make_new(self.path, self._migrations)
            connection = self._open_sound()
            if not self._disposable:
                _make_backup(connection, self._migrations, self.path)
            migrate(connection, self._migrations, self.path)
            self.restored_ms = _restored_ms(connection)
            return connection
        except sqlite3.Error as error:
            known = from_sqlite(error, self.path)
            if known is None:
                raise
            raise known from error
        except OSError as error:
            raise from_os(error, self.path, "opening") from error

    def _open_sound(self) -> sqlite3.Connection:
        """Open the database, after repairing it if it is damaged."""
        reason = is_foreign(self.path)
        if reason is None:
            try:
                return self._open_checked()
            except DatabaseDamaged as error:
                reason = str(error.details["reason"])
            except NewerSchema as error:
                if not self._disposable:
                    raise
                reason = error.message
        self.damage = replace_damaged(self.path, self._migrations, reason, save_rows=not self._disposable)
        return connect(self.path, synchronous=self._synchronous)

    def _open_checked(self) -> sqlite3.Connection:
        connection: sqlite3.Connection | None = None
        limit_bytes = 0 if self._disposable else CHECK_LIMIT_BYTES
        try:
            connection = connect(self.path, synchronous=self._synchronous)
            refuse_newer(connection, self._migrations, self.path)
            reason = find_damage(connection, self.path, limit_bytes=limit_bytes)
            if reason is not None:
                raise DatabaseDamaged(f"{self.path} is damaged", details={"reason": reason})
            return connection
        except BaseException as error:
            if connection is not None:
                connection.close()
            # The statements are ours and known to be right: an ordinary error says that the file is not.
            if is_damage(error) or getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_ERROR:
                raise DatabaseDamaged(f"{self.path} is damaged", details={"reason": str(error)}) from error
            raise

    def _open_for_reading(self) -> sqlite3.Connection:
        return connect(self.path, read_only=True)

    def _met_damage(self, error: sqlite3.Error) -> None:
        self._mark_suspect(str(error))

    def _mark_suspect(self, reason: str) -> None:
        if self.suspect:
            return
        self.suspect = True
        _log.critical("%s is damaged (%s); the next start checks it and saves what can be read", self.path, reason)
        try:
            suspect_mark(self.path).touch(mode=0o600)
        except OSError as error:
            _log.error("it could not be marked for the next start: %s", error)
        for listener in self._damage_listeners:
            listener()


def _restored_ms(connection: sqlite3.Connection) -> int:
    found = connection.execute("SELECT value FROM meta WHERE key = 'restored_ms'").fetchone()
    return int(found[0]) if found is not None and str(found[0]).isdecimal() else 0


def _make_backup(connection: sqlite3.Connection, migrations: Sequence[Migration], path: Path) -> None:
    """Keep a copy of a database that is about to be migrated, under the name of its version."""
    version = schema_version(connection, len(migrations))
    if not 0 < version < len(migrations):
        return
    backup = path.with_name(f"{path.name}.version-{version}")
    partial = path.with_name(f"{path.name}.new")
    partial.unlink(missing_ok=True)
    copy = sqlite3.connect(partial)
    try:
        partial.chmod(0o600)
        connection.backup(copy)
    finally:
        copy.close()
    partial.replace(backup)
    _log.info("kept a copy of %s as %s before migrating it", path.name, backup.name)
