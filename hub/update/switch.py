"""The step from one version to another at a start, while nothing of the home is open.

A newer version keeps a copy of the database and of files whose schema it changes, beside them (`hub.db.version-11`).
When it is taken back, those copies are put in their places again, and open work in the database is closed as after a
restore. The history and the indexes are disposable: an older version begins new ones.
"""

from __future__ import annotations

import os
import sys
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from hub import __version__
from hub.backup.settle import settle
from hub.core.durable import sync_directory
from hub.storage.copying import change_copy, read_copy
from hub.storage.errors import from_os
from hub.storage.homedir import Home
from hub.storage.migrations import HUB_MIGRATIONS
from hub.update.record import UpdateState, base_environment, python_of, read_record, write_record


def prepare_start(home: Home) -> bool:
    """Do what an update needs before the home is opened; return whether another version is to be started instead.

    To be called by the holder of the home's lock. Repeating it does no harm.

    Raises:
        StorageError: The copies could not be put back.
    """
    record, base = read_record(home.path), base_environment()
    if record is None:
        return False
    try:
        if record.state is UpdateState.READY:
            is_there = python_of(base, record.version) is not None
            state, why = (UpdateState.TRYING, "") if is_there else (UpdateState.BACK, "what was prepared is gone")
            write_record(home.path, replace(record, state=state, why=why))
            return is_there
        if record.state is UpdateState.BACK and record.previous == __version__:
            _put_database_back(home.hub_db)
            _put_files_back(home, record.begun_ms / 1000)
            return False
    except OSError as error:
        raise from_os(error, Path(error.filename or home.storage), "going back to an older version") from error
    return record.state is UpdateState.BACK and base != Path(sys.prefix)


def note_failure(home: Home, why: str) -> None:
    """Remember why this version did not start, for whoever takes it back."""
    record = read_record(home.path)
    if record is not None and record.state is UpdateState.TRYING and record.version == __version__:
        with suppress(OSError):
            write_record(home.path, replace(record, why=why[:500]))


def _put_database_back(path: Path) -> None:
    """Put the copy of the hub database in its place if a newer version migrated it.

    It is settled and renamed first, so that a stop in between cannot leave a database beside the log of another.
    """
    copy = path.with_name(f"{path.name}.version-{len(HUB_MIGRATIONS)}")
    settled = path.with_name(f"{path.name}.settled")
    if copy.exists() and path.exists() and read_copy(path, lambda _: None)[0] > len(HUB_MIGRATIONS):
        change_copy(copy, HUB_MIGRATIONS, lambda connection: settle(connection, int(time.time() * 1000)))
        copy.rename(settled)
    if settled.exists():
        for side in ("-wal", "-shm"):
            path.with_name(path.name + side).unlink(missing_ok=True)
        os.replace(settled, path)
        sync_directory(path.parent)


def _put_files_back(home: Home, since: float) -> None:
    """Put the copies of JSON files back that were made after a time, in seconds since the epoch."""
    for folder in (home.path.glob("*.json.version-*"), home.storage.rglob("*.json.version-*")):
        for copy in sorted(folder):
            if copy.stat().st_mtime >= since:
                os.replace(copy, copy.with_name(copy.name.rpartition(".version-")[0]))
