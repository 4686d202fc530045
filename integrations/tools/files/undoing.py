"""Undoing changes by the file tools: earlier contents, kept for a while outside the workspace.

Memory is left out: it keeps its own changes, and what is forgotten there must not stay here.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

import msgspec
from msgspec import Struct

from hub.core.errors import Conflict
from hub.memory.places import CURATED, FOLDER
from hub.security.jail_path import Hidden, components
from hub.security.root import Root
from hub.storage.errors import from_os
from hub.storage.files import read_bounded, write_atomic
from integrations.tools.files.changes import FileState, carry_out, is_unchanged

KEPT_LIMIT = 200
KEPT_LIMIT_BYTES = 64 * 1024 * 1024
"""Of all conversations together; the oldest changes go first."""

_MEMORY = Hidden((CURATED, FOLDER))


class KeptState(Struct, frozen=True):
    """The contents of one path before a change, and the SHA-256 of those after it; None for no file."""

    path: str
    before: bytes | None
    after: str | None
    mode: int


class UndoStore:
    """The latest changes of files, by conversation; all methods block and may be called from any thread.

    Args:
        folder: Their directory.
        limit: How many; the oldest go first.
        limit_bytes: How many bytes of them.
    """

    def __init__(self, folder: Path, limit: int = KEPT_LIMIT, limit_bytes: int = KEPT_LIMIT_BYTES) -> None:
        self._folder = folder
        self._limit = limit
        self._limit_bytes = limit_bytes
        self._guard = threading.Lock()

    def keep(self, session_key: str, changed: Sequence[FileState]) -> Path | None:
        """Store the contents of files before a change; on disk when this returns. None if not stored.

        Raises:
            StorageError: It could not be written.
        """
        if any(_MEMORY.covers(components(each.path)) for each in changed):
            return None
        states = [KeptState(each.path, each.before, _digest(each.after), each.mode) for each in changed]
        data = msgspec.msgpack.encode(states)
        with self._guard:
            kept = self._kept()
            number = int(kept[-1].name.partition("-")[0]) + 1 if kept else 0
            file = self._folder / f"{number:012d}-{_name(session_key)}"
            try:
                self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            except OSError as error:
                raise from_os(error, self._folder, "making") from error
            write_atomic(file, data)
            self._drop_oldest([*kept, file])
        return file

    def drop(self, file: Path | None) -> None:
        """Drop the stored versions of a change."""
        if file is not None:
            file.unlink(missing_ok=True)

    def forget(self, session_key: str) -> None:
        """Drop all that was kept of a conversation."""
        with self._guard:
            for file in self._of(session_key):
                file.unlink(missing_ok=True)

    def count(self, session_key: str) -> int:
        """Return how many changes of a conversation can be undone."""
        return len(self._of(session_key))

    def undo(self, session_key: str, root: Root) -> list[str]:
        """Undo the latest change of a conversation and return the files; empty if none is stored.

        Raises:
            Conflict: A file was changed since; `details.path` names it.
        """
        with self._guard:
            for file in reversed(self._of(session_key)):
                states = msgspec.msgpack.decode(read_bounded(file, KEPT_LIMIT_BYTES), type=list[KeptState])
                back = [change for each in reversed(states) if (change := _back(root, each)) is not None]
                if back:
                    carry_out(root, back)
                    file.unlink()
                    return [each.path for each in back]
                file.unlink()  # a crash came before the change
        return []

    def _kept(self) -> list[Path]:
        with contextlib.suppress(FileNotFoundError):
            return sorted(each for each in self._folder.iterdir() if each.name[:12].isdigit())
        return []

    def _of(self, session_key: str) -> list[Path]:
        return [each for each in self._kept() if each.name.endswith(_name(session_key))]

    def _drop_oldest(self, kept: list[Path]) -> None:
        total = 0
        for count, file in enumerate(reversed(kept), start=1):
            total += file.stat().st_size
            if count > self._limit or total > self._limit_bytes:
                file.unlink(missing_ok=True)


def _back(root: Root, state: KeptState) -> FileState | None:
    """Return the change that undoes another; None if the file is unchanged.

    Raises:
        Conflict: The file holds neither its content after the change nor its content before.
    """
    if is_unchanged(root, state.path, state.before):
        return None
    now = root.read_bytes(state.path, KEPT_LIMIT_BYTES) if root.exists(state.path) else None
    if _digest(now) != state.after:
        raise Conflict(f"{state.path} was changed since", details={"path": state.path})
    return FileState(state.path, now, state.before, state.mode)


def _digest(data: bytes | None) -> str | None:
    return None if data is None else sha256(data).hexdigest()


def _name(session_key: str) -> str:
    return sha256(session_key.encode()).hexdigest()[:32]
