"""Makes connections to our SQLite files: the same settings everywhere, and errors of ours."""

from __future__ import annotations

import logging
import os
import sqlite3
from functools import partial
from pathlib import Path
from typing import Literal

_log = logging.getLogger(__name__)

Synchronous = Literal["FULL", "NORMAL"]

BUSY_TIMEOUT_MS = 5_000
LOG_PAGES_LIMIT = 4_000
"""Pages after which a commit folds the write-ahead log back itself; an idle writer does it long before."""
LOG_BYTES_KEPT = 16 * 1024 * 1024
PAGE_BYTES = 4_096
CACHED_STATEMENTS = 256
SQLITE_VERSION = sqlite3.sqlite_version_info


decode_text = partial(str, encoding="utf-8", errors="replace")
"""A byte that the disk changed spoils one character, not every query that meets its row."""


def connect(path: Path, *, synchronous: Synchronous = "FULL", read_only: bool = False) -> sqlite3.Connection:
    """Open an existing SQLite file in autocommit mode, for use by the calling thread alone.

    Args:
        path: The file; it is not created.
        synchronous: FULL makes a commit durable against power loss, NORMAL only against a crash of the process.
        read_only: Refuses statements that write.

    Raises:
        sqlite3.Error: It cannot be opened, or is not a database.
    """
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?mode=rw", uri=True, isolation_level=None, cached_statements=CACHED_STATEMENTS
    )
    try:
        connection.text_factory = decode_text
        connection.execute(f"PRAGMA busy_timeout = {BUSY_TIMEOUT_MS}")
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute("PRAGMA cell_size_check = ON")
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA temp_store = MEMORY")
        if read_only:
            connection.execute("PRAGMA query_only = ON")
            return connection
        mode = connection.execute("PRAGMA journal_mode = WAL").fetchone()[0]
        if mode != "wal":
            _log.warning(
                "%s cannot use a write-ahead log here (it uses %s); readers and the writer may wait", path, mode
            )
        connection.execute(f"PRAGMA synchronous = {'FULL' if synchronous == 'FULL' else 'NORMAL'}")
        connection.execute(f"PRAGMA wal_autocheckpoint = {LOG_PAGES_LIMIT}")
        connection.execute(f"PRAGMA journal_size_limit = {LOG_BYTES_KEPT}")
    except UnicodeDecodeError as error:
        # SQLite quotes the damaged schema in its message, and the message cannot be decoded.
        connection.close()
        damaged = sqlite3.DatabaseError("the schema of the database is not text")
        damaged.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
        damaged.sqlite_errorname = "SQLITE_CORRUPT"
        raise damaged from error
    except BaseException:
        connection.close()
        raise
    return connection


def create(path: Path) -> sqlite3.Connection:
    """Make a new, empty SQLite file of mode 0600 and open it with an ordinary journal, to be filled and renamed.

    Raises:
        OSError: The file exists or cannot be made.
    """
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute(f"PRAGMA page_size = {PAGE_BYTES}")
    connection.execute("PRAGMA synchronous = FULL")
    return connection
