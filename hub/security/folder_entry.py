"""An entry of a folder, as the file system describes it."""

from __future__ import annotations

import os
import stat
from enum import StrEnum

from msgspec import Struct


class FileKind(StrEnum):
    """The kind of a file."""

    FILE = "file"
    DIRECTORY = "directory"
    SYMLINK = "symlink"
    OTHER = "other"


class FolderEntry(Struct, frozen=True):
    """A file or directory in a jail.

    Attributes:
        path: Relative to the jail, with `/`.
        kind: Its kind; symlinks are shown and never followed.
        size_bytes: Size of a file.
        mtime_ns: When it was last changed, nanoseconds since the epoch.
        ctime_ns: When anything about it last changed; cannot be set.
        device: Number of the device.
        inode: Number of the file on its device; another one means that the file was replaced.
    """

    path: str
    kind: FileKind
    size_bytes: int
    mtime_ns: int
    ctime_ns: int
    device: int
    inode: int

    @property
    def name(self) -> str:
        """The last component."""
        return self.path.rpartition("/")[2]

    @property
    def is_file(self) -> bool:
        """Whether it is a plain file."""
        return self.kind is FileKind.FILE

    @property
    def is_dir(self) -> bool:
        """Whether it is a directory."""
        return self.kind is FileKind.DIRECTORY


def folder_entry(names: tuple[str, ...], found: os.stat_result) -> FolderEntry:
    if stat.S_ISREG(found.st_mode):
        kind = FileKind.FILE
    elif stat.S_ISDIR(found.st_mode):
        kind = FileKind.DIRECTORY
    elif stat.S_ISLNK(found.st_mode):
        kind = FileKind.SYMLINK
    else:
        kind = FileKind.OTHER
    size = found.st_size if kind is FileKind.FILE else 0
    return FolderEntry("/".join(names), kind, size, found.st_mtime_ns, found.st_ctime_ns, found.st_dev, found.st_ino)
