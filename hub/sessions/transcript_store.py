"""The seam between conversations and the place that keeps their transcripts: files of the home, or a table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Protocol

from msgspec import Struct

from hub.sessions.entry import Header, TranscriptEntry
from hub.sessions.said import SaidSoFar
from hub.sessions.session import Session
from hub.sessions.transcript import Redact, Transcript
from hub.sessions.transcript_log import TranscriptReading
from hub.storage.said_index import IndexedLine, IndexedTranscript


class StoredKind(StrEnum):
    """The kind of a stored file; pruned in this order."""

    DELETED = "deleted"
    """Of a deleted session, or set aside because it was damaged."""
    RESULT = "result"
    """A long result of a tool."""
    PAST = "past"
    """A transcript from before a reset."""
    ARCHIVED = "archived"
    """The transcript of a session that is archived, and not pinned."""
    KEPT = "kept"
    """Anything else; it never goes."""


class StoredFile(Struct, frozen=True):
    """A file of conversations, or a transcript that is named as if it were one.

    Attributes:
        path: The file.
        kind: Its kind.
        size_bytes: Its size.
        changed_ms: When anything last happened in it, milliseconds since the epoch.
        key: The session of a past or archived transcript.
    """

    path: Path
    kind: StoredKind
    size_bytes: int
    changed_ms: int
    key: str = ""


class TranscriptStore(Protocol):
    """The transcripts of a home. A transcript is named by its agent and its own id.

    All methods raise Unavailable where the disk, or the database, does not answer.
    """

    def place(self, agent_id: str, session_id: str) -> str:
        """Return where a transcript is, for people."""
        ...

    async def open(self, agent_id: str, header: Header, redact: Redact | None) -> Transcript:
        """Return a transcript, which need not exist yet; damaged lines are set aside.

        Raises:
            NewerTranscript: A newer program wrote it; it is left unchanged.
        """
        ...

    async def read(self, agent_id: str, session_id: str) -> TranscriptReading | None:
        """Read a transcript without changing anything; None if there is none."""
        ...

    async def tail(self, agent_id: str, session_id: str, count: int) -> Sequence[TranscriptEntry] | None:
        """Return the last messages of a long transcript's current branch, oldest first; None if it must be opened."""
        ...

    async def put_away(self, agent_id: str, key: str, present: Callable[[], str | None]) -> None:
        """Put a session's transcripts aside, also those from before its resets; incognito ones are deleted.

        Args:
            agent_id: Its agent.
            key: The session.
            present: Returns the id of its present transcript; None when the session went meanwhile.
        """
        ...

    async def forget(self, agent_id: str, key: str, present: Callable[[], str | None]) -> None:
        """Delete a session's transcripts, but for the one whose id `present` returns."""
        ...

    async def remove(self, agent_id: str, session_id: str) -> None:
        """Delete a transcript, if there is one."""
        ...

    async def agents_by_id(self) -> dict[str, str]:
        """Return the agent of every transcript that was not put away, by id."""
        ...

    async def said_since(self, agent_id: str, session_id: str, known: IndexedTranscript | None) -> SaidSoFar | None:
        """Read on in a transcript for the search index; None if there is nothing new.

        Raises:
            NotFound: There is no such transcript.
        """
        ...

    async def lines(self, wanted: Sequence[tuple[str, IndexedLine]]) -> list[bytes | None]:
        """Return indexed lines, each given with its agent; None for one that is gone."""
        ...

    async def stored(self, sessions: Mapping[str, Session]) -> list[StoredFile]:
        """Return all transcripts with their sizes, for pruning.

        Args:
            sessions: The sessions there are, by the id of their present transcript.
        """
        ...

    async def discard(self, path: Path) -> None:
        """Delete a transcript that `stored` returned, also once it was put away."""
        ...


def kind_of(session: Session) -> StoredKind:
    """Return the kind of a session's present transcript."""
    return StoredKind.ARCHIVED if session.archived and not session.pinned else StoredKind.KEPT
