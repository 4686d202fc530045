"""Reads an archive from its beginning to its end, judging each file by its hash; blocks.

Nothing of an archive is trusted before its end: its content counts once `files` is exhausted.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import BinaryIO, cast

import msgspec

from hub import __version__
from hub.backup.age import VERSION, AgeReader, is_age
from hub.backup.errors import BackupDamaged, BackupRefused, WrongPassphrase
from hub.backup.manifest import (
    HEAD_LIMIT_BYTES,
    HEAD_PATH,
    MANIFEST_LIMIT_BYTES,
    MANIFEST_PATH,
    ArchivedFile,
    BackupHead,
    Manifest,
    read_head,
)
from hub.backup.tar_stream import TarMember, TarReader
from hub.storage.errors import from_os
from hub.storage.migrations import HUB_MIGRATIONS

GZIP = b"\x1f\x8b"
FILES_LIMIT = 2_000_000
GROWTH_LIMIT = 1.5
"""An archive may hold this much more than its head says (files grow while they are copied), and `SLACK_BYTES`."""
SLACK_BYTES = 256 * 1024 * 1024
SCHEMAS = {"hub.db": len(HUB_MIGRATIONS)}

Progress = Callable[[int, int], None]


class BackupArchive:
    """An opened archive.

    Attributes:
        head: Its head.
        encrypted: Whether it needed a passphrase.
        manifest: Its list of files, once all of them were read.
    """

    def __init__(self, head: BackupHead, reader: TarReader, members: Iterator[TarMember], *, encrypted: bool) -> None:
        self.head = head
        self.encrypted = encrypted
        self.manifest = Manifest([], [])
        self._reader = reader
        self._members = members

    def files(self, progress: Progress = lambda done, total: None) -> Iterator[tuple[TarMember, Iterator[bytes]]]:
        """Yield each file with its contents, which must be read before the next one.

        Raises:
            BackupDamaged: It is cut short, or a file is not what the manifest says; at the end at the latest.
            BackupRefused: It holds what no backup holds, or more than its head says.
        """
        found: list[ArchivedFile] = []
        size_bytes = 0
        limit = self.head.size_bytes * GROWTH_LIMIT + SLACK_BYTES
        for member in self._members:
            if member.path == MANIFEST_PATH:
                self.manifest = self._end(member, found)
                return
            size_bytes += member.size
            if len(found) >= FILES_LIMIT or size_bytes > limit:
                raise BackupRefused("the archive holds far more than its header declares")
            contents = _Hashed(self._reader)
            yield member, contents.pieces()
            found.append(ArchivedFile(member.path, member.size, contents.finish()))
            progress(size_bytes, max(self.head.size_bytes, size_bytes))
        raise BackupDamaged("the backup ends early: the list of its files is missing")

    def _end(self, member: TarMember, found: list[ArchivedFile]) -> Manifest:
        try:
            manifest = msgspec.json.decode(_small(self._reader, member, MANIFEST_LIMIT_BYTES), type=Manifest)
        except ValueError as error:
            raise BackupDamaged(f"the list of files in the backup cannot be read ({error})") from error
        if next(self._members, None) is not None:
            raise BackupRefused("there is data after the end of the archive")
        self._reader.finish()
        for told, read in zip(manifest.files, found, strict=False):
            if told != read:
                raise BackupDamaged(f"{read.path} differs from what was backed up: its contents or its place changed")
        if len(manifest.files) != len(found):
            raise BackupDamaged("the backup does not hold the files that its list names")
        return manifest


@contextmanager
def open_archive(path: Path, passphrase: str = "") -> Iterator[BackupArchive]:
    """Open an archive; its head has been read and judged.

    Args:
        passphrase: The passphrase of an encrypted one.

    Raises:
        WrongPassphrase: It is encrypted with another one, or none was given.
        NewerBackup: A newer Homarus made it.
        BackupRefused, BackupDamaged: It is not a backup, or cannot be read.
        StorageError: The file cannot be opened.
    """
    try:
        with path.open("rb") as file:
            start = file.read(len(VERSION))
            file.seek(0)
            encrypted = is_age(start)
            if encrypted and not passphrase:
                raise WrongPassphrase("the backup is encrypted; give its passphrase")
            if not encrypted and not start.startswith(GZIP):
                raise BackupRefused("this is not a backup of Homarus: it is neither a .tar.gz nor an .age file")
            source = cast(BinaryIO, AgeReader(file, passphrase)) if encrypted else file
            try:
                with gzip.GzipFile(fileobj=source, mode="rb") as unpacked:
                    reader = TarReader(unpacked)
                    members = reader.members()
                    head = _head(reader, members)
                    yield BackupArchive(head, reader, members, encrypted=encrypted)
            except (EOFError, zlib.error, gzip.BadGzipFile) as error:
                raise BackupDamaged(f"the backup is damaged or was cut short ({error})") from error
    except OSError as error:
        raise from_os(error, Path(error.filename or path), "reading") from error


def verify_archive(path: Path, passphrase: str = "", progress: Progress = lambda done, total: None) -> BackupArchive:
    """Read an archive whole and compare each file with its hash.

    Raises:
        HubError: As `open_archive` and `BackupArchive.files`.
    """
    with open_archive(path, passphrase) as archive:
        for _, contents in archive.files(progress):
            for _piece in contents:
                pass
        return archive


class _Hashed:
    """The contents of a file, hashed as they are read."""

    def __init__(self, reader: TarReader) -> None:
        self._reader = reader
        self._hash = sha256()

    def pieces(self) -> Iterator[bytes]:
        for piece in self._reader.contents():
            self._hash.update(piece)
            yield piece

    def finish(self) -> str:
        for _ in self.pieces():
            pass
        return self._hash.hexdigest()


def _head(reader: TarReader, members: Iterator[TarMember]) -> BackupHead:
    first = next(members, None)
    if first is None or first.path != HEAD_PATH:
        raise BackupRefused(f"this is not a backup of Homarus: the archive does not begin with {HEAD_PATH}")
    return read_head(_small(reader, first, HEAD_LIMIT_BYTES), __version__, SCHEMAS)


def _small(reader: TarReader, member: TarMember, limit: int) -> bytes:
    if member.size > limit:
        raise BackupRefused(f"{member.path} in the archive is larger than {limit} bytes")
    return b"".join(reader.contents())
