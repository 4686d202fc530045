"""Makes an archive of a home while its hub runs; blocks, and runs in a separate process.

The hub database is copied first and transcripts after it, so that a conversation may only be ahead of its row, as after
a crash. Each file is read once, into a spool that is bounded in memory: what is hashed is what is archived.
"""

from __future__ import annotations

import gzip
import os
import shutil
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import IO, BinaryIO, cast

import msgspec
from msgspec import Struct

from hub.backup.age import AgeWriter
from hub.backup.contents import (
    FOLDER,
    HISTORY_DB,
    HUB_DB,
    SIDES,
    STORAGE,
    HomeFile,
    Kind,
    LeftOut,
    Why,
    files_of,
    path_in_home,
)
from hub.backup.errors import BackupFailed
from hub.backup.job import PARTIAL_PREFIX, PARTIAL_SUFFIX, SNAPSHOTS, CreateOptions, drop_partial
from hub.backup.manifest import (
    FORMAT,
    HEAD_PATH,
    MANIFEST_PATH,
    ArchivedFile,
    BackupHead,
    Manifest,
    file_name,
)
from hub.backup.tar_stream import END, TarMember, head_of, padding
from hub.core.durable import sync_directory
from hub.core.sql import SqlConnection
from hub.storage.copying import copy_database, read_copy
from hub.storage.errors import DatabaseDamaged, DiskFull, StorageError, from_os
from hub.storage.homedir import Home

READ_BYTES = 1_048_576
SPOOL_BYTES = 8 * 1_048_576
"""A file up to this size is copied in memory, a larger one through the disk."""
COMPRESSION = 3
SAME_NAME_LIMIT = 100
_COUNTED = {
    "conversations": "SELECT count(*) FROM sessions",
    "messages": "SELECT count(*) FROM inbox WHERE state != 'rejected'",
    "devices": "SELECT count(*) FROM devices WHERE revoked_ms IS NULL",
    "tokens": "SELECT count(*) FROM tokens WHERE revoked_ms IS NULL",
    "unsent": "SELECT count(*) FROM outbox WHERE state IN ('queued', 'sending')",
}

Progress = Callable[[int, int], None]
"""Told of the bytes that were read, and of all there are."""


class CreatedBackup(Struct, frozen=True):
    """An archive that was made."""

    name: str
    size_bytes: int
    sha256: str
    files: int
    left_out: list[LeftOut]


def create_backup(home: Home, options: CreateOptions, progress: Progress = lambda done, total: None) -> CreatedBackup:
    """Make an archive; when this returns it is whole and on the disk, under its name.

    Raises:
        StorageError: There is no room, or no permission; nothing is left over.
        BackupFailed: The hub database is damaged.
    """
    folder = Path(options.folder)
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with _snapshots(home) as snapshots, _partial(folder) as (partial, file):
            hashed = _HashedFile(file)
            archive = _Archive(hashed, options, _Copies(home, snapshots, has_rows=not options.rows_elsewhere), progress)
            manifest = archive.write(home)
            file.flush()
            os.fsync(file.fileno())
            name = _take_name(partial, folder, options)
            size_bytes = file.tell()
        sync_directory(folder)
    except OSError as error:
        raise from_os(error, Path(error.filename or folder), "making a backup in") from error
    return CreatedBackup(name, size_bytes, hashed.digest(), len(manifest.files), manifest.left_out)


@contextmanager
def _snapshots(home: Home) -> Iterator[Path]:
    """Yield an empty folder for copies of databases; leftovers of a crash are deleted first."""
    folder = home.storage / SNAPSHOTS
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(mode=0o700)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _partial(folder: Path) -> Iterator[tuple[Path, BinaryIO]]:
    """Yield an unfinished archive, which is deleted unless it was renamed; so are leftovers of a crash."""
    drop_partial(folder)
    path = folder / f"{PARTIAL_PREFIX}{os.getpid()}{PARTIAL_SUFFIX}"
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield path, file
    finally:
        path.unlink(missing_ok=True)


def _take_name(partial: Path, folder: Path, options: CreateOptions) -> str:
    """Give an archive its name; none of the same name is replaced."""
    for again in range(SAME_NAME_LIMIT):
        name = file_name(options.home_name, options.now_ms, encrypted=bool(options.passphrase), again=again)
        if not (folder / name).exists():  # a link could not be made on the file systems of sticks
            partial.rename(folder / name)
            return name
    raise BackupFailed(f"{folder} holds {SAME_NAME_LIMIT} backups from this second already; try again")


class _HashedFile:
    """The archive on the disk, hashed as it is written."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._hash = sha256()

    def write(self, data: bytes) -> int:
        self._hash.update(data)
        return self._file.write(data)

    def flush(self) -> None:
        self._file.flush()

    def digest(self) -> str:
        return self._hash.hexdigest()


class _Copies:
    """Copies one file after another out of a home that changes meanwhile."""

    def __init__(self, home: Home, snapshots: Path, *, has_rows: bool) -> None:
        self._home = home
        self._snapshots = snapshots
        self._hub = self._snapshot(HUB_DB) if has_rows and home.hub_db.exists() else None

    def facts(self) -> tuple[dict[str, int], dict[str, int]]:
        """Return the schema version of the hub database by its name, and counts of its content."""
        if self._hub is None:  # a home that was never started, or whose rows are elsewhere
            return {}, {}
        version, counts = read_copy(self._hub, _counted)
        return {"hub.db": version}, counts

    def path_of(self, file: HomeFile) -> Path:
        """Return the path of a file of the home."""
        return self._home.path / file.path

    @contextmanager
    def open(self, file: HomeFile) -> Iterator[tuple[IO[bytes], int]]:
        """Yield a copy of a file at its beginning, and how many bytes of it count.

        Raises:
            OSError, StorageError: It cannot be read.
        """
        copy = None
        if file.kind is Kind.DATABASE:
            copy = self._hub if file.path == HUB_DB else self._snapshot(file.path)
        with SpooledTemporaryFile(SPOOL_BYTES, dir=str(self._snapshots)) as spool:
            whole = _read_into(spool, copy or self.path_of(file))
            if copy is not None:
                copy.unlink()
            spool.seek(0)
            yield cast(IO[bytes], spool), whole if file.kind is Kind.TRANSCRIPT else spool.seek(0, os.SEEK_END)

    def _snapshot(self, path: str) -> Path:
        """Copy a database as it is between two commits."""
        source, target = self._home.path / path, self._snapshots / f"{path.count('/')}-{path.rpartition('/')[2]}"
        try:
            copy_database(source, target, check=path == HUB_DB)
        except DatabaseDamaged as error:
            raise BackupFailed(
                f"{error.message} and was not backed up. Restart the hub: it saves what can be read; then try again."
            ) from error
        return target


def _counted(connection: SqlConnection) -> dict[str, int]:
    return {name: int(connection.execute(query).fetchone()[0]) for name, query in _COUNTED.items()}


class _Archive:
    """Writes the files of a home into one stream."""

    def __init__(self, sink: _HashedFile, options: CreateOptions, copies: _Copies, progress: Progress) -> None:
        self._options = options
        self._copies = copies
        self._progress = progress
        self._age = AgeWriter(cast(BinaryIO, sink), options.passphrase) if options.passphrase else None
        self._sink = gzip.GzipFile("", "wb", COMPRESSION, cast(BinaryIO, self._age or sink), options.now_ms / 1000)
        self._written: list[ArchivedFile] = []
        self._left_out: list[LeftOut] = []
        self._done = self._total = 0

    def write(self, home: Home) -> Manifest:
        """Write the head, all files, and the manifest."""
        skipped = self._skipped(home)
        found = sorted(files_of(home, self._left_out, skipped), key=lambda each: each.path != HUB_DB)
        self._total = sum(each.size for each in found)
        self._small(HEAD_PATH, msgspec.json.encode(self._head(found)))
        for file in found:
            self._file(file)
        self._come_meanwhile(home, skipped, {each.path for each in found})
        manifest = Manifest(self._written, self._left_out)
        self._small(MANIFEST_PATH, msgspec.json.encode(manifest))
        self._sink.write(END)
        self._sink.close()
        if self._age is not None:
            self._age.close()
        return manifest

    def _skipped(self, home: Home) -> Collection[str]:
        own = path_in_home(home, Path(self._options.folder))
        skipped = {FOLDER, *([own] if own is not None else [])}
        if self._options.rows_elsewhere:  # a file from before the home moved there says nothing of it now
            skipped |= {HUB_DB, *(f"{HUB_DB}{side}" for side in SIDES)}
            self._left_out.append(LeftOut(HUB_DB, Why.ELSEWHERE))
        return skipped if self._options.history else {*skipped, HISTORY_DB}

    def _come_meanwhile(self, home: Home, skipped: Collection[str], seen: set[str]) -> None:
        """Add the transcripts that came, or got another name, while the others were copied."""
        for file in files_of(home, [], skipped):
            if file.path not in seen and file.path.startswith(f"{STORAGE}/agents/"):
                self._file(file)

    def _head(self, found: Collection[HomeFile]) -> BackupHead:
        schemas, counts = self._copies.facts()
        inside = [each.path for each in found if not each.path.startswith(STORAGE)]
        counts["workspace"] = sum(each.startswith("workspace/") for each in inside)
        options = self._options
        return BackupHead(
            FORMAT, options.program, schemas, options.now_ms, options.home_name, len(found), self._total, counts
        )

    def _file(self, file: HomeFile) -> None:
        try:
            status = os.stat(self._copies.path_of(file))
            with self._copies.open(file) as (copy, size):
                copy.seek(0)
                mode = 0o700 if status.st_mode & 0o100 else 0o600
                self._put(TarMember(file.path, size, mode, max(0, int(status.st_mtime))), copy)
        except FileNotFoundError:
            self._left_out.append(LeftOut(file.path, Why.GONE))
        except (PermissionError, StorageError) as error:
            if isinstance(error, DiskFull) or file.path == HUB_DB:
                raise
            self._left_out.append(LeftOut(file.path, Why.UNREADABLE))
        self._done += file.size
        self._progress(self._done, self._total)

    def _put(self, member: TarMember, contents: IO[bytes]) -> None:
        digest, left = sha256(), member.size
        self._sink.write(head_of(member))
        while left:
            piece = contents.read(min(left, READ_BYTES))
            if not piece:
                raise BackupFailed(f"{member.path} became shorter while it was copied; try again")
            digest.update(piece)
            self._sink.write(piece)
            left -= len(piece)
        self._sink.write(padding(member.size))
        self._written.append(ArchivedFile(member.path, member.size, digest.hexdigest()))

    def _small(self, path: str, data: bytes) -> None:
        self._sink.write(head_of(TarMember(path, len(data), 0o600, self._options.now_ms // 1000)))
        self._sink.write(data + padding(len(data)))


def _read_into(spool: IO[bytes], path: Path) -> int:
    """Copy a file; return how many bytes of it are whole lines."""
    whole = size = 0
    with path.open("rb") as source:
        while piece := source.read(READ_BYTES):
            spool.write(piece)
            end = piece.rfind(b"\n")
            whole = size + end + 1 if end >= 0 else whole
            size += len(piece)
    return whole
