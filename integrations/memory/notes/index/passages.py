"""A file as it is indexed: its passages with their stored fields, and a stamp that reveals changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import NamedTuple

from hub.memory.chunking import Chunk
from hub.memory.words import words_of


@dataclass(frozen=True, slots=True)
class Stamp:
    """File facts that reveal a change; a `racy` stamp never equals a later one.

    Attributes:
        mtime_ns, ctime_ns, size_bytes, inode: As the file system has them.
        racy: Whether it was read so soon after its last change that another one could leave the same stamp.
    """

    mtime_ns: int
    ctime_ns: int
    size_bytes: int
    inode: int
    racy: bool = False


@dataclass(frozen=True, slots=True)
class Present:
    """An existing file.

    Attributes:
        path: The path, as in results.
        area: Its area.
        source: Name of its source.
        rel: Its path below the source's root.
        stamp: The stamp as it is now.
        trusted: The default for passages that say nothing themselves.
        person: The person of its conversation.
        left_out: Ids of entries of it that were forgotten.
    """

    path: str
    area: str
    source: str
    rel: str
    stamp: Stamp
    trusted: bool = True
    person: str | None = None
    left_out: tuple[str, ...] = ()

    @property
    def dependencies(self) -> str:
        """The further inputs of its passages beside bytes and place, as one string."""
        return dependencies_of(self.person, self.left_out, trusted=self.trusted)


@dataclass(frozen=True, slots=True)
class IndexedChunk:
    """A chunk with its precomputed comparison words, in no order."""

    chunk: Chunk
    digest: str
    words: str


class Outline(NamedTuple):
    """The fields that a passage is ranked by; of a short entry, also the entries before and after it."""

    id: int
    path: str
    day: str | None
    words: str
    before: int | None
    after: int | None

    def is_sound(self) -> bool:
        """Whether each part has the type that was written."""
        return all(map(isinstance, self, _KINDS_OF_OUTLINE))


_KINDS_OF_OUTLINE = (int, str, str | None, str, int | None, int | None)


@dataclass(frozen=True, slots=True)
class ReadFile:
    """A file after reading.

    Attributes:
        present: The file; its stamp is that of the content read.
        hash: The hash of its bytes and of the further inputs of its passages.
        passages: The passages, in order.
        problem: Why it could not be read; it has no passages then.
        warning: What cannot be found in it although it was read.
    """

    present: Present
    hash: str
    passages: tuple[IndexedChunk, ...] = ()
    problem: str | None = None
    warning: str | None = None


def dependencies_of(person: str | None, left_out: Sequence[str], *, trusted: bool) -> str:
    """Return the further inputs of a file's passages; see `Present`."""
    ids = sha256("\n".join(left_out).encode("utf-8", "replace")).hexdigest() if left_out else ""
    return f"{trusted}|{person or ''}|{ids}"


def indexed_chunk(chunk: Chunk) -> IndexedChunk:
    """Return the stored form of a chunk."""
    return IndexedChunk(chunk, chunk.digest, " ".join(sorted(set(words_of(chunk.text)))))
