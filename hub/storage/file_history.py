"""A history on the disk: a folder with a file for each entry, named by its time; the newest of them are kept."""

from __future__ import annotations

import os
import re
from pathlib import Path

from msgspec import Struct

from hub.storage.files import read_bounded, write_atomic


class HistoryEntry(Struct, frozen=True):
    """An entry.

    Attributes:
        id: Begins with its time in digits, then `-`.
        size_bytes: Its size.
    """

    id: str
    size_bytes: int


class FileHistory:
    """Keeps the entries of one folder. All of it blocks, and raises `StorageError` or `OSError` as the disk does.

    Args:
        folder: The folder; made with the first entry.
        id: What ids look like; other files in the folder are left alone.
        entry_limit, total_limit_bytes: What `prune` keeps at most; the newest entry stays in any case.
    """

    def __init__(
        self, folder: Path, id: re.Pattern[str], entry_limit: int, total_limit_bytes: float = float("inf")
    ) -> None:
        self._folder = folder
        self._id = id
        self._entry_limit = entry_limit
        self._total_limit_bytes = total_limit_bytes

    def entries(self, ending: str = "") -> list[HistoryEntry]:
        """Return the entries whose file has this ending, the newest first."""
        found = []
        try:
            for file in os.scandir(self._folder):
                id = file.name.removesuffix(ending)
                if file.name.endswith(ending) and self._id.fullmatch(id) and file.is_file(follow_symlinks=False):
                    found.append(HistoryEntry(id, file.stat().st_size))
        except (FileNotFoundError, NotADirectoryError):
            return []
        # By their numbers: a longer one is greater.
        found.sort(key=lambda entry: (entry.id.index("-"), entry.id), reverse=True)
        return found

    def read(self, id: str, limit_bytes: int, ending: str = "") -> bytes | None:
        """Return the content of an entry; None where there is none of this id.

        Raises:
            LimitExceeded: It is larger than the limit.
        """
        if not self._id.fullmatch(id):
            return None
        try:
            return read_bounded(self._path(id, ending), limit_bytes)
        except FileNotFoundError:
            return None

    def write(self, id: str, data: bytes, ending: str = "") -> None:
        """Write an entry, or another content of one; it is on the disk when this returns."""
        for each in reversed((self._folder, *self._folder.parents)):  # `parents=True` would let others read them
            each.mkdir(mode=0o700, exist_ok=True)
        write_atomic(self._path(id, ending), data)

    def rename(self, id: str, old_ending: str, new_ending: str) -> None:
        """Give the file of an entry another ending."""
        self._path(id, old_ending).rename(self._path(id, new_ending))

    def delete(self, id: str, ending: str = "") -> None:
        """Delete an entry; it does not matter if there is none."""
        self._path(id, ending).unlink(missing_ok=True)

    def prune(self, ending: str = "") -> None:
        """Delete the oldest entries beyond the limits."""
        size_bytes = 0
        for number, entry in enumerate(self.entries(ending)):
            size_bytes += entry.size_bytes
            if number and (number >= self._entry_limit or size_bytes > self._total_limit_bytes):
                self.delete(entry.id, ending)

    def _path(self, id: str, ending: str) -> Path:
        return self._folder / f"{id}{ending}"
