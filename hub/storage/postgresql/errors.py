"""Errors of PostgreSQL, told in words that say what to do and hold no value of a row and no password."""

from __future__ import annotations

import logging

import psycopg
from psycopg import errors

from hub.core.errors import HubError, TimedOut
from hub.storage.errors import DiskFull, QueryFailed, ReadOnlyStorage, StorageError

_log = logging.getLogger(__name__)


class DatabaseUnreachable(StorageError):
    """The server does not answer, or not yet."""

    code = "DATABASE_UNREACHABLE"


class UnusableDatabase(StorageError):
    """The server answers, and the hub cannot work with it: a person has to change something."""

    code = "DATABASE_UNUSABLE"


class HomeOwned(HubError):
    """Another hub owns the home in this database."""

    code = "HOME_OWNED"
    http_status = 409


class OwnershipLost(StorageError):
    """This hub no longer owns the home: another one has taken it over."""

    code = "OWNERSHIP_LOST"


_READ_ONLY = (errors.ReadOnlySqlTransaction,)
_AWAY = (
    *(errors.AdminShutdown, errors.CrashShutdown, errors.CannotConnectNow, errors.TooManyConnections),
    *(errors.IdleInTransactionSessionTimeout, errors.DatabaseDropped),
)


def is_away(error: psycopg.Error) -> bool:
    """Whether an error means that the server went away, so that the same may work later."""
    if isinstance(error, _AWAY):
        return True
    # Errors of the connection itself have no code; a failover can leave a connection on a server that is read-only now.
    return isinstance(error, (psycopg.OperationalError, psycopg.InterfaceError)) and error.sqlstate is None


def refused_connection(error: psycopg.Error, place: str) -> StorageError:
    """Return our error for a connection that was not made."""
    reason = _first_line(error)
    text = str(error)
    if isinstance(error, (errors.InvalidPassword, errors.InvalidAuthorizationSpecification)) or any(
        part in text for part in ("password authentication failed", "no password supplied", "no pg_hba.conf entry")
    ):
        return UnusableDatabase(
            f"{place} does not let the hub in ({reason}). Check user and password in `storage: postgresql`, and the "
            "server's pg_hba.conf."
        )
    if isinstance(error, errors.InvalidCatalogName) or ("database" in text and "does not exist" in text):
        return UnusableDatabase(
            f"{place} does not exist ({reason}). Make it: CREATE DATABASE name OWNER user ENCODING 'UTF8'."
        )
    if "role" in text and "does not exist" in text:
        return UnusableDatabase(f"{place} does not know the user ({reason}). Make it: CREATE USER name PASSWORD '…'.")
    if "session is read-only" in text or "server is in hot standby mode" in text:
        return ReadOnlyStorage(
            f"{place} only reads: it is a standby, and none of the servers named is the primary yet",
            retry_after_s=5.0,
        )
    return DatabaseUnreachable(
        f"{place} cannot be reached ({reason}). Check that the server runs, its address in `storage: postgresql`, and "
        "the way to it.",
        retry_after_s=5.0,
    )


def explain(error: psycopg.Error, place: str) -> Exception:
    """Return our error for a statement that failed."""
    reason = _first_line(error)
    known: Exception
    match error:
        case errors.QueryCanceled() | errors.LockNotAvailable():
            known = TimedOut(f"{place} took too long; what it was asked for was undone")
        case errors.ReadOnlySqlTransaction():
            known = QueryFailed(f"{place} refused a statement: {reason}")
        case errors.DiskFull() | errors.OutOfMemory() | errors.InsufficientResources():
            known = DiskFull(
                f"{place} has no room left ({reason}); nothing of this write was kept, everything before it is. Free "
                "some space on its server and try again."
            )
        case errors.UndefinedTable() | errors.UndefinedColumn():
            _log.error("a statement for %s is wrong, or a table of it was lost: %s", place, reason)
            known = QueryFailed(
                f"{place} refused a statement: {reason}. When no statement is wrong, somebody dropped a table: stop "
                "the hub and restore the database."
            )
        case errors.InsufficientPrivilege():
            known = ReadOnlyStorage(f"{place} does not allow it ({reason}); the hub's user must own its tables")
        case psycopg.DataError() if "NUL" in str(error):
            known = QueryFailed(
                f"{place} cannot keep a text with the character NUL (\\x00); nothing of it was written. Whoever sent "
                "the text has to leave that character out."
            )
        case psycopg.IntegrityError():
            known = QueryFailed(f"{place} refused a statement: {reason}")
        case _ if is_away(error):
            known = DatabaseUnreachable(f"{place} went away ({reason})", retry_after_s=5.0)
        case _:
            _log.error("a statement for %s is wrong: %s", place, reason)
            known = QueryFailed(f"{place} refused a statement: {reason}")
    known.__cause__ = None  # its text shows the values of a row
    return known


def _first_line(error: psycopg.Error) -> str:
    """Return what the server said, without its details, which show values."""
    said = error.diag.message_primary or str(error).strip().partition("\n")[0]
    return said.strip() or type(error).__name__
