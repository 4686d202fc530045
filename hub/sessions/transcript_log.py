"""What a transcript needs of the place that keeps it, and what can be read there."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import Protocol

from msgspec import Struct, field

from hub.core.errors import HubError
from hub.core.sql import SqlConnection
from hub.sessions.entry import Header, TranscriptEntry


class NewerTranscript(HubError):
    """A newer program wrote this transcript, in a form this one does not understand."""

    code = "NEWER_FORMAT"
    http_status = 500


class TranscriptReading(Struct):
    """What a transcript holds.

    Attributes:
        header: Its first line, when that is readable.
        entries: The readable entries, in order; of several with one id, the first.
        good: The readable lines, unchanged, with the header.
        damaged: The unreadable lines.
        torn: Whether only the end is damaged: an append that did not finish.
        unended: Whether the last line is whole but lacks its newline.
        size_bytes: The size of all lines.
    """

    header: Header | None = None
    entries: list[TranscriptEntry] = field(default_factory=list)
    good: list[bytes] = field(default_factory=list)
    damaged: list[bytes] = field(default_factory=list)
    torn: bool = False
    unended: bool = False
    size_bytes: int = 0


class PendingSync(Protocol):
    """What is still missing before everything appended is durable: call it once, or drop it."""

    def __call__(self, connection: SqlConnection) -> None:
        """Make it durable, or part of the transaction of `connection`; called in the thread of a database.

        Raises:
            Unavailable: The disk failed.
        """
        ...

    def drop(self) -> None:
        """Release it, whether it was called or not."""
        ...


class TranscriptLog(Protocol):
    """The one writer of one transcript."""

    @property
    def flush(self) -> Callable[[], Awaitable[None]] | None:
        """Returns once everything appended survives the death of this process; None where `append` does that."""
        ...

    def append(self, entries: Iterable[TranscriptEntry]) -> None:
        """Take entries in order, after all others.

        Raises:
            Unavailable: None of them was taken.
        """
        ...

    async def sync(self) -> None:
        """Return once everything appended is durable.

        Raises:
            Unavailable: It is not.
        """
        ...

    def begin_sync(self) -> PendingSync | None:
        """Return what makes everything appended durable; None if it is already.

        Raises:
            Unavailable: The disk failed.
        """
        ...

    def close(self) -> None:
        """Release what it holds; the next append takes it again."""
        ...
