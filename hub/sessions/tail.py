"""The last messages of a long transcript, read from the end of its file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hub.sessions.entry import TranscriptEntry, read_entry

FIRST_BYTES = 256 * 1024
"""So much of the end is read first, and four times as much whenever that is not enough."""


def read_tail(path: Path, count: int, taken: int = FIRST_BYTES) -> list[TranscriptEntry] | None:
    """Return the last messages of a transcript's current branch; None if the file must be opened for that.

    Args:
        path: Its file.
        count: How many messages.
        taken: How many bytes of the end are read first.

    Raises:
        OSError: The disk cannot be read.
    """
    size = path.stat().st_size
    with path.open("rb") as file:
        while taken < size:
            file.seek(size - taken)
            lines = file.read(taken).split(b"\n")
            if lines.pop():  # its end is torn, or just being written
                return None
            found = last_of(lines[1:], count)
            if found is None or len(found) == count:
                return found
            taken *= 4
    return None


def last_of(lines: Sequence[bytes], count: int) -> list[TranscriptEntry] | None:
    """Follow the parents from the last line on; None where a line cannot be read."""
    found: list[TranscriptEntry] = []
    wanted: str | None = None
    for line in reversed(lines):
        entry = read_entry(line)
        if entry is None:
            return None
        if wanted is not None and entry.id != wanted:
            continue  # of another branch
        wanted = entry.parent_id
        if entry.message is not None:
            found.append(entry)
        if len(found) == count or wanted is None:
            break
    found.reverse()
    return found
