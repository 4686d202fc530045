"""Transcripts in memory only, for runs whose caller keeps the conversation."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from msgspec.structs import replace

from hub.models.contract import Message, Role
from hub.sessions.entry import Header, Provenance, TranscriptEntry, message_entry
from hub.sessions.transcript import Transcript
from hub.sessions.transcript_file import TranscriptFile


class NoFile(TranscriptFile):
    """A transcript file that writes nothing."""

    def __init__(self) -> None:
        super().__init__(Path("/nonexistent"), Header("ephemeral", "ephemeral"))

    def append(self, entries: Iterable[TranscriptEntry]) -> None:
        """Discard the entries without encoding them."""

    def begin_sync(self) -> None:
        """Do nothing: there is no file to sync."""


def ephemeral_transcript(
    history: Iterable[Message | TranscriptEntry],
    redact: Callable[[str], str],
    *,
    trusted: bool,
    owner: bool = False,
) -> Transcript:
    """Return a transcript that begins with `history` and never reaches the disk.

    Args:
        history: The conversation so far, as sent by the caller.
        redact: Takes secrets out of what is added.
        trusted: Whether the caller belongs to this home.
        owner: Whether the caller is the owner, whose tools' results are not words from outside.
    """
    entries: list[TranscriptEntry] = []
    for message in history:
        parent = entries[-1].id if entries else None
        if isinstance(message, TranscriptEntry):
            entries.append(replace(message, parent_id=parent))
            continue
        provenance = Provenance(trusted and (owner or message.role is not Role.TOOL), "history")
        entries.append(message_entry(message, 0, parent_id=parent, provenance=provenance))
    return Transcript(NoFile(), entries, redact)
