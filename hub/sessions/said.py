"""Reads a transcript's words line by line, for the search index. Everything here blocks."""

from __future__ import annotations

import os
from pathlib import Path

import orjson
from msgspec import Struct

from hub.memory.words import words_of
from hub.models.contract import Role
from hub.sessions.entry import TranscriptEntry
from hub.sessions.keys import is_incognito
from hub.sessions.transcript_file import key_in
from hub.storage.said_index import IndexedLine, IndexedTranscript

READ_BYTES = 1_048_576
"""What is read of a transcript at once; a longer line is read whole."""
INDEXED_CHARS = 20_000
"""Characters of one message that are indexed."""
_SPEAKERS = frozenset({Role.USER, Role.ASSISTANT})
_BY_THE_HUB = frozenset({"memory", "reminder", "system", "automation"})
"""Channels of words in the place of a person's that no person said (`hub.agent.conversation.side_note`)."""


class SaidSoFar(Struct, frozen=True):
    """The part of a transcript read so far.

    Attributes:
        transcript: It, and how far it was read.
        said: Lines in which something was said, with their words.
        from_start: Whether it was read from its beginning.
    """

    transcript: IndexedTranscript
    said: tuple[tuple[IndexedLine, str], ...]
    from_start: bool


def read_said(path: Path, agent_id: str, known: IndexedTranscript | None) -> SaidSoFar | None:
    """Read the rest of a transcript; None if there is nothing new.

    Args:
        path: Its file.
        agent_id: Its agent.
        known: How far it was read before; a file that was written again is read from its beginning.

    Raises:
        OSError: It cannot be read, or does not exist.
    """
    with path.open("rb") as file:
        facts = os.fstat(file.fileno())
        if known is not None and (known.inode != facts.st_ino or known.end_bytes > facts.st_size):
            known = None
        begin, key = (0, "") if known is None else (known.end_bytes, known.key)
        if begin == facts.st_size:
            return None
        file.seek(begin)
        said: list[tuple[IndexedLine, str]] = []
        at = begin
        while at - begin < READ_BYTES:
            line = file.readline()
            if not line.endswith(b"\n"):
                break  # its end is still to be written
            if at == 0:
                key = key_in(line)
            elif not is_incognito(key) and (found := said_in(line)) is not None:
                said.append((IndexedLine(path.stem, found[0], at, len(line)), found[1]))
            at += len(line)
        if at == begin:
            return None
        transcript = IndexedTranscript(path.stem, agent_id, key, facts.st_ino, at)
        return SaidSoFar(transcript, tuple(said), from_start=known is None)


def said_in(line: bytes) -> tuple[int, str] | None:
    """Return the time and the words of a line in which something was said."""
    entry = message_in(line)
    if entry is None or entry.message is None or not (words := " ".join(words_of(entry.message.text[:INDEXED_CHARS]))):
        return None
    return entry.ts_ms, words


def message_in(line: bytes) -> TranscriptEntry | None:
    """Return the entry in a line, if it is a person's or a model's message."""
    try:
        entry = TranscriptEntry.from_dict(orjson.loads(line))
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError):
        return None
    if entry.message is None or entry.message.role not in _SPEAKERS or entry.data.get("channel") in _BY_THE_HUB:
        return None
    return entry
