"""Workspace files with words from outside, recognised by their contents, so that renaming does not hide them.

A turn that had words from outside in its window may write ordinary files. Whoever reads such a file later, in whatever
session, learns that its words are not this home's. That ends when its content changes: when a person edits it by
hand, or the owner has it rewritten in a turn without words from outside.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path

from msgspec import Struct, field

from hub.core.context import Authority
from hub.core.errors import LimitExceeded
from hub.memory.front_matter import holds_outside_words
from hub.storage.files import append_line
from hub.storage.homedir import Home

FILE_NAME = "outside_files"
MARKS_LIMIT = 50_000
"""The number of contents and directories recorded for an agent; beyond it, tainted turns write no files."""

_HEX = 64
_DIRECTORY = "-" * _HEX


class _Marks(Struct):
    contents: set[str] = field(default_factory=set)
    paths: set[str] = field(default_factory=set)
    directories: set[str] = field(default_factory=set)

    @property
    def count(self) -> int:
        return len(self.contents) + len(self.paths) + len(self.directories)

    def take(self, mark: str, path: str) -> None:
        if mark == _DIRECTORY:
            self.directories.add(path)
            return
        self.contents.add(mark)
        self.paths.add(path)


class OutsideFiles:
    """Records which file contents came from outside; all methods block and may be called from any thread.

    Args:
        home: Where the notes are kept, beside the agents' transcripts: no tool reaches them.
    """

    def __init__(self, home: Home) -> None:
        self._home = home
        self._marks: dict[str, _Marks] = {}
        self._guard = threading.Lock()

    def writes_from_outside(self, authority: Authority) -> bool:
        """Whether what is written under this authority counts as words from outside."""
        return authority.tainted or not authority.owner

    def mark(self, agent_id: str, path: str, data: bytes, new_directories: Iterable[str] = ()) -> None:
        """Record a content that is about to be written; on disk when this returns, so that no crash loses it.

        Args:
            path: Relative to the workspace, in its one spelling.
            data: The content.
            new_directories: Directories created for it: their names come from outside too.

        Raises:
            LimitExceeded: Too many contents are recorded already.
            StorageError: It could not be recorded; the file must not be written then.
        """
        wanted = [(_DIRECTORY, each) for each in new_directories] + [(_digest(data), path)]
        with self._guard:
            marks = self._of(agent_id)
            if marks.count + len(wanted) > MARKS_LIMIT:
                raise LimitExceeded(
                    f"{MARKS_LIMIT} files with text that others wrote were written in this workspace; "
                    "the owner must remove some first"
                )
            file = self._file(agent_id)
            file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            for mark, each in wanted:
                append_line(file, f"{mark} {each}".encode())
                marks.take(mark, each)

    def holds(self, agent_id: str, data: bytes) -> bool:
        """Return whether this content includes words from outside, under any file name.

        A memory file says so itself: its tools note it there, entry by entry.
        """
        if holds_outside_words(data.decode("utf-8", "replace")):
            return True
        with self._guard:
            marks = self._of(agent_id)
            return bool(marks.contents) and _digest(data) in marks.contents

    def has_outside_name(self, agent_id: str, path: str) -> bool:
        """Whether a file or directory of this name was created by words from outside, whatever it holds now."""
        with self._guard:
            marks = self._of(agent_id)
            return path in marks.paths or path in marks.directories

    def names_in(self, agent_id: str, folder: str, *, below: bool) -> list[str]:
        """Return the names in a folder, at any depth, that words from outside created."""
        start = "" if folder == "." else f"{folder}/"
        with self._guard:
            marks = self._of(agent_id)
            return [
                each
                for each in (*marks.paths, *marks.directories)
                if each.startswith(start) and (below or "/" not in each[len(start) :])
            ]

    def _of(self, agent_id: str) -> _Marks:
        known = self._marks.get(agent_id)
        if known is None:
            known = self._marks[agent_id] = _load(self._file(agent_id))
        return known

    def _file(self, agent_id: str) -> Path:
        return self._home.agent(agent_id) / FILE_NAME


def _load(file: Path) -> _Marks:
    marks = _Marks()
    try:
        lines = file.read_bytes().split(b"\n")
    except FileNotFoundError:
        return marks
    for line in lines:
        mark, _, path = line.decode("utf-8", "replace").partition(" ")
        # A line that a crash cut off: what it was for was not written.
        if len(mark) == _HEX and path:
            marks.take(mark, path)
    return marks


def _digest(data: bytes) -> str:
    return sha256(data).hexdigest()
