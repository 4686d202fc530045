"""Errors of files and databases, classified by what a person must do."""

from __future__ import annotations

import errno
import logging
import sqlite3
from pathlib import Path

from hub.core.errors import HubError

_log = logging.getLogger(__name__)

_FULL = {sqlite3.SQLITE_FULL}
_READ_ONLY = {sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_AUTH}
_DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
_TRANSIENT = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
_PRIMARY_CODE = 0xFF


class StorageError(HubError):
    """Something could not be read from or written to disk; acknowledged data is safe."""

    code = "STORAGE"
    http_status = 503


class DiskFull(StorageError):
    """There is no room left on the device, or a size limit was reached."""

    code = "DISK_FULL"


class ReadOnlyStorage(StorageError):
    """The file or directory cannot be written with the rights of this process."""

    code = "STORAGE_READ_ONLY"


class DatabaseDamaged(StorageError):
    """A database file is damaged."""

    code = "DATABASE_DAMAGED"


class QueryFailed(StorageError):
    """The database refused a statement: a constraint does not allow it, or it is wrong."""

    code = "QUERY_FAILED"
    http_status = 500


class NewerSchema(StorageError):
    """A file was written by a newer program than this one."""

    code = "NEWER_SCHEMA"


class MigrationFailed(StorageError):
    """A migration failed; the file is unchanged."""

    code = "MIGRATION_FAILED"


def is_damage(error: BaseException) -> bool:
    """Whether an error of SQLite means that the file is damaged."""
    code = getattr(error, "sqlite_errorcode", None)
    return isinstance(error, sqlite3.Error) and code is not None and code & _PRIMARY_CODE in _DAMAGED


def from_sqlite(error: sqlite3.Error, path: Path) -> StorageError | None:
    """Return our error for a SQLite `error` on the file at `path`.

    Returns:
        None when it is the caller's own (a constraint, a mistake in SQL).
    """
    code = getattr(error, "sqlite_errorcode", None)
    if code is None:
        return None
    primary = code & _PRIMARY_CODE
    details = {"file": str(path), "sqlite": getattr(error, "sqlite_errorname", str(code))}
    if primary in _FULL:
        return DiskFull(
            f"there is no room left for {path}; nothing of this write was kept, everything before it is. "
            "Free some space and try again.",
            details=details,
        )
    if primary in _DAMAGED:
        return DatabaseDamaged(
            f"{path} is damaged ({error}). Stop and start the hub: it sets the file aside and saves what can be read.",
            details=details,
        )
    if primary in _READ_ONLY:
        return ReadOnlyStorage(
            f"{path} cannot be opened or written ({error}); the hub needs write access to the file and its directory",
            details=details,
        )
    if primary == sqlite3.SQLITE_IOERR:
        return StorageError(
            f"reading or writing {path} failed ({error}, {details['sqlite']}); nothing of this write was acknowledged. "
            "Look at the disk: it may be full, over a quota, or failing.",
            details=details,
        )
    if primary in _TRANSIENT:
        return StorageError(
            f"{path} is locked by another program; close it (a database browser, a backup) and try again",
            details=details,
            retry_after_s=1.0,
        )
    return None


def query_failed(error: sqlite3.Error, path: Path) -> QueryFailed:
    """Return our error for a refused statement; a mistake in SQL is logged."""
    if not isinstance(error, sqlite3.IntegrityError):
        _log.error("a statement for %s is wrong", path.name, exc_info=error)
    return QueryFailed(f"{path.name} refused a statement: {error}", details={"file": str(path)})


def from_os(error: OSError, path: Path, doing: str) -> StorageError:
    """Return our error for an `OSError` while `doing` ("writing", "reading") the file at `path`."""
    details = {"file": str(path), "errno": errno.errorcode.get(error.errno or 0, "?")}
    reason = error.strerror or str(error)
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return DiskFull(f"there is no room left while {doing} {path} ({reason}); free some space", details=details)
    if error.errno in (errno.EROFS, errno.EACCES, errno.EPERM):
        return ReadOnlyStorage(f"no permission while {doing} {path} ({reason})", details=details)
    return StorageError(f"{doing} {path} failed: {reason}", details=details)
