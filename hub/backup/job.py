"""The jobs of the process for archives: plain data, so that the requester imports none of its work."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from msgspec import Struct

SNAPSHOTS = "backup"
"""The folder in `.storage` for the copies of databases, empty between backups."""
PARTIAL_PREFIX, PARTIAL_SUFFIX = ".homarus-backup-", ".tmp"
"""Around the name of an archive that is not finished."""


class CreateOptions(Struct, frozen=True):
    """The archive to make, and its path.

    Attributes:
        folder: Where the archive goes; made when it is not there.
        home_name: The home's name.
        program: The version of Homarus.
        now_ms: Milliseconds since the epoch.
        passphrase: Encrypts the archive; empty for none.
        history: Whether the history of events and usage is in it.
        rows_elsewhere: Whether the home's rows are in a database that has backups of its own.
    """

    folder: str
    home_name: str
    program: str
    now_ms: int
    passphrase: str = ""
    history: bool = True
    rows_elsewhere: bool = False


class BackupJob(Struct, frozen=True):
    """The job to do.

    Attributes:
        path: The archive, for all but `create`.
        options: For `create`.
    """

    what: Literal["create", "verify", "preview", "stage"]
    home: str
    now_ms: int
    path: str = ""
    passphrase: str = ""
    options: CreateOptions | None = None


def drop_partial(folder: Path) -> None:
    """Delete what a backup left that was cut off."""
    for old in folder.glob(f"{PARTIAL_PREFIX}*{PARTIAL_SUFFIX}"):
        old.unlink(missing_ok=True)
