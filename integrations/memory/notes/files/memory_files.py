"""The memory files below one workspace: found, read, and replaced together. Everything here blocks."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from contextlib import suppress

from msgspec import Struct

from hub.core.durable import write_all
from hub.core.errors import HubError, LimitExceeded
from hub.memory.places import (
    CURATED,
    FOLDER,
    GROUP_AREA,
    GROUPS,
    PEOPLE,
    PERSON_AREA,
    PRIVATE_AREA,
    SET_APART,
    SHARED,
    area_of,
    day_of,
)
from hub.security.folder_entry import FolderEntry as FileEntry
from hub.security.jail_path import PathRefused
from hub.security.root import Root
from integrations.memory.notes.job import FILE_LIMIT_BYTES, FILES_LIMIT

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL
_BEING_WRITTEN = ".homarus-"


class StaleWrite(Exception):
    """A file changed after its new text was made; nothing was written."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.path = path


class Draft(Struct, frozen=True):
    """A file's planned content, and its content at that time; None means no file."""

    path: str
    before: str | None
    after: str | None


def hash_of(text: str | None) -> str | None:
    """Return the hash that detects changes of a file; None for no file."""
    return None if text is None else hashlib.sha256(_bytes(text)).hexdigest()


def displayable(text: str) -> str:
    """Return a displayable text: invalid UTF-8 becomes U+FFFD."""
    return _bytes(text).decode("utf-8", "replace")


def has_files(root: str, area: str) -> bool:
    """Whether there may be a file of an area, judged by a name or two."""
    # ParsedQuestion before every message, and several times as fast as with paths as objects.
    there = os.path.exists
    if area == PRIVATE_AREA:
        return there(f"{root}/{CURATED}") or _has_own_files(f"{root}/{FOLDER}")
    if area.startswith((PERSON_AREA, GROUP_AREA)):
        is_person = area.startswith(PERSON_AREA)
        folder, id = (PEOPLE, area.removeprefix(PERSON_AREA)) if is_person else (GROUPS, area.removeprefix(GROUP_AREA))
        return there(f"{root}/{folder}/{id}.md") or there(f"{root}/{folder}/{id}")
    return there(f"{root}/{SHARED}") or there(f"{root}/{SHARED.removesuffix('.md')}")


class MemoryFiles:
    """The memory files below one workspace.

    Args:
        root: The workspace, whole.
    """

    def __init__(self, root: Root) -> None:
        self.root = root

    def entries(self, areas: Sequence[str] | None = None) -> list[FileEntry]:
        """Return the memory files: curated ones first, then the newest days, then the others by name.

        Args:
            areas: Only files of these; all without it.
        """
        found = []
        if self.root.is_file(CURATED):
            found.append(self.root.stat(CURATED))
        if self.root.is_dir(FOLDER):
            found += self.root.walk(FOLDER, FILES_LIMIT)
        wanted = [
            (each, area)
            for each in found
            if each.is_file and (area := area_of(each.path)) is not None and (areas is None or area in areas)
        ]
        wanted.sort(key=lambda pair: _order(pair[0].path))
        return [each for each, _ in wanted]

    def texts(self, areas: Sequence[str] | None = None) -> Iterator[tuple[str, str]]:
        """Yield path and text of the readable memory files, as `text` returns it."""
        for each in self.entries(areas):
            with suppress(OSError, HubError):
                if (text := self.text(each.path)) is not None:
                    yield each.path, text

    def text(self, path: str) -> str | None:
        """Return a file's text, None if it does not exist; invalid UTF-8 becomes lone surrogates.

        Raises:
            LimitExceeded, PathRefused, OSError: It cannot be read.
        """
        try:
            return self.root.read_text(path, FILE_LIMIT_BYTES, errors="surrogateescape")
        except FileNotFoundError:
            return None

    def curated_bytes(self) -> int:
        """Return the size of the curated file."""
        return self.root.stat(CURATED).size_bytes if self.root.is_file(CURATED) else 0

    def replace(self, drafts: Sequence[Draft], id: str) -> None:
        """Replace files, all or none.

        All new texts are on the disk beside their files before the first of them takes its name; when the system stops
        between two names, `Journal` continues from there.

        Args:
            drafts: The files.
            id: Names what is being written; see `clear`.

        Raises:
            StaleWrite: A file has changed.
            LimitExceeded, PathRefused, OSError: They cannot be written.
        """
        done: list[Draft] = []
        try:
            for number, draft in enumerate(drafts):
                if draft.after is not None:
                    self._stage(draft, _temporary(draft.path, id, number))
            for draft in drafts:
                if self.text(draft.path) != draft.before:
                    raise StaleWrite(draft.path)
            for number, draft in enumerate(drafts):
                self._take(draft, _temporary(draft.path, id, number))
                done.append(draft)
        except BaseException:
            self.clear(drafts, id)
            for draft in done:
                self.put_back(draft)
            raise

    def put_back(self, draft: Draft) -> None:
        """Restore a file's former text.

        Raises:
            OSError: It cannot be written.
        """
        if draft.before is None:
            with suppress(FileNotFoundError):
                self.root.unlink(draft.path)
        else:
            self.root.write_bytes(draft.path, _bytes(draft.before), parents=True)

    def clear(self, drafts: Sequence[Draft], id: str) -> None:
        """Delete the drafts of a change."""
        for number, draft in enumerate(drafts):
            with suppress(FileNotFoundError, NotADirectoryError, PathRefused):
                self.root.unlink(_temporary(draft.path, id, number))

    def _stage(self, draft: Draft, temporary: str) -> None:
        data = _bytes(draft.after or "")
        if len(data) > FILE_LIMIT_BYTES:
            raise LimitExceeded(
                f"{draft.path} would be larger than {FILE_LIMIT_BYTES} bytes; move older parts of it to another file",
                details={"path": draft.path, "limit_bytes": FILE_LIMIT_BYTES},
            )
        folder = draft.path.rpartition("/")[0]
        if folder:
            with suppress(FileExistsError):  # no directory: opening says so
                self.root.mkdir(folder)
        descriptor = self.root.open(temporary, _NEW, self._mode(draft))
        try:
            write_all(descriptor, data)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def _mode(self, draft: Draft) -> int:
        if draft.before is None:
            return 0o600
        descriptor = self.root.open(draft.path)
        try:
            return os.fstat(descriptor).st_mode & 0o777
        finally:
            os.close(descriptor)

    def _take(self, draft: Draft, temporary: str) -> None:
        if draft.after is None:
            self.root.unlink(draft.path)
        else:
            self.root.rename(temporary, draft.path)


def _temporary(path: str, id: str, number: int) -> str:
    folder, slash, _ = path.rpartition("/")
    return f"{folder}{slash}{_BEING_WRITTEN}{id}-{number}.new"


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _order(path: str) -> tuple[int, int, str]:
    if path == CURATED:
        return (0, 0, path)
    day = day_of(path)
    return (1, -day.toordinal(), path) if day else (2, 0, path)


def _has_own_files(folder: str) -> bool:
    try:
        with os.scandir(folder) as entries:
            return any(entry.name not in SET_APART for entry in entries)
    except FileNotFoundError:
        return False
    except OSError:
        return True
