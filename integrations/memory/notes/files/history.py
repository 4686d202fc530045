"""The history of an agent's memory files: a record for each change, written before the files are.

A record whose change was not finished is called `.pending`; all of it blocks, one change at a time.
"""

from __future__ import annotations

import json
import logging
import os
import re
import secrets
from collections import defaultdict
from collections.abc import Collection, Iterable
from contextlib import suppress
from pathlib import Path

from msgspec import Struct, ValidationError, convert, field, to_builtins
from msgspec.structs import replace

from hub.core.errors import HubError
from hub.memory.alike import fact_key
from hub.memory.markdown import passages
from hub.memory.notebook import Change
from hub.storage.files import read_bounded, write_atomic
from integrations.memory.notes.files.patches import Hunk, unified_diff

_log = logging.getLogger(__name__)

CHANGES_LIMIT = 200
SIZE_LIMIT_BYTES = 32 * 1_048_576
RECORD_LIMIT_BYTES = 64 * 1_048_576
CREATED_LIMIT = 65_536
"""Characters of a new file that are kept in its record: it is in the file, and taking it back needs none of it."""
SUMMARY_LIMIT = 200
DIFF_LIMIT = 200_000

_ID = re.compile(r"\d{13,15}-[0-9a-f]{8}")
_DONE, _PENDING = ".json", ".pending"
_FORGOTTEN = "what was changed here was forgotten"


class FileChange(Struct, frozen=True):
    """The change of one file.

    Attributes:
        path: Relative to the workspace.
        before, after: Hashes of what it was and is; None where there was, or is, no file.
        hunks: The lines; None when they were not kept, or were forgotten.
    """

    path: str
    before: str | None
    after: str | None
    hunks: tuple[Hunk, ...] | None


class Record(Struct, frozen=True):
    """One complete change.

    Attributes:
        id: Sorts by time.
        time_ms: Milliseconds since the epoch.
        reason, who, summary: As in `contract.Change`.
        files: The changed files.
        undone: Whether it was undone.
        undoes: The change that it took back.
        forgotten: Whether its text was.
    """

    id: str
    time_ms: int
    reason: str
    who: str
    summary: str
    files: tuple[FileChange, ...] = field(default=())
    undone: bool = False
    undoes: str | None = None
    forgotten: bool = False

    @property
    def can_undo(self) -> bool:
        """Whether it can be undone, as long as nothing else changed."""
        kept = all(file.hunks is not None or file.before is None for file in self.files)
        return bool(self.files) and kept and not (self.undone or self.forgotten or self.reason == "forget")

    def as_change(self) -> Change:
        """Return the change that this record describes, for display."""
        diff = "\n".join(
            line
            for file in self.files
            for line in unified_diff(
                file.path, file.hunks or (), is_new=file.before is None, is_gone=file.after is None
            )
        )
        if self.reason == "forget" or self.forgotten:
            diff = ""
        elif len(diff) > DIFF_LIMIT:
            diff = f"{diff[:DIFF_LIMIT]}\n… cut: {len(diff) - DIFF_LIMIT} more characters"
        diff = diff.encode("utf-8", "replace").decode()
        return Change(
            self.id, self.time_ms, self.reason, self.who, self.summary, diff, self.undone, can_undo=self.can_undo
        )


class History:
    """The records of one agent.

    Args:
        directory: The directory of the records; made when it is needed.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def new_id(self, time_ms: int) -> str:
        """Return an id that sorts after all existing ones, even if the clock went back."""
        last = max(
            [int(names[-1].partition("-")[0]) for names in map(self._names, (_DONE, _PENDING)) if names], default=0
        )
        return f"{max(time_ms, last + 1):013d}-{secrets.token_hex(4)}"

    def begin(self, record: Record) -> None:
        """Write a record before its change.

        Raises:
            StorageError: It cannot be written; the change must not be made.
        """
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_atomic(self._path(record.id, _PENDING), _packed(record))

    def finish(self, record: Record) -> None:
        """Mark a change as made; the oldest records are deleted when there are too many."""
        self._path(record.id, _PENDING).rename(self._path(record.id, _DONE))
        self._prune()

    def cancel(self, record: Record) -> None:
        """Delete the record of a change that was not made."""
        self._path(record.id, _PENDING).unlink(missing_ok=True)

    def pending(self) -> list[Record]:
        """Return the interrupted changes."""
        return [found for name in self._names(_PENDING) if (found := self._read(name, _PENDING)) is not None]

    def newest(self) -> Iterable[Record]:
        """Yield the changes, newest first."""
        for name in reversed(self._names(_DONE)):
            if (found := self._read(name, _DONE)) is not None:
                yield found

    def count(self) -> int:
        """Return the number of stored changes."""
        return len(self._names(_DONE))

    def get(self, id: str) -> Record | None:
        """Return a change; None for an unknown id."""
        return self._read(id, _DONE) if _ID.fullmatch(id) else None

    def mark(self, id: str, *, undone: bool) -> None:
        """Mark a change as undone or not."""
        if (found := self.get(id)) is not None:
            write_atomic(self._path(id, _DONE), _packed(replace(found, undone=undone)))

    def replacements(self) -> dict[str, set[str]]:
        """Return, for each replacing entry, what it replaced; as `fact_key` of each."""
        found: dict[str, set[str]] = defaultdict(set)
        for record in self.newest():
            if record.reason != "add":
                continue
            hunks = [hunk for file in record.files for hunk in file.hunks or ()]
            written = [each for hunk in hunks for each in passages("\n".join(hunk.after)) if each.is_item]
            replaced = {fact_key(each.text) for each in written if each.struck}
            for each in written:
                if not each.struck and replaced:
                    found[fact_key(each.text)] |= replaced
        return found

    def scrub(self, lines: Collection[str], paths: Collection[str]) -> None:
        """Remove forgotten text from all records.

        Args:
            lines: The lines that it said.
            paths: Files of which nothing is kept.

        Raises:
            StorageError: A record cannot be written.
        """
        keys = {key for line in lines if (key := fact_key(line))}
        for name in self._names(_DONE):
            if self._read(name, _DONE) is None:  # whatever it holds, nobody can say that it is not this
                self._path(name, _DONE).unlink(missing_ok=True)
        for record in self.newest():
            clean = _without(record, keys, paths)
            if clean is not record:
                write_atomic(self._path(record.id, _DONE), _packed(clean))

    def _path(self, id: str, ending: str) -> Path:
        return self._directory / f"{id}{ending}"

    def _names(self, ending: str) -> list[str]:
        try:
            found = [name.removesuffix(ending) for name in os.listdir(self._directory) if name.endswith(ending)]
        except FileNotFoundError:
            return []
        # By their numbers: a longer one is greater.
        return sorted(sorted(filter(_ID.fullmatch, found)), key=len)

    def _read(self, id: str, ending: str) -> Record | None:
        try:
            return convert(json.loads(read_bounded(self._path(id, ending), RECORD_LIMIT_BYTES)), Record)
        except FileNotFoundError:
            return None
        except (HubError, ValidationError, ValueError, RecursionError) as error:
            _log.warning("the record %s of a change to memory cannot be read and is left out: %s", id, error)
            return None

    def _prune(self) -> None:
        size = 0
        for number, name in enumerate(reversed(self._names(_DONE))):
            path = f"{self._directory}/{name}{_DONE}"
            with suppress(FileNotFoundError):
                size += os.stat(path).st_size
                if number and (number >= CHANGES_LIMIT or size > SIZE_LIMIT_BYTES):
                    os.unlink(path)


def _without(record: Record, keys: Collection[str], paths: Collection[str]) -> Record:
    """Return a record without forgotten text; the same object if it has none."""
    files = tuple(_file_without(file, keys, gone=file.path in paths) for file in record.files)
    # Of a file that was too long to be kept here, its title may be all that is shown of it.
    is_gone = any(file.path in paths for file in record.files) and not record.forgotten
    if not is_gone and all(new is old for new, old in zip(files, record.files, strict=True)):
        return record
    lost = any(new.hunks is None and old.hunks is not None for new, old in zip(files, record.files, strict=True))
    if not lost and not is_gone:
        return replace(record, files=files)
    return replace(record, files=files, summary=_FORGOTTEN, forgotten=True)


def _file_without(file: FileChange, keys: Collection[str], *, gone: bool) -> FileChange:
    if file.hunks is None:
        return file
    if gone or any(_holds((*hunk.before, *hunk.after), keys) for hunk in file.hunks):
        return replace(file, hunks=None)
    if not any(_holds((*hunk.above, *hunk.below), keys) for hunk in file.hunks):
        return file
    return replace(file, hunks=tuple(replace(hunk, above=(), below=()) for hunk in file.hunks))


def _holds(lines: Iterable[str], keys: Collection[str]) -> bool:
    return any(fact_key(line) in keys for line in lines)


def _packed(record: Record) -> bytes:
    # Bytes that are no UTF-8 stand as lone surrogates; escaped, they are read back as they were.
    return json.dumps(to_builtins(record), ensure_ascii=True, indent=1).encode()
