"""The history of an agent's memory files: a record for each change, written before the files are.

A record whose change was not finished is called `.pending`; all of it blocks, one change at a time.
"""

from __future__ import annotations

import json
import logging
import re
import secrets
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

from msgspec import Struct, ValidationError, convert, field, to_builtins
from msgspec.structs import replace

from hub.core.errors import HubError
from hub.memory.alike import fact_key
from hub.memory.markdown import passages
from hub.memory.notebook import Change
from hub.storage.file_history import FileHistory
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


class Records:
    """The records of one agent.

    Args:
        directory: The directory of the records; made when it is needed.
    """

    def __init__(self, directory: Path) -> None:
        self._history = FileHistory(directory, _ID, CHANGES_LIMIT, SIZE_LIMIT_BYTES)

    def new_id(self, time_ms: int) -> str:
        """Return an id that sorts after all existing ones, even if the clock went back."""
        newest = (entries[0].id for entries in map(self._history.entries, (_DONE, _PENDING)) if entries)
        last = max((int(id.partition("-")[0]) for id in newest), default=0)
        return f"{max(time_ms, last + 1):013d}-{secrets.token_hex(4)}"

    def begin(self, record: Record) -> None:
        """Write a record before its change.

        Raises:
            StorageError: It cannot be written; the change must not be made.
        """
        self._history.write(record.id, _packed(record), _PENDING)

    def finish(self, record: Record) -> None:
        """Mark a change as made; the oldest records are deleted when there are too many."""
        self._history.rename(record.id, _PENDING, _DONE)
        self._history.prune(_DONE)

    def cancel(self, record: Record) -> None:
        """Delete the record of a change that was not made."""
        self._history.delete(record.id, _PENDING)

    def pending(self) -> list[Record]:
        """Return the interrupted changes."""
        return list(self._newest(_PENDING))[::-1]

    def newest(self) -> Iterable[Record]:
        """Yield the changes, newest first."""
        return self._newest(_DONE)

    def count(self) -> int:
        """Return the number of stored changes."""
        return len(self._history.entries(_DONE))

    def get(self, id: str) -> Record | None:
        """Return a change; None for an unknown id."""
        return self._read(id, _DONE)

    def mark(self, id: str, *, undone: bool) -> None:
        """Mark a change as undone or not."""
        if (found := self.get(id)) is not None:
            self._history.write(id, _packed(replace(found, undone=undone)), _DONE)

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
        for entry in self._history.entries(_DONE):
            record = self._read(entry.id, _DONE)
            if record is None:  # whatever it holds, nobody can say that it is not this
                self._history.delete(entry.id, _DONE)
            elif (clean := _without(record, keys, paths)) is not record:
                self._history.write(entry.id, _packed(clean), _DONE)

    def _newest(self, ending: str) -> Iterator[Record]:
        for entry in self._history.entries(ending):
            if (found := self._read(entry.id, ending)) is not None:
                yield found

    def _read(self, id: str, ending: str) -> Record | None:
        try:
            data = self._history.read(id, RECORD_LIMIT_BYTES, ending)
            return None if data is None else convert(json.loads(data), Record)
        except (HubError, OSError, ValidationError, ValueError, RecursionError) as error:
            _log.warning("the record %s of a change to memory cannot be read and is left out: %s", id, error)
            return None


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
