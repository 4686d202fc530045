"""Undo of a change of memory files: the files without it, and the record of the undo. Pure."""

from __future__ import annotations

from hub.core.errors import Conflict
from integrations.memory.notes.files.history import FileChange, Record
from integrations.memory.notes.files.journal import text_before
from integrations.memory.notes.files.memory_files import Draft, hash_of
from integrations.memory.notes.files.patches import Hunk, PatchConflict, without_change

TOOK_BACK, BROUGHT_BACK = "took back: ", "brought back: "


def undo_change(file: FileChange, now: str | None) -> Draft:
    """Return a file without one of its changes.

    Raises:
        Conflict: What was changed is not there as it was.
    """
    try:
        if hash_of(now) == file.after:
            return Draft(file.path, now, text_before(file, now))
        if now is None or file.after is None or file.hunks is None:
            raise PatchConflict
        hunks = file.hunks if file.before is not None else tuple(_without_title(hunk) for hunk in file.hunks)
        return Draft(file.path, now, without_change(now, hunks))
    except PatchConflict:
        raise Conflict(
            f"{file.path} was changed again since, where this change was; nothing was undone. Edit it by hand",
            details={"path": file.path},
        ) from None


def summary_of_undoing(record: Record) -> str:
    """Return the record of an undo; undoing it restores the change."""
    if record.undoes is None:
        return f"{TOOK_BACK}{record.summary}"
    if record.summary.startswith(TOOK_BACK):
        return f"{BROUGHT_BACK}{record.summary.removeprefix(TOOK_BACK)}"
    return f"{TOOK_BACK}{record.summary.removeprefix(BROUGHT_BACK)}"


def _without_title(hunk: Hunk) -> Hunk:
    """Return a new file's first content, without the headings that cover later additions."""
    lines = list(hunk.after)
    while lines and (not lines[0].strip() or lines[0].startswith("#")):
        del lines[0]
    while lines and not lines[-1].strip():
        del lines[-1]
    if not lines:
        raise PatchConflict
    return Hunk(0, 0, (), tuple(lines))
