"""The memory files of one agent: read and indexed again when they change, added to and cut without touching the rest.

Everything here blocks and is called in a thread, one call at a time for each agent.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass

from hub.core.errors import Conflict, HubError, Unavailable
from hub.memory.contract import Scope
from hub.memory.markdown import Passage, insert_under, passages, without_lines
from hub.security.root import Entry as FileEntry, Root
from integrations.memory.notes.grep import IndexedFile, Stamp, index_file, stamp_of
from integrations.memory.notes.places import CURATED, FOLDER, Place, may_see

_log = logging.getLogger(__name__)

FILE_LIMIT = 10_000
FILE_LIMIT_BYTES = 1_048_576
WRITE_ATTEMPTS = 5


@dataclass(frozen=True, slots=True)
class Written:
    """Where an entry is now, and whether it was there before."""

    path: str
    passage: Passage
    known: bool = False


class Shelf:
    """The memory files below one workspace.

    Args:
        root: The workspace, whole.
    """

    def __init__(self, root: Root) -> None:
        self.root = root
        self._files: dict[str, IndexedFile] = {}
        self._skipped: dict[str, Stamp] = {}

    def visible(self, scope: Scope) -> list[IndexedFile]:
        """Return the files that may be seen in a scope, as they are now."""
        self.refresh()
        return [file for path, file in self._files.items() if may_see(path, scope)]

    def refresh(self) -> None:
        """Read again what changed; what cannot be read is left out and told once."""
        present = {entry.path: entry for entry in self._present()}
        for path in self._files.keys() - present.keys():
            del self._files[path]
        for path, entry in present.items():
            known = self._files.get(path)
            if known is not None and known.stamp == stamp_of(entry):
                continue
            self._read(entry)

    def skipped(self) -> list[str]:
        """Return the files that could not be read."""
        return sorted(self._skipped)

    def text(self, path: str) -> str:
        """Return a file's text; what is no UTF-8 is shown as U+FFFD.

        Raises:
            FileNotFoundError, IsADirectoryError, HubError: It cannot be read.
        """
        return self.root.read_text(path, FILE_LIMIT_BYTES, errors="replace")

    def curated_bytes(self) -> int:
        """Return the size of the curated file."""
        return self.root.stat(CURATED).size_bytes if self.root.is_file(CURATED) else 0

    def add(self, place: Place, item: str) -> Written:
        """Write an item where it belongs; one that says the same there already is left as it is.

        Raises:
            Unavailable, HubError: The file cannot be written.
        """
        (fresh,) = passages(item)
        text = self.root.read_text(place.path, FILE_LIMIT_BYTES) if self.root.is_file(place.path) else ""
        for passage in passages(text):
            if passage.is_item and passage.text == fresh.text and passage.trusted == fresh.trusted:
                return Written(place.path, passage, known=True)
        if place.section is None:
            line = self._append(place, text, item)
        else:
            line = self._change(
                place.path, lambda now: insert_under(now or f"{place.title}\n", place.section or "", item)
            )
        added = next((each for each in passages(self.text(place.path)) if each.start_line == line), fresh)
        return Written(place.path, added)

    def cut(self, path: str, wanted: list[Passage]) -> None:
        """Remove passages from a file; every other byte stays.

        Raises:
            Conflict: The file changed meanwhile.
            Unavailable, HubError: The file cannot be written.
        """

        def without(text: str) -> tuple[str, int]:
            there = passages(text)
            if any(passage not in there for passage in wanted):
                raise Conflict(f"{path} changed meanwhile; nothing in it was forgotten")
            return without_lines(text, [(each.start_line, each.end_line) for each in wanted]), 0

        self._change(path, without)

    def _present(self) -> list[FileEntry]:
        entries = []
        if self.root.is_file(CURATED):
            entries.append(self.root.stat(CURATED))
        if self.root.is_dir(FOLDER):
            entries += self.root.walk(FOLDER, FILE_LIMIT)
        return [entry for entry in entries if entry.is_file and entry.path.endswith(".md")]

    def _read(self, entry: FileEntry) -> None:
        stamp = stamp_of(entry)
        if self._skipped.get(entry.path) == stamp:
            return
        try:
            self._files[entry.path] = index_file(entry.path, self.text(entry.path), stamp)
            self._skipped.pop(entry.path, None)
        except FileNotFoundError:
            self._files.pop(entry.path, None)
        except (OSError, HubError) as error:
            self._files.pop(entry.path, None)
            self._skipped[entry.path] = stamp
            _log.warning("the memory file %s is left out: %s", entry.path, error)

    def _append(self, place: Place, text: str, item: str) -> int:
        before = "" if not text or text.endswith("\n") else "\n"
        before = before if text else f"{place.title}\n\n"
        self.root.append(place.path, (before + item).encode(), parents=True)
        # Looked for from the end: somebody else may have written to the file in between.
        now = self.text(place.path)
        at = now.rfind(item)
        return now.count("\n", 0, at) + 1 if at >= 0 else 1

    def _change(self, path: str, change: Callable[[str], tuple[str, int]]) -> int:
        """Replace a file by what `change` makes of it, unless somebody wrote to it in between; then once more."""
        for _ in range(WRITE_ATTEMPTS):
            before = stamp_of(self.root.stat(path)) if self.root.is_file(path) else None
            text = self.root.read_text(path, FILE_LIMIT_BYTES) if before else ""
            fresh, line = change(text)
            now = stamp_of(self.root.stat(path)) if self.root.is_file(path) else None
            if now == before:
                self.root.write_text(path, fresh, parents=True)
                return line
        raise Unavailable(f"{path} is being written by somebody else; try again", retry_after_s=1.0)
