"""The seam between conversations and the place that keeps their transcripts, and its usual form: files of the home."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

from hub.core.errors import InvalidRequest, NotFound, Unavailable
from hub.sessions.entry import Header, TranscriptEntry
from hub.sessions.keys import is_incognito
from hub.sessions.session import Session
from hub.sessions.transcript import Redact, Transcript
from hub.sessions.transcript_file import (
    HEADER_LIMIT_BYTES,
    TranscriptReading,
    key_in,
    move_to_deleted,
    read_lines,
    transcripts_of,
)
from hub.storage.homedir import Home
from hub.storage.said_index import IndexedLine, IndexedTranscript

if TYPE_CHECKING:
    from hub.sessions.said import SaidSoFar


IN_THREAD_BYTES = 512 * 1024
"""A transcript beyond this is read in a thread, where the caller can wait for it."""


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


class TranscriptFiles:
    """The transcripts of a home in its folder; see `TranscriptStore`.

    Args:
        home: Paths of the home directory.
    """

    def __init__(self, home: Home) -> None:
        self._home = home

    def path(self, agent_id: str, session_id: str) -> Path:
        """Return the path of a transcript; made only of the agent's id and our own id.

        Raises:
            InvalidRequest: It is not such an id.
        """
        check_session_id(session_id)
        return self._home.sessions(agent_id) / f"{session_id}.jsonl"

    def place(self, agent_id: str, session_id: str) -> str:
        """Return the path of a transcript."""
        return str(self.path(agent_id, session_id))

    async def open(self, agent_id: str, header: Header, redact: Redact | None) -> Transcript:
        """Open a transcript; a large one is read in a thread, so that nothing else waits."""
        path, loaded = self.path(agent_id, header.session_id), None
        with _told(path):
            if path.exists() and path.stat().st_size >= IN_THREAD_BYTES:
                loaded = await asyncio.to_thread(_read, path)
        return Transcript.open(path, session_id=header.session_id, key=header.key, redact=redact, reading=loaded)

    async def read(self, agent_id: str, session_id: str) -> TranscriptReading | None:
        """Read a transcript without changing anything; None if there is none."""
        path = self.path(agent_id, session_id)
        with _told(path):
            try:
                return await asyncio.to_thread(_read, path)
            except FileNotFoundError:
                return None

    async def tail(self, agent_id: str, session_id: str, count: int) -> Sequence[TranscriptEntry] | None:
        """Return the last messages of a long transcript, read from its end."""
        from hub.sessions.tail import read_tail

        path = self.path(agent_id, session_id)
        with _told(path):
            if path.exists() and path.stat().st_size > IN_THREAD_BYTES:
                return await asyncio.to_thread(read_tail, path, count)
        return None

    async def put_away(self, agent_id: str, key: str, present: Callable[[], str | None]) -> None:
        """Move a session's transcripts to `deleted/` beside the others; incognito ones are deleted."""
        try:
            found = set(await asyncio.to_thread(transcripts_of, self._home.sessions(agent_id), key))
            if (session_id := present()) is None:
                return
            path = self.path(agent_id, session_id)
            for each in found | {path} if path.exists() else found:
                each.unlink() if is_incognito(key) else move_to_deleted(each)
        except OSError as error:
            raise Unavailable(f"the transcript {error.filename} cannot be moved: {error.strerror}") from error

    async def forget(self, agent_id: str, key: str, present: Callable[[], str | None]) -> None:
        """Delete a session's transcripts, but for the one whose id `present` returns."""

        def delete() -> None:
            for path in transcripts_of(folder, key):
                if path.stem != present():
                    path.unlink(missing_ok=True)

        folder = self._home.sessions(agent_id)
        with _told(folder, "deleted"):
            await asyncio.to_thread(delete)

    async def remove(self, agent_id: str, session_id: str) -> None:
        """Delete a transcript, if there is one."""
        await self.discard(self.path(agent_id, session_id))

    async def agents_by_id(self) -> dict[str, str]:
        """Return the agent of every transcript that was not put away, by id."""
        return await asyncio.to_thread(self._agents_by_id)

    async def said_since(self, agent_id: str, session_id: str, known: IndexedTranscript | None) -> SaidSoFar | None:
        """Read on in a transcript's file; None if there is nothing new."""
        from hub.sessions.said import read_said

        path = self._home.sessions(agent_id) / f"{session_id}.jsonl"
        with _told(path):
            try:
                return await asyncio.to_thread(read_said, path, agent_id, known)
            except FileNotFoundError as error:
                raise NotFound(f"there is no transcript {path}") from error

    async def lines(self, wanted: Sequence[tuple[str, IndexedLine]]) -> list[bytes | None]:
        """Return indexed lines, each given with its agent; None for one that is gone."""
        places = [(self._home.sessions(agent_id) / f"{line.session_id}.jsonl", line) for agent_id, line in wanted]
        return await asyncio.to_thread(lambda: [_piece(path, line) for path, line in places])

    async def stored(self, sessions: Mapping[str, Session]) -> list[StoredFile]:
        """Return all files of conversations."""
        return await asyncio.to_thread(self._stored, sessions)

    async def discard(self, path: Path) -> None:
        """Delete a file that `stored` returned."""
        with _told(path, "deleted"):
            await asyncio.to_thread(path.unlink, missing_ok=True)

    # -- below: in threads ---------------------------------------------------------------------------------------------

    def _agents_by_id(self) -> dict[str, str]:
        return {
            path.stem: path.parent.parent.name
            for path in self._home.agents.glob("*/sessions/*.jsonl")
            if path.stem.isalnum()
        }

    def _stored(self, sessions: Mapping[str, Session]) -> list[StoredFile]:
        keys = frozenset(each.key for each in sessions.values())
        found = (_stored_file(path, sessions, keys) for path in self._home.agents.glob("*/sessions/**/*"))
        return [each for each in found if each is not None]


def check_session_id(session_id: str) -> None:
    """Check that a text may be the id of a transcript.

    Raises:
        InvalidRequest: It may not.
    """
    if not session_id.isascii() or not session_id.isalnum() or len(session_id) > 64:
        raise InvalidRequest(f"{session_id!r:.80} is not the id of a session")


@contextmanager
def _told(path: Path, done: str = "read") -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise Unavailable(f"{path} cannot be {done}: {error.strerror}") from error


def _read(path: Path) -> TranscriptReading:
    return read_lines(path.read_bytes())


def _piece(path: Path, line: IndexedLine) -> bytes | None:
    try:
        with path.open("rb") as file:
            file.seek(line.begin_bytes)
            return file.read(line.size_bytes)
    except OSError:
        return None


def _stored_file(path: Path, sessions: Mapping[str, Session], keys: Collection[str]) -> StoredFile | None:
    if path.parent.name == "deleted" or ".jsonl.damaged-" in path.name:
        return stored_file(path, StoredKind.DELETED)
    if path.suffix != ".jsonl":
        return stored_file(path, StoredKind.KEPT)
    if (session := sessions.get(path.stem)) is not None:
        return stored_file(path, kind_of(session), session.key, session.updated_ms)
    try:
        with path.open("rb") as file:
            key = key_in(file.readline(HEADER_LIMIT_BYTES))
    except OSError:
        return None
    # Of a session whose row could not be read, nothing goes.
    return stored_file(path, StoredKind.PAST if key in keys else StoredKind.KEPT, key)


def stored_file(path: Path, kind: StoredKind, key: str = "", changed_ms: int | None = None) -> StoredFile | None:
    """Return a file with its size; None for a folder, or when it went meanwhile."""
    try:
        facts = path.stat()
    except OSError:
        return None
    if not path.is_file():
        return None
    changed_ms = facts.st_mtime_ns // 1_000_000 if changed_ms is None else changed_ms
    return StoredFile(path, kind, facts.st_size, changed_ms, key)
