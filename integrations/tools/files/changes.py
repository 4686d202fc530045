"""Changes of files: planned as a whole, then made, all or none."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence

from msgspec import Struct

from hub.core.errors import Conflict, HubError
from hub.security.jail_path import Hidden, PathRefused, components
from hub.security.root import Root
from integrations.tools.files.differences import DIFF_LIMIT, difference

MODE = 0o600


class PlannedChange(Struct, frozen=True):
    """One file as it is and as it will be.

    Attributes:
        path: The file, in its one spelling.
        before: Its content; None when there is none.
        after: Its new content; None when it is deleted.
        target: Its path afterwards.
        mode: Its permissions.
        keeps: Whether words of `before` stay in it.
    """

    path: str
    before: bytes | None
    after: bytes | None
    target: str
    mode: int = MODE
    keeps: bool = False

    @property
    def diff(self) -> str:
        """The change as a unified diff."""
        return difference(self.before, self.after, self.path, self.target)


class FileState(Struct, frozen=True):
    """The contents of one path before and after a change; None if there is no file."""

    path: str
    before: bytes | None
    after: bytes | None
    mode: int


def plan_change(
    root: Root, path: str, after: bytes | None, before: tuple[bytes, int] | None, target: str | None = None
) -> PlannedChange:
    """Return a change of a file, once its paths are judged.

    Raises:
        PathRefused: A path leads out of the view, or to no plain file.
        Conflict: There is a file at `target` already.
    """
    names = [components(each) for each in (path, target or path)]
    for name, spelled in zip(names, (path, target or path), strict=True):
        if Hidden(root.hidden).covers(name):
            raise PathRefused(spelled, "it is not part of this view of the directory")
    old, new = ("/".join(each) for each in names)
    if new != old and root.exists(new):
        raise Conflict(f"{new} exists already", details={"path": new})
    data, mode = before or (None, MODE)
    return PlannedChange(old, data, after, new, mode)


def read_existing(root: Root, path: str, limit: int) -> tuple[bytes, int] | None:
    """Return a file's contents and permissions; None if there is no file.

    Raises:
        LimitExceeded: It has more than `limit` bytes.
    """
    if not root.exists(path):
        return None
    data = root.read_bytes(path, limit)
    descriptor = root.open(path)
    try:
        return data, os.fstat(descriptor).st_mode & 0o777
    finally:
        os.close(descriptor)


def states(changes: Sequence[PlannedChange]) -> Iterator[FileState]:
    """Yield each path that changes, those that files are moved away from last."""
    for change in changes:
        if change.target != change.path:
            yield FileState(change.target, None, change.after, change.mode)
    for change in changes:
        after = change.after if change.target == change.path else None
        yield FileState(change.path, change.before, after, change.mode)


def carry_out(root: Root, wanted: Sequence[FileState], *, executable: bool = True) -> None:
    """Write and delete files, all of them or none.

    Args:
        executable: Whether an executable file may stay one.

    Raises:
        Conflict: A file has changed.
    """
    for each in wanted:
        if not is_unchanged(root, each.path, each.before):
            raise Conflict(f"{each.path} changed meanwhile; read it again", details={"path": each.path})
    done: list[FileState] = []
    try:
        for each in wanted:
            done.append(each)
            _put(root, each.path, each.after, each.mode, executable=executable)
    except (OSError, HubError):
        for each in reversed(done):
            with contextlib.suppress(OSError, HubError):
                if not is_unchanged(root, each.path, each.before):
                    _put(root, each.path, each.before, each.mode, executable=executable)
        raise


def is_unchanged(root: Root, path: str, data: bytes | None) -> bool:
    """Return whether a file holds this; None for no file."""
    if data is None or not root.exists(path):
        return data is None and not root.exists(path)
    return root.stat(path).size_bytes == len(data) and root.read_bytes(path, len(data)) == data


def diff_of(changes: Sequence[PlannedChange]) -> str:
    """Return the changes as one unified diff of bounded length."""
    text = "\n".join(change.diff for change in changes)
    return text if len(text) <= DIFF_LIMIT else f"{text[:DIFF_LIMIT]}\n[cut]"


def _put(root: Root, path: str, data: bytes | None, mode: int, *, executable: bool) -> None:
    if data is not None:
        mode = mode if executable else mode & 0o666
        root.write_bytes(path, data, mode, parents=True, executable=executable)
    elif root.exists(path):
        root.unlink(path)
