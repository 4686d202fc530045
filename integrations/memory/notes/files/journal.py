"""Changes of memory files, each with a record to show and undo it. Everything here blocks."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

from hub.core.errors import Conflict, Unavailable
from integrations.memory.notes.files.history import CREATED_LIMIT, SUMMARY_LIMIT, FileChange, Record, Records
from integrations.memory.notes.files.memory_files import Draft, MemoryFiles, StaleWrite, hash_of
from integrations.memory.notes.files.patches import Hunk, PatchConflict, hunks_between, undo_exactly

_log = logging.getLogger(__name__)

ATTEMPTS = 5


class Journal:
    """Changes the files of one workspace; one call at a time.

    Args:
        files: The files.
        history: The records.
        now_ms: Milliseconds since the epoch.
    """

    def __init__(self, files: MemoryFiles, history: Records, now_ms: Callable[[], int]) -> None:
        self.files = files
        self.history = history
        self._now_ms = now_ms
        self._healed = False

    def change(
        self, drafts: Sequence[Draft], *, reason: str, who: str, summary: str, undoes: str | None = None
    ) -> Record:
        """Change files together: all or none.

        Raises:
            StaleWrite: A file has changed; nothing was written.
            HubError, OSError: They cannot be written; nothing was.
        """
        self.heal()
        real = [draft for draft in drafts if draft.before != draft.after]
        record = self._record(real, reason, who, summary, undoes)
        if not real:
            return record
        self.history.begin(record)
        try:
            self.files.replace(real, record.id)
        except BaseException:
            if self._is_begun(record):
                self._healed = False  # what was written could not be put back: done as soon as it can be
            else:
                self.history.cancel(record)
            raise
        self.history.finish(record)
        return record

    def rework(
        self, make: Callable[[], tuple[Mapping[str, tuple[str | None, str | None]], str]], *, reason: str, who: str
    ) -> Record:
        """Change files by a function of their present texts; repeated if somebody else wrote in between.

        Args:
            make: Returns old and new text by path, and a line on what that is.

        Raises:
            Unavailable: Somebody writes to them all the time.
        """
        for _ in range(ATTEMPTS):
            texts, summary = make()
            drafts = [Draft(path, before, after) for path, (before, after) in texts.items()]
            try:
                return self.change(drafts, reason=reason, who=who, summary=summary)
            except StaleWrite as stale:
                path = stale.path
        raise Unavailable(f"{path} is being written by somebody else; try again", retry_after_s=1.0)

    def forget(self, drafts: Sequence[Draft], *, who: str) -> Record:
        """Change files without keeping their former texts.

        Raises:
            Conflict: One of them changed meanwhile; nothing was forgotten.
        """
        count = len(drafts)
        summary = f"forgot something in {drafts[0].path}" if count == 1 else f"forgot something in {count} files"
        try:
            return self.change(drafts, reason="forget", who=who, summary=summary)
        except StaleWrite as stale:
            raise Conflict(f"{stale.path} changed meanwhile; nothing in it was forgotten") from stale

    def heal(self) -> None:
        """Undo interrupted changes; files that were changed since are left as they are."""
        if self._healed:
            return
        for record in self.history.pending():
            self.files.clear([Draft(file.path, None, None) for file in record.files], record.id)
            for file in record.files:
                self._put_back(file)
            self.history.cancel(record)
            _log.warning("a change to memory (%s) that was cut off was taken back: %s", record.reason, record.id)
        self._healed = True

    def _put_back(self, file: FileChange) -> None:
        now = self.files.text(file.path)
        if hash_of(now) == file.after and (file.before is None or file.hunks is not None):
            with suppress(PatchConflict):
                self.files.put_back(Draft(file.path, text_before(file, now), now))

    def _is_begun(self, record: Record) -> bool:
        return any(hash_of(self.files.text(file.path)) == file.after for file in record.files)

    def _record(self, drafts: Sequence[Draft], reason: str, who: str, summary: str, undoes: str | None) -> Record:
        files = tuple(
            FileChange(draft.path, hash_of(draft.before), hash_of(draft.after), _hunks(draft, reason))
            for draft in drafts
        )
        time_ms = self._now_ms()
        return Record(self.history.new_id(time_ms), time_ms, reason, _line(who), _line(summary), files, undoes=undoes)


def text_before(file: FileChange, now: str | None) -> str | None:
    """Return a file's exact text before a change; `now` is its text after it.

    Raises:
        PatchConflict: It is not, or the change is no longer kept.
    """
    if file.before is None:
        return None
    if file.hunks is None:
        raise PatchConflict
    before = "\n".join(file.hunks[0].before) if file.after is None else undo_exactly(now or "", file.hunks)
    if hash_of(before) != file.before:
        raise PatchConflict
    return before


def _hunks(draft: Draft, reason: str) -> tuple[Hunk, ...] | None:
    if reason == "forget" or (draft.before is None and len(draft.after or "") > CREATED_LIMIT):
        return None
    if draft.before is None or draft.after is None:
        # As a whole: an empty file and none are not the same.
        before = () if draft.before is None else tuple(draft.before.split("\n"))
        after = () if draft.after is None else tuple(draft.after.split("\n"))
        return (Hunk(0, 0, before, after),)
    return hunks_between(draft.before, draft.after)


def _line(text: str) -> str:
    plain = " ".join(text.split())
    return plain if len(plain) <= SUMMARY_LIMIT else f"{plain[: SUMMARY_LIMIT - 1]}…"
