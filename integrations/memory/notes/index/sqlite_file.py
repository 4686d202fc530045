"""A SQLite file that an engine keeps its things in: opened with care, its errors told as the contract says."""

from __future__ import annotations

import contextlib
import errno
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from integrations.memory.notes.index.contract import IndexDamaged
from integrations.memory.notes.index.seal import Seal

BUSY_LIMIT_S = 5.0
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


@dataclass(frozen=True, slots=True)
class Layout:
    """What a file is made of.

    Attributes:
        schema: Statements that make its tables.
        version: Of the schema; a file of another one counts as damaged.
        page_bytes: Size of a page, a power of two.
        cache_kib: How much of it is kept in memory.
    """

    schema: str
    version: int
    page_bytes: int = 4_096
    cache_kib: int = 8_192


class SqliteFile:
    """One connection to one file; called in one thread at a time.

    Args:
        path: Made when it is missing.
        layout: What it is made of.

    Raises:
        IndexDamaged: The file is not what was written, or of another version.
        OSError: It cannot be opened or made.
    """

    def __init__(self, path: Path, layout: Layout) -> None:
        self._path = path
        self._is_damaged = False
        self._is_open = True
        path.parent.mkdir(parents=True, exist_ok=True)
        self._seal = Seal(path.with_name(f"{path.name}.seal"), lambda: [path])
        self.is_sealed = self._seal.holds()
        try:
            self._connection = sqlite3.connect(
                path, timeout=BUSY_LIMIT_S, isolation_level=None, check_same_thread=False, cached_statements=64
            )
        except sqlite3.Error as error:
            raise self._fault(error) from error
        try:
            with self.reading():
                self._open(layout)
        except BaseException:
            self._is_damaged = True
            self.close()
            raise

    @contextlib.contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Lend the connection, and tell what goes wrong as the contract says."""
        try:
            yield self._connection
        except sqlite3.ProgrammingError:
            raise
        except sqlite3.Error as error:
            raise self._fault(error) from error
        except (UnicodeDecodeError, OverflowError) as error:
            raise self.damaged(f"{self._path} holds what was never written: {error}") from error

    @contextlib.contextmanager
    def changing(self) -> Iterator[sqlite3.Connection]:
        """Lend the connection for a change of which all or nothing is kept."""
        with self.reading() as connection:
            self._seal.lift()
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                # A full disk makes SQLite roll back by itself.
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise

    def fold(self) -> None:
        """Write the log back into the file, so that what was taken out is in neither."""
        with self.reading() as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def damaged(self, text: str) -> IndexDamaged:
        """Return the error, and remember that this file must not be sealed."""
        self._is_damaged = True
        return IndexDamaged(text)

    def close(self) -> None:
        """Let go of the file, and seal it when it is whole; calling it twice does no harm."""
        if not self._is_open:
            return
        self._is_open = False
        with contextlib.suppress(sqlite3.Error):
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        self._connection.close()
        # A log that is left behind holds what the file does not.
        if not self._is_damaged and not self._path.with_name(f"{self._path.name}-wal").exists():
            self._seal.put()

    def _open(self, layout: Layout) -> None:
        connection = self._connection
        connection.execute(f"PRAGMA page_size={layout.page_bytes}")
        connection.execute(f"PRAGMA cache_size=-{layout.cache_kib}")
        connection.execute("PRAGMA temp_store=MEMORY")
        # What is forgotten is gone from the disk, not only from the tables.
        connection.execute("PRAGMA secure_delete=ON")
        connection.execute("PRAGMA journal_mode=WAL")
        # What a power cut takes is made again from the notes; what is there is whole.
        connection.execute("PRAGMA synchronous=NORMAL")
        if not self.is_sealed:
            (found,) = connection.execute("PRAGMA quick_check(1)").fetchone()
            if found != "ok":
                raise self.damaged(f"{self._path}: {found}")
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if version == 0 and tables == 0:
            connection.executescript(f"BEGIN IMMEDIATE;{layout.schema};PRAGMA user_version={layout.version};COMMIT;")
        elif version != layout.version:
            raise self.damaged(f"{self._path} was made by another version.")

    def _fault(self, error: sqlite3.Error) -> Exception:
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)
        if code & 0xFF in _NOT_WRITTEN and code not in _NOT_READ:
            number = errno.ENOSPC if code & 0xFF == sqlite3.SQLITE_FULL else errno.EIO
            return OSError(number, str(error), str(self._path))
        return self.damaged(f"{self._path}: {error}")
