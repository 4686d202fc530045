"""Unpacks the archive of another program's folder, within bounds.

It runs in the process of `hub.migrate.cli.worker`, into a folder that is made for it and deleted after. A name that
leads out of it refuses the whole archive; a link or a device is never made. Blocks.
"""

from __future__ import annotations

import lzma
import shutil
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

from msgspec import Struct

from hub.core.errors import InvalidRequest, LimitExceeded
from hub.core.phrases import phrase
from hub.security.jail_path import PathRefused, components

MARKERS = {"home-assistant": "configuration.yaml", "openclaw": "openclaw.json"}
"""The file by which the folder is found in the archive, by source."""
THEIR_BACKUP = "homeassistant.tar.gz"
"""The configuration in a backup that Home Assistant made."""
LARGE = (".sqlite", ".sqlite-wal", f"/{THEIR_BACKUP}")
"""Files that may be larger than the others."""
ENTRIES_LIMIT = 500_000
READ_LIMIT_BYTES = 16 * 1024 * 1024 * 1024
"""What is read of a tar file once its compression is undone, most of it databases of history that stay there."""
RESERVE_BYTES = 256 * 1024 * 1024
"""What unpacking leaves free on the disk."""
PIECE_BYTES = 1024 * 1024
_NEEDLESS = frozenset({"node_modules", ".git", "__pycache__", ".venv", "__MACOSX"})
_ENCRYPTED = 0x1
_DAMAGED = (
    zipfile.BadZipFile,
    tarfile.TarError,
    zlib.error,
    lzma.LZMAError,
    EOFError,
    RuntimeError,
    ValueError,
    OSError,
)
"""What reading an archive raises; a compression that zipfile does not know is a RuntimeError of a kind of its own."""


class Unpacked(Struct, frozen=True):
    """A folder out of an archive, and how many of its files were left out: links, and what is too large."""

    folder: Path
    left_out: int


class Limits(Struct, frozen=True):
    """What is unpacked at most: of one file, of one of `LARGE`, of all, and how many."""

    file_bytes: int = 64 * 1024 * 1024
    large_bytes: int = 512 * 1024 * 1024
    total_bytes: int = 1024 * 1024 * 1024
    files: int = 20_000


LIMITS = Limits()


class _Member(Struct, frozen=True):
    """An entry of an archive.

    Attributes:
        read: Opens it; None for what is no plain file.
        size_bytes: As its head says.
    """

    name: str
    read: Callable[[], IO[bytes] | None] | None
    size_bytes: int


def unpack(path: Path, room: Path, source: str, limits: Limits = LIMITS) -> Unpacked:
    """Unpack the archive of a folder, a .zip or a .tar with any compression, and find the folder in it.

    Args:
        room: An empty folder.
        source: Of `MARKERS`.

    Raises:
        InvalidRequest: It is no archive, is damaged or encrypted, holds a name that leads out, or not such a folder.
        LimitExceeded: It holds more than one would.
    """
    marker = MARKERS[source]
    unpacker = _Unpacker(room, limits)
    unpacker.take(path)
    if (folder := _marked(room, marker)) is None and (inner := _marked(room, THEIR_BACKUP)) is not None:
        unpacker.take(inner / THEIR_BACKUP)
        folder = _marked(room, marker)
    if folder is None:
        raise InvalidRequest(phrase("there is no {name} in the archive", name=marker))
    return Unpacked(folder, unpacker.left_out)


class _Unpacker:
    def __init__(self, room: Path, limits: Limits) -> None:
        self._room = room
        self._limits = limits
        self._left = limits.total_bytes
        self._files = 0
        self.left_out = 0

    def take(self, path: Path) -> None:
        try:
            if zipfile.is_zipfile(path):
                with zipfile.ZipFile(path) as archive:
                    self._write_all(_zip_members(archive))
            else:
                with tarfile.open(path, "r|*") as tar:
                    self._write_all(_tar_members(tar))
        except _DAMAGED as error:
            told = phrase(
                "{name} cannot be read as an archive: {reason}. It is to be a .zip or a .tar.gz, without a password.",
                name=path.name,
                reason=str(error)[:200],
            )
            raise InvalidRequest(told) from error

    def _write_all(self, members: Iterator[_Member]) -> None:
        read = 0
        for number, member in enumerate(members):
            read += member.size_bytes
            if number >= ENTRIES_LIMIT or read > READ_LIMIT_BYTES:
                raise _too_large()
            names = _components(member.name)
            if not names or _NEEDLESS.intersection(names):
                continue
            if member.read is None:
                self.left_out += 1
                continue
            self._write(self._room.joinpath(*names), member)

    def _write(self, path: Path, member: _Member) -> None:
        limit = self._limits.large_bytes if f"/{path.name}".endswith(LARGE) else self._limits.file_bytes
        if member.size_bytes > limit:
            self.left_out += 1
            return
        self._files += 1
        if self._files > self._limits.files:
            raise _too_large()
        if shutil.disk_usage(self._room).free < RESERVE_BYTES + member.size_bytes:
            raise LimitExceeded(phrase("There is no room on the disk of the hub. Make room, and try again."))
        path.parent.mkdir(parents=True, exist_ok=True)
        opened = member.read() if member.read is not None else None
        if opened is None:
            return
        with opened as file, path.open("xb") as target:
            while piece := file.read(PIECE_BYTES):  # a head may say less than there is
                limit -= len(piece)
                self._left -= len(piece)
                if limit < 0 or self._left < 0:
                    raise _too_large()
                target.write(piece)


def _components(name: str) -> tuple[str, ...]:
    try:
        return components(name)
    except PathRefused as error:
        told = phrase("the archive holds a name that leads out of it: {name}", name=error.details["path"])
        raise InvalidRequest(told) from error


def _zip_members(archive: zipfile.ZipFile) -> Iterator[_Member]:
    for info in archive.infolist():
        if info.flag_bits & _ENCRYPTED:
            raise InvalidRequest(phrase("the archive is encrypted; make one without a password"))
        kind = (info.external_attr >> 16) & 0o170000
        if not info.is_dir():
            plain = kind in (0, 0o100000)
            name = info.orig_filename.replace("\\", "/")  # as some programs of Windows write it
            yield _Member(name, _opener(archive.open, info) if plain else None, info.file_size)


def _tar_members(archive: tarfile.TarFile) -> Iterator[_Member]:
    for info in archive:
        archive.members = []  # type: ignore[attr-defined]  # each is read once, and there may be many
        if not info.isdir():
            yield _Member(info.name, _opener(archive.extractfile, info) if info.isreg() else None, info.size)


def _opener(opener: Callable[[Any], IO[bytes] | None], info: Any) -> Callable[[], IO[bytes] | None]:
    return lambda: opener(info)


def _marked(room: Path, marker: str) -> Path | None:
    """Return the folder with a file, the one that lies highest."""
    found = sorted((each.parent for each in room.rglob(marker) if each.is_file()), key=lambda each: len(each.parts))
    return next(iter(found), None)


def _too_large() -> LimitExceeded:
    return LimitExceeded(phrase("the archive holds more than such a folder would; pack it without media and databases"))
