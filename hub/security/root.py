"""The path jail: files below one directory, reached by directory descriptors so that no name can lead out.

Each component is opened on its own, relative to the descriptor of the one before it and never through a symlink.
What was checked is what is used: nothing is looked up by its whole path a second time.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType

from hub.core.durable import write_all, write_new
from hub.core.errors import InvalidRequest, LimitExceeded
from hub.security.folder_entry import FolderEntry, folder_entry
from hub.security.jail_path import TEMPORARY_PREFIX, TEMPORARY_SUFFIX, Hidden, PathRefused, components, is_safe_name
from hub.security.jail_steps import (
    explain,
    missing,
    open_directory,
    refuse_special,
    stat_at,
    unlink_quietly,
)

READ_LIMIT_BYTES = 16 * 1024 * 1024
LIST_LIMIT = 10_000

_PLAIN = os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY


class Root:
    """The files below one directory, and no others.

    Paths are relative to it, with `/`. Every method raises `PathRefused` for a path that leads out or through a symlink
    or to something that is not a plain file, and the ordinary `FileNotFoundError`, `IsADirectoryError`,
    `NotADirectoryError`, `FileExistsError` and other `OSError` for what they say. All of them block; none keeps state,
    so that they may be called from any thread.

    Args:
        path: The directory; it is trusted, and may itself be reached through symlinks.
        hidden: Relative paths that do not exist for this view, with all that is in them.
    """

    def __init__(self, path: Path | os.PathLike[str] | str, hidden: Iterable[str] = ()) -> None:
        self.path = Path(path)
        self._hidden = Hidden(hidden)

    @property
    def hidden(self) -> frozenset[str]:
        """The paths hidden from this view."""
        return self._hidden.paths

    def __enter__(self) -> Root:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None

    def view(self, hidden: Iterable[str]) -> Root:
        """Return a view of the same directory in which more is hidden."""
        return Root(self.path, self.hidden.union(hidden))

    def open(self, rel: str, flags: int = os.O_RDONLY, mode: int = 0o600) -> int:
        """Open a plain file and return its descriptor, which the caller closes.

        Args:
            flags: As for `os.open`. Writing to a file that has a second name is refused: that name may be outside.
            mode: Permissions of a file that `O_CREAT` makes.
        """
        names = self._names(rel, making=bool(flags & os.O_CREAT))
        with self._parent(names, rel) as (parent, name):
            return self._open_plain(parent, name, rel, flags, mode)

    def read_bytes(self, rel: str, limit: int = READ_LIMIT_BYTES) -> bytes:
        """Return the contents of a file.

        Raises:
            LimitExceeded: It has more than `limit` bytes.
        """
        descriptor = self.open(rel)
        try:
            with os.fdopen(descriptor, "rb", closefd=False) as file:
                data = file.read(limit + 1)
        finally:
            os.close(descriptor)
        if len(data) > limit:
            raise LimitExceeded(f"{rel} is larger than {limit} bytes", details={"path": rel, "limit_bytes": limit})
        return data

    def read_text(self, rel: str, limit: int = READ_LIMIT_BYTES, errors: str = "strict") -> str:
        """Return the text of a UTF-8 file.

        Args:
            limit: Bytes it may have at most.
            errors: `strict`, or `replace` to show invalid UTF-8 as U+FFFD.

        Raises:
            LimitExceeded: It has more than `limit` bytes.
            InvalidRequest: It is not UTF-8 text.
        """
        data = self.read_bytes(rel, limit)
        try:
            return data.decode("utf-8", errors)
        except UnicodeDecodeError as error:
            raise InvalidRequest(
                f"{rel} is not UTF-8 text (byte {error.start})", details={"path": rel, "byte": error.start}
            ) from error

    def write_bytes(
        self,
        rel: str,
        data: bytes,
        mode: int = 0o600,
        *,
        parents: bool = False,
        executable: bool = True,
        before_replacing: Callable[[], None] = lambda: None,
    ) -> None:
        """Replace the contents of a file, whole or not at all; they are on the disk when this returns.

        Args:
            mode: Permissions of a new file; an existing one keeps its own.
            parents: Whether to make the directories that lead to it.
            executable: Whether an executable file may stay one.
            before_replacing: Called when all but the replacing is done; an error of it leaves the file as it was.
        """
        names = self._names(rel, making=True)
        if parents and len(names) > 1:
            self._make_directories(names[:-1], rel)
        with self._parent(names, rel) as (parent, name):
            found = stat_at(parent, name)
            if found is not None:
                refuse_special(found, rel)
                mode = found.st_mode & (0o777 if executable else 0o666)
            temporary = f"{TEMPORARY_PREFIX}{secrets.token_hex(8)}{TEMPORARY_SUFFIX}"
            try:
                write_new(temporary, data, mode, parent=parent)
                before_replacing()
                os.rename(temporary, name, src_dir_fd=parent, dst_dir_fd=parent)
            except BaseException:
                unlink_quietly(parent, temporary)
                raise
            os.fsync(parent)

    def write_text(self, rel: str, text: str, mode: int = 0o600, *, parents: bool = False) -> None:
        """Replace the contents of a file by text in UTF-8; see `write_bytes`."""
        self.write_bytes(rel, text.encode(), mode, parents=parents)

    def append(self, rel: str, data: bytes, mode: int = 0o600, *, parents: bool = False) -> None:
        """Add to the end of a file, making it when there is none; it is on the disk when this returns.

        When the disk is full, what was there is untouched.
        """
        names = self._names(rel, making=True)
        if parents and len(names) > 1:
            self._make_directories(names[:-1], rel)
        descriptor = self.open(rel, os.O_WRONLY | os.O_APPEND | os.O_CREAT, mode)
        try:
            size = os.fstat(descriptor).st_size
            try:
                write_all(descriptor, data)
                os.fsync(descriptor)
            except OSError:
                os.ftruncate(descriptor, size)
                raise
        finally:
            os.close(descriptor)

    def listdir(self, rel: str = ".", limit: int = LIST_LIMIT) -> list[str]:
        """Return the names in a directory, sorted, without those that are hidden or that no path could name.

        Raises:
            LimitExceeded: There are more than `limit`.
        """
        names = self._names(rel)
        with self._directory(names, rel) as descriptor:
            return self._list(descriptor, names, rel, limit)

    def scan(self, rel: str = ".", limit: int = LIST_LIMIT) -> list[FolderEntry]:
        """Return the entries of a directory, sorted by name.

        Raises:
            LimitExceeded: There are more than `limit`.
        """
        names = self._names(rel)
        with self._directory(names, rel) as descriptor:
            found = ((name, stat_at(descriptor, name)) for name in self._list(descriptor, names, rel, limit))
            return [folder_entry((*names, name), each) for name, each in found if each is not None]

    def walk(self, rel: str = ".", limit: int = LIST_LIMIT) -> list[FolderEntry]:
        """Return everything below a directory, each directory before its content, sorted; at most `limit` entries.

        Symlinks are shown and not followed. A directory that cannot be read is shown without its contents.
        """
        entries: list[FolderEntry] = []
        waiting = [self._names(rel)]
        while waiting and len(entries) < limit:
            names = waiting.pop()
            if names and entries:
                position = "/".join(names)
                try:
                    found = self.scan(position, limit)
                except (OSError, PathRefused, LimitExceeded):
                    continue
            else:
                found = self.scan(rel, limit)
            entries.extend(found)
            waiting.extend(tuple(each.path.split("/")) for each in reversed(found) if each.is_dir)
        return entries[:limit]

    def stat(self, rel: str) -> FolderEntry:
        """Return the kind of a path; a symlink is not followed."""
        names = self._names(rel)
        if not names:
            with self._directory(names, rel) as descriptor:
                return folder_entry((".",), os.fstat(descriptor))
        with self._parent(names, rel) as (parent, name):
            found = stat_at(parent, name)
            if found is None:
                raise missing(rel)
            return folder_entry(names, found)

    def exists(self, rel: str) -> bool:
        """Whether there is something at a path; a symlink to nowhere counts."""
        try:
            self.stat(rel)
        except (FileNotFoundError, NotADirectoryError):
            return False
        return True

    def is_file(self, rel: str) -> bool:
        """Return whether a path is a plain file."""
        try:
            return self.stat(rel).is_file
        except (FileNotFoundError, NotADirectoryError):
            return False

    def is_dir(self, rel: str) -> bool:
        """Return whether a path is a directory."""
        try:
            return self.stat(rel).is_dir
        except (FileNotFoundError, NotADirectoryError):
            return False

    def unlink(self, rel: str) -> None:
        """Delete a file, or a symlink itself."""
        names = self._names(rel)
        with self._parent(names, rel) as (parent, name):
            os.unlink(name, dir_fd=parent)
            os.fsync(parent)

    def mkdir(self, rel: str, mode: int = 0o700, *, parents: bool = True, exist_ok: bool = True) -> None:
        """Make a directory.

        Args:
            parents: Whether to make those that lead to it.
            exist_ok: Whether it may be there already.
        """
        names = self._names(rel, making=True)
        if parents and len(names) > 1:
            self._make_directories(names[:-1], rel, mode)
        with self._parent(names, rel) as (parent, name):
            try:
                os.mkdir(name, mode, dir_fd=parent)
            except FileExistsError:
                found = stat_at(parent, name)
                if not exist_ok or found is None or not stat.S_ISDIR(found.st_mode):
                    raise

    def rename(self, source: str, target: str) -> None:
        """Move a file or directory within the jail; a plain file at `target` is replaced."""
        from_names, to_names = self._names(source), self._names(target, making=True)
        with self._parent(from_names, source) as (old, old_name), self._parent(to_names, target) as (new, new_name):
            if self._hidden and (found := stat_at(old, old_name)) is not None and stat.S_ISDIR(found.st_mode):
                self._refuse_holding_hidden(from_names, source)
            if (there := stat_at(new, new_name)) is not None and not stat.S_ISDIR(there.st_mode):
                refuse_special(there, target)
            os.rename(old_name, new_name, src_dir_fd=old, dst_dir_fd=new)
            os.fsync(new)

    # --- below: descriptors ---

    def _names(self, rel: str, *, making: bool = False) -> tuple[str, ...]:
        names = components(rel)
        if self._hidden.covers(names):
            if making:
                raise PathRefused(rel, "it is not part of this view of the directory")
            raise missing(rel)
        return names

    def _open_directory(self, names: tuple[str, ...], rel: str) -> int:
        """Open the directory at `names`, component by component."""
        descriptor = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        for name in names:
            try:
                deeper = open_directory(descriptor, name, rel)
            finally:
                os.close(descriptor)
            descriptor = deeper
        return descriptor

    @contextmanager
    def _directory(self, names: tuple[str, ...], rel: str) -> Iterator[int]:
        descriptor = self._open_directory(names, rel)
        try:
            yield descriptor
        finally:
            os.close(descriptor)

    @contextmanager
    def _parent(self, names: tuple[str, ...], rel: str) -> Iterator[tuple[int, str]]:
        if not names:
            raise IsADirectoryError(errno.EISDIR, "is the directory itself", rel)
        descriptor = self._open_directory(names[:-1], rel)
        try:
            yield descriptor, names[-1]
        finally:
            os.close(descriptor)

    def _open_plain(self, parent: int, name: str, rel: str, flags: int, mode: int) -> int:
        found = stat_at(parent, name)
        if found is not None:  # a device may do things when it is opened: look first
            refuse_special(found, rel)
        # Truncating waits until the open file proved to be a plain one with one name.
        opened_with = flags & ~os.O_TRUNC | _PLAIN
        try:
            descriptor = os.open(name, opened_with, mode, dir_fd=parent)
        except OSError as error:
            raise explain(error, rel) from error
        try:
            status = os.fstat(descriptor)
            refuse_special(status, rel)
            if status.st_nlink > 1:
                raise PathRefused(rel, "the file has a second name (a hard link), which may be elsewhere")
            if flags & os.O_TRUNC:
                os.ftruncate(descriptor, 0)
        except BaseException:
            os.close(descriptor)
            raise
        return descriptor

    def _refuse_holding_hidden(self, names: tuple[str, ...], rel: str) -> None:
        depth = len(names)
        if any(components(path)[:depth] == names for path in self.hidden):
            raise PathRefused(rel, "parts of it are not in this view of the directory")

    def _list(self, descriptor: int, names: tuple[str, ...], rel: str, limit: int) -> list[str]:
        found: list[str] = []
        with os.scandir(descriptor) as entries:
            for entry in entries:
                if not is_safe_name(entry.name) or self._hidden.covers((*names, entry.name)):
                    continue
                if len(found) >= limit:
                    raise LimitExceeded(f"{rel} holds more than {limit} files", details={"path": rel, "limit": limit})
                found.append(entry.name)
        return sorted(found)

    def _make_directories(self, names: tuple[str, ...], rel: str, mode: int = 0o700) -> None:
        for depth in range(1, len(names) + 1):
            with self._directory(names[: depth - 1], rel) as descriptor:
                try:
                    os.mkdir(names[depth - 1], mode, dir_fd=descriptor)
                except FileExistsError:
                    continue
