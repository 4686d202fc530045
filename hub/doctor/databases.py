"""Whether the databases are whole and of a version this program knows; they are only read."""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from hub.core.errors import HubError
from hub.doctor.check_context import CheckContext
from hub.doctor.finding import Check, Finding, critical, error, warning
from hub.storage.connection import decode_text
from hub.storage.damage import damaged_copies, suspect_mark
from hub.storage.history_schema import HISTORY_MIGRATIONS
from hub.storage.migrations import HUB_MIGRATIONS
from hub.storage.schema_version import Migration, refuse_newer

CHECK_LIMIT_S = 60.0
COPY_LIMIT_BYTES = 1024 * 1024 * 1024
LOOKED_AT = 5
STEPS_BETWEEN_LOOKS = 100_000


def _look(patient: CheckContext) -> Iterator[Finding]:
    home = patient.home
    for path, migrations in ((home.hub_db, HUB_MIGRATIONS), (home.history_db, HISTORY_MIGRATIONS)):
        disposable = path == home.history_db
        for old in damaged_copies(path):
            yield warning(
                f"A damaged {path.name} was set aside here. Look whether something is missing, then delete it.",
                str(old),
                f"rm {old}*",
            )
        if not path.exists():
            continue
        if suspect_mark(path).exists() and not disposable:
            yield error(
                f"{path.name} gave wrong answers while it was open. The next start checks it and saves what it can.",
                str(path),
                patient.command("start"),
            )
        for told, command in _examined(path, migrations, patient):
            if disposable:
                yield warning(f"{told} It is disposable: the hub sets it aside and begins it anew.", str(path))
            else:
                yield critical(told, str(path), command)


def _examined(path: Path, migrations: Sequence[Migration], patient: CheckContext) -> Iterator[tuple[str, str]]:
    """Yield what is wrong with one database, and the command that mends it."""
    saves = patient.command("start")  # which sets a damaged file aside and saves what can be read of it
    if path.stat().st_size == 0:
        yield f"{path.name} is empty.", saves
        return
    try:
        with _reading(path, runs=patient.running is not None) as connection:
            refuse_newer(connection, migrations, path)
            found = _integrity(connection)
    except HubError as problem:
        yield problem.message, ""
    except sqlite3.DatabaseError as problem:
        yield f"{path.name} cannot be read: {problem}.", saves
    else:
        if found:
            yield f"{path.name} is damaged: {'; '.join(found)}.", saves


def _integrity(connection: sqlite3.Connection) -> list[str]:
    deadline = time.monotonic() + CHECK_LIMIT_S
    connection.set_progress_handler(lambda: int(time.monotonic() > deadline), STEPS_BETWEEN_LOOKS)
    try:
        found = [str(row[0]).strip() for row in connection.execute(f"PRAGMA integrity_check({LOOKED_AT})")]
    except sqlite3.OperationalError as problem:
        if getattr(problem, "sqlite_errorcode", None) == sqlite3.SQLITE_INTERRUPT:
            return []  # so much of it as could be looked at in a minute is whole
        raise
    return [] if found == ["ok"] else found


@contextmanager
def _reading(path: Path, *, runs: bool) -> Iterator[sqlite3.Connection]:
    """Open a database so that nothing beside it changes either.

    While a hub runs, its log and shared memory are there to be used. What a killed hub left behind is read from a copy,
    since SQLite would fold the log back. Otherwise the file is all there is.
    """
    if runs:
        yield from _connected(f"{path.absolute().as_uri()}?mode=ro")
        return
    log = Path(f"{path}-wal")
    if path.stat().st_size > COPY_LIMIT_BYTES:
        yield from _connected(f"{path.absolute().as_uri()}?mode=ro")
    elif not log.exists() or log.stat().st_size == 0:
        yield from _connected(f"{path.absolute().as_uri()}?mode=ro&immutable=1")
    else:
        with tempfile.TemporaryDirectory(prefix="homarus-doctor-") as folder:
            copy = Path(folder) / path.name
            shutil.copyfile(path, copy)
            shutil.copyfile(log, f"{copy}-wal")
            yield from _connected(copy.as_uri())


def _connected(uri: str) -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(uri, uri=True, isolation_level=None)
    try:
        connection.text_factory = decode_text
        connection.execute("PRAGMA busy_timeout = 5000")
        connection.execute("PRAGMA query_only = ON")
        yield connection
    finally:
        connection.close()


DATABASES = Check("databases", "The databases", _look)
