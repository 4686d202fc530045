"""A transcript: the append-only tree of one session's entries, and the only access to what keeps it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from operator import is_
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from hub.core.errors import InvalidRequest
from hub.models.contract import Block, Image, Message, TextBlock, Thinking, ToolCallBlock
from hub.sessions.entry import EntryType, Header, Provenance, TranscriptEntry
from hub.sessions.repair import interrupted_result, pair_results, pending_calls
from hub.sessions.transcript_file import PendingSync, TranscriptFile, TranscriptLog, TranscriptReading

Redact = Callable[[str], str]


class Transcript:
    """The entries of one session, in memory and in its log.

    All methods are called from the event loop's thread. Nobody else writes to the log.

    Attributes:
        leaf: The entry that the next one is attached to.
        get: Returns an entry by its id, or None.
        set_aside: The file that damaged lines were moved to at open, if there were any.
    """

    def __init__(self, log: TranscriptLog, entries: list[TranscriptEntry], redact: Redact | None = None) -> None:
        self._log = log
        self._redact = redact
        self._entries = entries
        self._by_id = {entry.id: entry for entry in entries}
        self.get: Callable[[str], TranscriptEntry | None] = self._by_id.get
        self._parents = _parents(entries)
        self._branch: list[TranscriptEntry] | None = None
        self.leaf = entries[-1] if entries else None
        self.set_aside: Path | None = None

    @classmethod
    def open(
        cls,
        path: Path,
        *,
        session_id: str = "",
        key: str = "",
        redact: Redact | None = None,
        reading: TranscriptReading | None = None,
    ) -> Transcript:
        """Open a transcript's file, setting damaged lines aside.

        Args:
            path: Its file, which need not exist yet.
            session_id: For the header of a new file; the file's stem without one.
            key: Session key, for the header.
            redact: Takes secrets out of what is written.
            reading: What `read_lines` found in it, when it was read already.

        Raises:
            NewerTranscript: A newer program wrote it.
            Unavailable: The disk cannot be read or written.
        """
        file = TranscriptFile(path, Header(session_id or path.stem, key))
        entries, aside = file.load(reading)
        transcript = cls(file, entries, redact)
        transcript.set_aside = aside
        return transcript

    def entries(self) -> list[TranscriptEntry]:
        """Return all entries of the tree, oldest first."""
        return list(self._entries)

    def branch(self) -> list[TranscriptEntry]:
        """Return the entries from the root to the current leaf."""
        return list(self._current_branch())

    def messages(self) -> list[Message]:
        """Return the conversation as a model may be sent it: the current branch, every tool call with its result."""
        return pair_results(self._said())

    def pending_tool_calls(self) -> list[ToolCallBlock]:
        """Return the tool calls of the current branch that have no result, oldest first."""
        return pending_calls(self._said())

    async def append(
        self, entries: TranscriptEntry | Iterable[TranscriptEntry], *, sync: bool = False, deferred: bool = False
    ) -> list[TranscriptEntry]:
        """Write entries after the current leaf, or after their `parent_id`; an existing id is skipped.

        They survive the death of this process when this returns.

        Args:
            entries: The entries to write, in order.
            sync: Whether to wait until they survive a power failure too.
            deferred: Whether to leave it to `begin_sync`, which is called next and makes them durable.

        Returns:
            The entries as stored, with their parents filled in.

        Raises:
            InvalidRequest: A `parent_id` names no entry.
            Unavailable: They could not be written. A file has none of them then; a table's are written with the next.
        """
        stored = self._append([entries] if isinstance(entries, TranscriptEntry) else entries)
        if sync:
            await self._log.sync()
        elif self._log.flush is not None and not deferred:
            await self._log.flush()
        return stored

    async def sync(self) -> None:
        """Return once everything appended so far is on the disk."""
        await self._log.sync()

    def begin_sync(self) -> PendingSync | None:
        """Return what makes everything appended durable, in the thread of a database; None if it is already.

        Raises:
            Unavailable: The disk failed.
        """
        return self._log.begin_sync()

    async def repair(self, *, ts_ms: int | None = None) -> list[TranscriptEntry]:
        """Add a substitute result for every unanswered tool call of the current branch, on disk.

        Repairing twice writes nothing twice.

        Args:
            ts_ms: When; now without one.

        Returns:
            The entries that were written.
        """
        missing = []
        ts_ms = time.time_ns() // 1_000_000 if ts_ms is None else ts_ms
        for owner, number, call in self._calls_without_result():
            missing.append(
                TranscriptEntry(
                    EntryType.MESSAGE,
                    ts_ms,
                    message=interrupted_result(call),
                    id=f"{owner.id}-{number}-interrupted",
                    run_id=owner.run_id,
                    inbox_id=owner.inbox_id,
                    provenance=Provenance(trusted=True, who="repair"),
                )
            )
        fresh = [entry for entry in missing if entry.id not in self._by_id]
        return await self.append(fresh, sync=True) if fresh else []

    def close(self) -> None:
        """Release what the log holds; the next append takes it again."""
        self._log.close()

    def _append(self, entries: Iterable[TranscriptEntry]) -> list[TranscriptEntry]:
        stored: list[TranscriptEntry] = []
        fresh: dict[str, TranscriptEntry] = {}
        leaf = self.leaf
        for entry in entries:
            known = self._by_id.get(entry.id) or fresh.get(entry.id)
            if known is not None:
                stored.append(known)
                continue
            if entry.parent_id is not None and entry.parent_id not in self._by_id and entry.parent_id not in fresh:
                raise InvalidRequest(f"the transcript has no entry {entry.parent_id}, the parent of {entry.id}")
            if entry.parent_id is None and leaf is not None:
                entry = replace(entry, parent_id=leaf.id)  # noqa: PLW2901  what is stored is what is returned
            if self._redact is not None:
                entry = _redacted(entry, self._redact)  # noqa: PLW2901
            leaf = fresh[entry.id] = entry
            stored.append(entry)
        if fresh:
            self._log.append(fresh.values())
            for entry in fresh.values():
                self._adopt(entry)
        return stored

    def _adopt(self, entry: TranscriptEntry) -> None:
        leaf, self.leaf = self.leaf, entry
        self._entries.append(entry)
        self._by_id[entry.id] = entry
        self._parents[entry.id] = entry.parent_id
        if self._branch is None:
            return
        if entry.parent_id == (leaf.id if leaf else None):
            self._branch.append(entry)
            return
        self._branch = None

    def _current_branch(self) -> list[TranscriptEntry]:
        if self._branch is None:
            branch = []
            at = self.leaf
            while at is not None:
                branch.append(at)
                parent = self._parents[at.id]
                at = self._by_id[parent] if parent is not None else None
            branch.reverse()
            self._branch = branch
        return self._branch

    def _said(self) -> list[Message]:
        return [entry.message for entry in self._current_branch() if entry.message is not None]

    def _calls_without_result(self) -> list[tuple[TranscriptEntry, int, ToolCallBlock]]:
        # By identity: two calls may be equal in every field.
        pending = {id(call) for call in self.pending_tool_calls()}
        return [
            (entry, number, call)
            for entry in self._current_branch()
            if entry.message is not None
            for number, call in enumerate(entry.message.tool_calls)
            if id(call) in pending
        ]


def _parents(entries: list[TranscriptEntry]) -> dict[str, str | None]:
    """Return each entry's parent; one whose parent is lost, or comes after it, follows the entry before it."""
    parents: dict[str, str | None] = {}
    before: str | None = None
    for entry in entries:
        parents[entry.id] = entry.parent_id if entry.parent_id in parents else before
        before = entry.id
    return parents


def _redacted(entry: TranscriptEntry, redact: Redact) -> TranscriptEntry:
    message = _redact_message(entry.message, redact) if entry.message is not None else None
    data: Any = _redact_data(entry.data, redact) if entry.data else entry.data
    if message is entry.message and data is entry.data:
        return entry
    return replace(entry, message=message, data=data)


def _redact_message(message: Message, redact: Redact) -> Message:
    """Return `message` without secrets; the same object when there were none."""
    blocks: tuple[Block, ...] = ()
    for block in message.content:
        blocks += (_redact_block(block, redact),)
    return message if all(map(is_, blocks, message.content)) else replace(message, content=blocks)


def _redact_data(value: Any, redact: Redact) -> Any:
    """Return plain data without secrets; the same object when there were none."""
    match value:
        case str():
            clean = redact(value)
            return value if clean == value else clean
        case dict() | Mapping():
            fresh = {}
            for key, item in value.items():
                fresh[key] = _redact_data(item, redact)
            return value if all(map(is_, fresh.values(), value.values())) else fresh
        case list() | tuple():
            items = [_redact_data(item, redact) for item in value]
            return value if all(map(is_, items, value)) else items
    return value


def _redact_block(block: Block, redact: Redact) -> Block:
    match block:
        case TextBlock(text):
            clean = redact(text)
            return block if clean == text else TextBlock(clean)
        case Thinking(text, _):
            clean = redact(text)
            # The signature is over the words that were thought; over others it would be refused.
            return block if clean == text else Thinking(clean)
        case ToolCallBlock(id, name, arguments, malformed):
            fresh = _redact_data(arguments, redact)
            broken = redact(malformed) if malformed is not None else None
            if fresh is arguments and broken == malformed:
                return block
            return ToolCallBlock(id, name, fresh, broken)
        case Image():
            return block
