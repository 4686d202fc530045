"""Prepares a home from an archive beside the present one, which is not touched; blocks.

When this returns, `HOME/.storage/restore/new` is a whole home, every file judged, the database migrated and settled.
Only `hub.backup.swap` applies it.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from hub.backup.archive import BackupArchive, Progress, open_archive
from hub.backup.contents import FOLDER, HUB_DB, OWN, REPLACED, RUNTIME, STORAGE
from hub.backup.errors import BackupDamaged, BackupRefused
from hub.backup.manifest import BackupHead
from hub.backup.settle import settle
from hub.backup.swap import NEW, RESTORE, clear, pending
from hub.backup.tar_stream import TarMember
from hub.core.errors import Conflict
from hub.storage.copying import change_copy
from hub.storage.errors import DatabaseDamaged, DiskFull, from_os
from hub.storage.homedir import Home
from hub.storage.migrations import HUB_MIGRATIONS

ROOT_FILE = "configuration.yaml"
RESERVE_BYTES = 64 * 1024 * 1024
"""What stays free on the disk."""


class StagedHome(Struct, frozen=True):
    """A home that was prepared.

    Attributes:
        head: The head of its archive.
        files: How many there are.
        settled: The open work that was closed in it, by kind.
    """

    head: BackupHead
    files: int
    settled: dict[str, int]


class Preview(Struct, frozen=True):
    """The content of an archive, before anything of it is used.

    Attributes:
        size_bytes: The size of the archive.
        replaces: What there is in the present home that would be replaced: files by the first part of their path.
    """

    head: BackupHead
    encrypted: bool
    size_bytes: int
    replaces: dict[str, int]


def preview(home: Home, path: Path, passphrase: str = "") -> Preview:
    """Read the head of an archive and compare it with the present home.

    Raises:
        HubError: As `open_archive`.
    """
    with open_archive(path, passphrase) as archive:
        found = {unit.name: _count(unit) for unit in units(home) if _is_replaced(home, unit)}
        return Preview(archive.head, archive.encrypted, path.stat().st_size, found)


def stage(
    home: Home, path: Path, passphrase: str, now_ms: int, progress: Progress = lambda done, total: None
) -> StagedHome:
    """Prepare a home from an archive.

    Raises:
        Conflict: A prepared restore waits for the next start.
        DiskFull: There is no room for it beside the present home.
        BackupRefused, BackupDamaged, WrongPassphrase, NewerBackup: The archive cannot be used.
    """
    if pending(home):
        raise Conflict("a restore is pending; restart the hub to apply it")
    folder = home.storage / RESTORE / NEW
    _refuse_mounts(home)
    try:
        with open_archive(path, passphrase) as archive:
            _judge_room(home, archive)
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(mode=0o700, parents=True)
            files = _unpack(archive, folder, progress)
        if not (folder / ROOT_FILE).is_file():
            raise BackupRefused(f"this is not a backup of a home: {ROOT_FILE} is not in it")
        settled = _mend(folder / HUB_DB, now_ms)
        os.sync()
    except OSError as error:
        clear(home)
        raise from_os(error, Path(error.filename or folder), "restoring") from error
    except BaseException:
        clear(home)
        raise
    return StagedHome(archive.head, files, settled)


def units(home: Home) -> Iterator[Path]:
    """Yield what a restore exchanges: what lies in the home, and in its `.storage` what is not the process's own."""
    for folder, kept in ((home.path, {STORAGE}), (home.storage, OWN | RUNTIME)):
        if folder.is_dir():
            for each in sorted(folder.iterdir()):
                if each.name not in kept and not (folder == home.storage and each.name.startswith(REPLACED)):
                    yield each


def _is_replaced(home: Home, unit: Path) -> bool:
    return unit.parent == home.path and unit.name != FOLDER


def _count(path: Path) -> int:
    return sum(len(names) for _, _, names in os.walk(path)) if path.is_dir() and not path.is_symlink() else 1


def _refuse_mounts(home: Home) -> None:
    mounts = [each for each in units(home) if os.path.ismount(each)]
    if mounts:
        raise BackupRefused(
            f"{mounts[0]} is a file system of its own and cannot change places with what is restored; "
            "unmount it, or restore into another home with --config"
        )


def _judge_room(home: Home, archive: BackupArchive) -> None:
    free = shutil.disk_usage(home.storage).free
    if archive.head.size_bytes + RESERVE_BYTES > free:
        raise DiskFull(
            f"the backup unpacks to {archive.head.size_bytes // 1_000_000} MB, and beside {home} there are "
            f"{free // 1_000_000} MB free; make room, since the present home is kept until the restored one replaces it"
        )


def _unpack(archive: BackupArchive, folder: Path, progress: Progress) -> int:
    count = 0
    kept = {*OWN, *RUNTIME}
    for member, contents in archive.files(progress):
        first, _, rest = member.path.partition("/")
        if first == STORAGE and rest.split("/")[0] in kept:
            raise BackupRefused(f"the archive holds {member.path}, which belongs to a running hub")
        _write(folder / member.path, member, contents)
        count += 1
    return count


def _write(path: Path, member: TarMember, contents: Iterator[bytes]) -> None:
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(path, flags, 0o700 if member.mode & 0o100 else 0o600)
    except (FileExistsError, NotADirectoryError) as error:
        told = f"the archive holds {member.path} and another file of that name, which this disk does not tell apart"
        raise BackupRefused(told) from error
    with os.fdopen(descriptor, "wb") as file:
        for piece in contents:
            file.write(piece)
    os.utime(path, (member.mtime, member.mtime))


def _mend(path: Path, now_ms: int) -> dict[str, int]:
    """Migrate the restored database to the newest schema, and close its open work."""
    if not path.exists():
        return {}
    try:
        return change_copy(path, HUB_MIGRATIONS, lambda connection: settle(connection, now_ms))
    except DatabaseDamaged as error:
        raise BackupDamaged(f"the hub database in the backup is damaged: {error.details.get('reason')}") from error
