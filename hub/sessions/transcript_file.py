"""What a transcript needs of the place that keeps it, and its file, the usual one.

The file: reads what is intact, sets damaged lines aside, appends whole lines.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from pathlib import Path
from threading import Event
from typing import Any, Protocol

import orjson
from msgspec import Struct, field

from hub.core.durable import sync_directory, write_all, write_new
from hub.core.errors import HubError, Unavailable
from hub.core.sql import SqlConnection
from hub.sessions.entry import FORMAT_VERSION, Header, TranscriptEntry, encode_line, read_entry

_log = logging.getLogger(__name__)

HEADER_LIMIT_BYTES = 8_192


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
    """What is still missing before everything appended is durable: call it, or drop it."""

    def __call__(self, connection: SqlConnection) -> None:
        """Make it durable, or part of the transaction of `connection`; called in the thread of a database.

        Raises:
            Unavailable: The disk failed.
        """
        ...

    def kept(self) -> None:
        """Note that the transaction it was called in is durable."""
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


def read_lines(data: bytes) -> TranscriptReading:
    """Read a transcript's bytes; never raises, whatever they are."""
    found = TranscriptReading(size_bytes=len(data))
    lines = data.split(b"\n")
    tail = lines.pop()
    seen: set[str] = set()
    for number, line in enumerate([*lines, tail]):
        is_tail = number == len(lines)
        if not line:
            continue
        parsed = parse_line(line)
        if isinstance(parsed, Header) and found.header is None and not found.entries:
            found.header = parsed
        elif isinstance(parsed, TranscriptEntry):
            if parsed.id not in seen:
                seen.add(parsed.id)
                found.entries.append(parsed)
        else:
            found.torn = is_tail and not found.damaged
            found.damaged.append(line)
            continue
        found.good.append(line)
        found.unended = is_tail
    return found


def key_in(line: bytes) -> str:
    """Return the session key in the first line of a transcript; "" when there is none."""
    header = parse_line(line)
    return header.key if isinstance(header, Header) else ""


def transcripts_of(folder: Path, key: str) -> list[Path]:
    """Return the transcripts in a folder that belong to a session, those from before its resets too; blocks.

    Raises:
        OSError: The folder or a file cannot be read.
    """
    found = []
    for path in folder.glob("*.jsonl"):
        with suppress(FileNotFoundError), path.open("rb") as file:  # it may go meanwhile
            if key_in(file.readline(HEADER_LIMIT_BYTES)) == key:
                found.append(path)
    return found


def move_to_deleted(path: Path) -> None:
    """Move a transcript to `deleted/` beside the others."""
    aside = path.parent / "deleted" / path.name
    aside.parent.mkdir(mode=0o700, exist_ok=True)
    os.replace(path, aside)


def parse_line(line: bytes) -> Header | TranscriptEntry | None:
    """Read one line of a transcript; None when it is damaged."""
    if (entry := read_entry(line)) is not None:
        return entry
    try:
        stored: Any = orjson.loads(line)
        if stored["type"] == "header":
            version = stored["version"]
            if isinstance(version, bool) or not isinstance(version, int):
                return None
            return Header(str(stored["session_id"]), str(stored["key"]), version)
        return TranscriptEntry.from_dict(stored)
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError):
        return None


class TranscriptFile:
    """The one writer of one transcript file.

    The file appears with its first entry. Its descriptor is opened when it is needed and stays open until `close`.

    Args:
        path: Its path.
        header: Its first line, for a file that has none yet or a damaged one.
    """

    flush = None
    """What is appended is the operating system's already."""

    def __init__(self, path: Path, header: Header) -> None:
        self.path = path
        self._header = header
        self._fd: int | None = None
        self._size = 0
        self._is_named = Event()

    def load(self, found: TranscriptReading | None = None) -> tuple[list[TranscriptEntry], Path | None]:
        """Load the file, and set damaged lines aside.

        Args:
            found: What `read_lines` found in it, when it was read already.

        Returns:
            The entries, and the file that damaged lines were moved to, if there were any.

        Raises:
            NewerTranscript: A newer program wrote it; it is left unchanged.
            Unavailable: The disk cannot be read or written.
        """
        try:
            if found is None:
                found = read_lines(self.path.read_bytes() if self.path.exists() else b"")
            if found.damaged and found.header is not None and found.header.version > FORMAT_VERSION:
                raise NewerTranscript(
                    f"{self.path} has format version {found.header.version}; this program knows {FORMAT_VERSION}. "
                    "Update Homarus, or move the file away to start this session over.",
                    details={"path": str(self.path), "version": found.header.version},
                )
            return found.entries, self._mend(found)
        except OSError as error:
            raise Unavailable(f"the transcript {self.path} cannot be read: {error.strerror}") from error

    def append(self, entries: Iterable[TranscriptEntry]) -> None:
        """Write entries as whole lines at the end and pass them to the operating system.

        Raises:
            Unavailable: The disk did not take them; none of them is in the file then.
        """
        data = b"".join([encode_line(entry.as_dict()) for entry in entries])
        try:
            write_all(self._open() if self._fd is None else self._fd, data)
            self._size += len(data)
        except OSError as error:
            self._undo()
            raise Unavailable(f"the transcript {self.path} cannot be written: {error.strerror}") from error

    async def sync(self) -> None:
        """Return once everything appended is on the disk.

        Raises:
            Unavailable: The disk failed.
        """
        if (waiting := self.begin_sync()) is not None:
            try:
                await asyncio.get_running_loop().run_in_executor(None, waiting)
            finally:
                waiting.drop()

    def begin_sync(self) -> FileSync | None:
        """Return a function that waits until everything appended is on disk; None if nothing is pending.

        Raises:
            Unavailable: The file cannot be opened.
        """
        if self._fd is None and not self.path.exists():
            return None
        try:
            return FileSync(self.path, os.dup(self._open() if self._fd is None else self._fd), self._is_named)
        except OSError as error:
            raise Unavailable(f"the transcript {self.path} cannot be synced: {error.strerror}") from error

    def close(self) -> None:
        """Close the descriptor; the next append opens the file again."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def _open(self) -> int:
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._fd = descriptor = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self._size = os.fstat(descriptor).st_size
        if self._size == 0:
            line = encode_line(self._header.as_dict())
            write_all(descriptor, line)
            self._size = len(line)
        return descriptor

    def _undo(self) -> None:
        """Remove the partial line that a full disk left."""
        if self._fd is None:
            return
        try:
            os.ftruncate(self._fd, self._size)
        except OSError as error:
            # The rest is a torn line, which the next open sets aside.
            _log.warning("%s: a half-written line could not be removed: %s", self.path, error.strerror)
        self.close()

    def _mend(self, found: TranscriptReading) -> Path | None:
        if not found.damaged:
            if found.unended:
                self._end_line()
            if found.entries and found.header is None:
                self._rewrite(found)
            return None
        aside = _set_aside(self.path, found.damaged)
        _log.warning(
            "%s: %d damaged line(s) were moved to %s; the other %d entries are used",
            self.path,
            len(found.damaged),
            aside.name,
            len(found.entries),
        )
        if found.torn and found.header is not None:
            os.truncate(self.path, found.size_bytes - len(found.damaged[0]))
            return aside
        self._rewrite(found)
        return aside

    def _end_line(self) -> None:
        descriptor = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
        try:
            write_all(descriptor, b"\n")
        finally:
            os.close(descriptor)

    def _rewrite(self, found: TranscriptReading) -> None:
        self.close()
        good = found.good if found.header is not None else [encode_line(self._header.as_dict()).rstrip(), *found.good]
        fresh = self.path.with_name(f"{self.path.name}.tmp")
        fresh.unlink(missing_ok=True)
        write_new(fresh, b"".join(line + b"\n" for line in good))
        os.replace(fresh, self.path)
        sync_directory(self.path.parent)


def _set_aside(path: Path, damaged: list[bytes]) -> Path:
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    for attempt in range(1_000):
        aside = path.with_name(f"{path.name}.damaged-{stamp}" + (f"-{attempt}" if attempt else ""))
        try:
            write_new(aside, b"\n".join(damaged) + b"\n")
        except FileExistsError:
            continue
        sync_directory(path.parent)
        return aside
    raise Unavailable(f"there are a thousand damaged files beside {path}; move them away")


class FileSync:
    """A pending sync of a file: call it once, in any thread, or drop it.

    Args:
        path: The file.
        descriptor: A duplicate of the file's own, which may be closed meanwhile.
        is_named: Set once the disk has the file's name.
    """

    def __init__(self, path: Path, descriptor: int, is_named: Event) -> None:
        self._path = path
        self._own = [descriptor]
        self._is_named = is_named

    def __call__(self, connection: SqlConnection | None = None) -> None:
        """Return when the disk has the file; a database's transaction waits for it and has no part in it.

        Raises:
            Unavailable: The disk failed.
        """
        descriptor = self._own.pop()
        try:
            os.fdatasync(descriptor)
            if not self._is_named.is_set():
                sync_directory(self._path.parent)
                self._is_named.set()
        except OSError as error:
            raise Unavailable(f"the transcript {self._path} cannot be synced: {error.strerror}") from error
        finally:
            os.close(descriptor)

    def kept(self) -> None:
        """Do nothing: the disk has it."""

    def drop(self) -> None:
        """Cancel it, unless it was called."""
        with suppress(IndexError):
            os.close(self._own.pop())
