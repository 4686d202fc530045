"""Lists the files of the sources, and reads one: within its root, without symlinks, up to a limit."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from hub.core.errors import HubError
from hub.memory.chunking import chunk
from hub.memory.places import CURATED, FOLDER, area_of
from hub.security.folder_entry import FolderEntry
from hub.security.root import Root
from integrations.memory.notes.files.decoding import decode_text, is_text
from integrations.memory.notes.files.extra_path import ExtraPath
from integrations.memory.notes.index.passages import Present, ReadFile, Stamp, dependencies_of, indexed_chunk
from integrations.memory.notes.index.settings import IndexSettings
from integrations.memory.notes.index.transcripts import transcript_chunks
from integrations.memory.notes.job import (
    FILE_LIMIT_BYTES,
    FILES_LIMIT,
    TRANSCRIPT_LIMIT_BYTES,
    TRANSCRIPTS,
    WORKSPACE,
    Source,
    TranscriptSource,
)

RACY_NS = 2_000_000_000
"""A file changed less than this before it was read may change again without its stamp showing it: clocks of file
systems are as coarse as that."""
READ_ATTEMPTS = 3

_UNREADABLE = (OSError, HubError)


class _TooLarge(OSError):
    """A file that has more bytes than are read."""


@dataclass(frozen=True, slots=True)
class Listing:
    """The files that exist.

    Attributes:
        files: The files by path.
        unread: Names of sources that could not be read; what is known of them stays.
        problems: Why, and further problems, a sentence each.
    """

    files: dict[str, Present]
    unread: frozenset[str]
    problems: tuple[str, ...]


def list_sources(sources: Sequence[Source]) -> Listing:
    """List all files; blocks."""
    files: dict[str, Present] = {}
    unread: set[str] = set()
    problems: list[str] = []
    for source in sources:
        try:
            for present in _present(source):
                files.setdefault(present.path, present)
        except FileNotFoundError:
            if source.name != WORKSPACE:
                problems.append(f"{source.name}: there is no {source.root}; look at memory.extra_paths.")
        except _UNREADABLE as error:
            unread.add(source.name)
            problems.append(f"{source.name or 'The workspace'} cannot be looked through: {_why(error)}.")
    return Listing(files, frozenset(unread), tuple(problems))


def find(sources: Sequence[Source], path: str) -> Present | None:
    """Return one file by its path in results, None if it does not exist (any more); blocks.

    Raises:
        OSError, HubError: It cannot be read.
    """
    for source in sources:
        if source.name == TRANSCRIPTS:
            for each in source.files:
                if path == f"{TRANSCRIPTS}/{each.id}":
                    return _conversation(source, each)
        elif source.name == WORKSPACE:
            if (area := area_of(path)) is not None:
                return _one(Root(source.root), path, path, area, source)
        elif path.startswith(f"{source.name}/"):
            rel = path.removeprefix(f"{source.name}/")
            extra = ExtraPath.of(source)
            return _one(extra.root, rel, path, source.area or "", source) if extra.holds(rel) else None
    return None


def omissions(sources: Sequence[Source]) -> dict[str, str]:
    """Return the `Present.dependencies` of each conversation with omissions, by path."""
    return {
        f"{TRANSCRIPTS}/{file.id}": dependencies_of(file.person, file.left_out, trusted=source.trusted and file.trusted)
        for source in sources
        for file in source.files
        if file.left_out
    }


def read(
    present: Present, sources: Sequence[Source], settings: IndexSettings, known_hash: str | None = None
) -> ReadFile | None:
    """Read a file and cut it into passages; None when it no longer exists. An unreadable one has a problem. Blocks.

    Args:
        present: The file.
        sources: The sources of the files.
        settings: How it is cut.
        known_hash: The hash of the known content; a file that is still the same is not cut.
    """
    source = next((each for each in sources if each.name == present.source), None)
    if source is None:
        return None
    is_conversation = source.name == TRANSCRIPTS
    root = ExtraPath.of(source).root if not is_conversation and source.name != WORKSPACE else Root(source.root)
    limit = TRANSCRIPT_LIMIT_BYTES if is_conversation else FILE_LIMIT_BYTES
    try:
        data, stamp = _read_steadily(root, present.rel, limit)
    except FileNotFoundError:
        return None
    except _TooLarge as error:
        # It is not a failure: nothing is tried again until the file changes.
        return ReadFile(present, "", warning=f"it is left out: {error}")
    except _UNREADABLE as error:
        return ReadFile(present, "", problem=_why(error))
    present = replace(present, stamp=stamp)
    hash_ = _hash(data, present)
    warning: str | None = None
    if hash_ == known_hash:
        return ReadFile(present, hash_)
    if is_conversation:
        chunks = transcript_chunks(
            data, settings, person=present.person, trusted=present.trusted, left_out=present.left_out
        )
    else:
        text = decode_text(data)
        if not is_text(text):
            warning = "it is not text that can be read, so that not all of its words are found; save it as UTF-8"
        chunks = chunk(present.path, text, tokens=settings.tokens, overlap=settings.overlap, trusted=present.trusted)
    return ReadFile(present, hash_, tuple(indexed_chunk(each) for each in chunks), warning=warning)


def _present(source: Source) -> Iterator[Present]:
    if source.name == TRANSCRIPTS:
        for each in source.files:
            if (found := _conversation(source, each)) is not None:
                yield found
        return
    if source.name == WORKSPACE:
        root = Root(source.root)
        if root.is_file(CURATED):
            yield _entry(root.stat(CURATED), CURATED, area_of(CURATED) or "", source)
        if root.is_dir(FOLDER):
            for entry in root.walk(FOLDER, FILES_LIMIT):
                if entry.is_file and (area := area_of(entry.path)) is not None:
                    yield _entry(entry, entry.path, area, source)
        return
    for entry in ExtraPath.of(source).files():
        yield _entry(entry, f"{source.name}/{entry.path}", source.area or "", source)


def _one(root: Root, rel: str, path: str, area: str, source: Source) -> Present | None:
    try:
        entry = root.stat(rel)
    except (FileNotFoundError, NotADirectoryError):
        return None
    return _entry(entry, path, area, source) if entry.is_file else None


def _conversation(source: Source, file: TranscriptSource) -> Present | None:
    try:
        entry = Root(source.root).stat(file.path)
    except (*_UNREADABLE,):
        return None
    if not entry.is_file:
        return None
    found = _entry(entry, f"{TRANSCRIPTS}/{file.id}", file.area, source)
    trusted = source.trusted and file.trusted
    return replace(found, rel=file.path, trusted=trusted, person=file.person, left_out=file.left_out)


def _entry(entry: FolderEntry, path: str, area: str, source: Source) -> Present:
    stamp = Stamp(entry.mtime_ns, entry.ctime_ns, entry.size_bytes, entry.inode)
    return Present(path, area, source.name, entry.path, stamp, source.trusted)


def _read_steadily(root: Root, rel: str, limit: int) -> tuple[bytes, Stamp]:
    """Read a file that may be being written: once more if it changed meanwhile."""
    for _ in range(READ_ATTEMPTS):
        descriptor = root.open(rel)
        try:
            before = os.fstat(descriptor)
            if before.st_size > limit:
                raise _TooLarge(f"it has {before.st_size} bytes, and at most {limit} are read; cut it into several")
            with os.fdopen(descriptor, "rb", closefd=False) as file:
                data = file.read(limit + 1)
            after = os.fstat(descriptor)
        finally:
            os.close(descriptor)
        if len(data) > limit:
            raise _TooLarge(f"it has more than {limit} bytes, which is all that is read")
        steady = (
            (before.st_mtime_ns, before.st_size)
            == (after.st_mtime_ns, after.st_size)
            == (
                before.st_mtime_ns,
                len(data),
            )
        )
        if steady:
            break
    racy = not steady or abs(time.time_ns() - before.st_mtime_ns) < RACY_NS
    return data, Stamp(before.st_mtime_ns, before.st_ctime_ns, before.st_size, before.st_ino, racy)


def _hash(data: bytes, present: Present) -> str:
    told = f"|{present.dependencies}|{present.area}|{present.source}"
    return hashlib.sha256(data + told.encode("utf-8", "replace")).hexdigest()


def _why(error: OSError | HubError) -> str:
    if isinstance(error, HubError):
        return error.message
    return error.strerror or str(error)
