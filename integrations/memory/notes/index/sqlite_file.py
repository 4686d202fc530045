"""The SQLite file of an index: one connection, transactions, and errors as the contract has them."""

from __future__ import annotations

import contextlib
import errno
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

from hub.memory.engine_contract import IndexDamaged

BUSY_LIMIT_S = 5.0
PAGE_BYTES = 8_192
CACHE_KIB = 8_192
_NOT_WRITTEN = {
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_TOOBIG,
}
_NOT_READ = {sqlite3.SQLITE_IOERR_READ, sqlite3.SQLITE_IOERR_SHORT_READ, sqlite3.SQLITE_IOERR_CORRUPTFS}


class SqliteFile:
    """One connection to one file, used by one thread at a time.

    Args:
        path: Created if it does not exist.
        version: The version of the tables in it; a file of another version counts as damaged.

    Raises:
        IndexDamaged: The file is damaged, or of another version.
        OSError: It cannot be opened or created.
    """

    def __init__(self, path: Path, version: int) -> None:
        self._path = path
        self._is_open = True
        self._in_transaction = False
        self._on_commit: list[Callable[[], None]] = []
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            self._connection = sqlite3.connect(
                path, timeout=BUSY_LIMIT_S, isolation_level=None, check_same_thread=False, cached_statements=64
            )
        except sqlite3.Error as error:
            raise self._fault(error) from error
        try:
            with self.reading():
                self._open(version)
        except BaseException:
            self.close()
            raise

    @contextlib.contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Lend the connection, and raise the contract's errors."""
        try:
            yield self._connection
        except sqlite3.ProgrammingError:
            raise
        except sqlite3.Error as error:
            raise self._fault(error) from error
        except (UnicodeDecodeError, OverflowError) as error:
            raise self.damage_error(f"it holds invalid values: {error}") from error

    @contextlib.contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Lend the connection for a transaction; one inside another is part of it."""
        with self.reading() as connection:
            if self._in_transaction:
                yield connection
                return
            connection.execute("BEGIN IMMEDIATE")
            self._in_transaction = True
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                self._on_commit.clear()
                if connection.in_transaction:  # a full disk makes SQLite roll back by itself
                    connection.execute("ROLLBACK")
                raise
            finally:
                self._in_transaction = False
        calls, self._on_commit = self._on_commit, []
        for call in calls:
            call()

    def on_commit(self, call: Callable[[], None]) -> None:
        """Call this once the active transaction is committed; never if it is rolled back."""
        self._on_commit.append(call)

    def create(self, schema: str) -> None:
        """Create the tables of a schema, each statement of which begins with CREATE … IF NOT EXISTS."""
        with self.transaction() as connection:
            for statement in schema.split(";"):
                connection.execute(statement)

    def check(self) -> None:
        """Raise IndexDamaged if the structure of the file is damaged; the contents of rows are not checked."""
        with self.reading() as connection:
            (found,) = connection.execute("PRAGMA quick_check(1)").fetchone()
        if found != "ok":
            raise self.damage_error(found)

    def fold(self) -> None:
        """Write the log back into the file, so that deleted content is in neither."""
        with self.reading() as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def damage_error(self, what: str) -> IndexDamaged:
        """Return an error that names the file."""
        return IndexDamaged(f"{self._path}: {what}")

    def close(self) -> None:
        """Close the file; calling it twice does no harm."""
        if not self._is_open:
            return
        self._is_open = False
        with contextlib.suppress(sqlite3.Error):
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        self._connection.close()

    def _open(self, version: int) -> None:
        connection = self._connection
        connection.execute(f"PRAGMA page_size={PAGE_BYTES}")
        connection.execute(f"PRAGMA cache_size=-{CACHE_KIB}")
        connection.execute("PRAGMA temp_store=MEMORY")
        # What is forgotten is gone from the disk, not only from the tables.
        connection.execute("PRAGMA secure_delete=ON")
        connection.execute("PRAGMA journal_mode=WAL")
        # What a power cut takes is built again from the notes; what is left is whole.
        connection.execute("PRAGMA synchronous=NORMAL")
        self.check()
        (found,) = connection.execute("PRAGMA user_version").fetchone()
        (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if found == 0 and tables == 0:
            connection.execute(f"PRAGMA user_version={version}")
        elif found != version:
            raise self.damage_error("it was written by another version")

    def _fault(self, error: sqlite3.Error) -> Exception:
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)
        if code & 0xFF in _NOT_WRITTEN and code not in _NOT_READ:
            number = errno.ENOSPC if code & 0xFF == sqlite3.SQLITE_FULL else errno.EIO
            return OSError(number, str(error), str(self._path))
        return self.damage_error(str(error))
