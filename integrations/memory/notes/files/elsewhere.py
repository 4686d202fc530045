"""Read-only sources outside the workspace: files of extra paths, and conversations as text. Blocks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress

from msgspec import Struct

from hub.core.errors import HubError
from hub.memory.notebook import MemoryFile
from hub.security.folder_entry import FolderEntry
from hub.security.root import Root
from integrations.memory.notes.files.decoding import decode_text
from integrations.memory.notes.files.extra_path import ExtraPath
from integrations.memory.notes.index.transcripts import read_conversation
from integrations.memory.notes.job import (
    EXTRA_PREFIX,
    FILE_LIMIT_BYTES,
    TRANSCRIPT_LIMIT_BYTES,
    TRANSCRIPTS,
    Source,
    TranscriptSource,
)

LINE_LIMIT = 20_000
"""Characters shown of one thing that was said."""


class Outside(Struct, frozen=True):
    """A text from outside the workspace, and whether all of it came from this home's people."""

    path: str
    text: str
    trusted: bool


def is_elsewhere(path: str) -> bool:
    """Whether a path names no file of the workspace's memory."""
    return path.startswith((EXTRA_PREFIX, f"{TRANSCRIPTS}/"))


def area_in(sources: Sequence[Source], path: str) -> str | None:
    """Return the present area of a text from outside the workspace, whatever an index says."""
    for source in sources:
        if source.name == TRANSCRIPTS:
            id_ = path.removeprefix(f"{TRANSCRIPTS}/")
            if id_ != path:
                return next((each.area for each in source.files if each.id == id_), None)
        elif source.name.startswith(EXTRA_PREFIX) and path.startswith(f"{source.name}/"):
            return source.area
    return None


def files_in_areas(sources: Sequence[Source], areas: Sequence[str]) -> list[MemoryFile]:
    """Return the extra files and conversations in one of the areas."""
    found: list[MemoryFile] = []
    for source in sources:
        with suppress(OSError, HubError):
            found.extend(_listed(source, areas))
    return found


def read(sources: Sequence[Source], path: str, areas: Sequence[str]) -> Outside | None:
    """Return a text by its path in results; None if there is none in these areas.

    Raises:
        OSError, HubError: It cannot be read.
    """
    for source in sources:
        if source.name == TRANSCRIPTS:
            for each in source.files:
                if path == f"{TRANSCRIPTS}/{each.id}" and each.area in areas:
                    return _conversation(source, each)
        elif source.name.startswith(EXTRA_PREFIX) and path.startswith(f"{source.name}/") and source.area in areas:
            rel = path.removeprefix(f"{source.name}/")
            extra = ExtraPath.of(source)
            if extra.holds(rel):
                return Outside(path, decode_text(extra.root.read_bytes(rel, FILE_LIMIT_BYTES)), source.trusted)
    return None


def texts(sources: Sequence[Source], areas: Sequence[str]) -> Iterator[Outside]:
    """Yield the readable texts of extra paths in one of the areas."""
    for source in sources:
        if not source.name.startswith(EXTRA_PREFIX):
            continue
        with suppress(OSError, HubError):
            for file in _listed(source, areas):
                with suppress(OSError, HubError):
                    if (found := read([source], file.path, areas)) is not None:
                        yield found


def _listed(source: Source, areas: Sequence[str]) -> Iterator[MemoryFile]:
    if source.name == TRANSCRIPTS:
        root = Root(source.root)
        for each in source.files:
            if each.area in areas and root.is_file(each.path):
                yield _file(root.stat(each.path), f"{TRANSCRIPTS}/{each.id}", each.area)
    elif source.name.startswith(EXTRA_PREFIX) and source.area in areas:
        for entry in ExtraPath.of(source).files():
            yield _file(entry, f"{source.name}/{entry.path}", source.area or "")


def _file(entry: FolderEntry, path: str, area: str) -> MemoryFile:
    return MemoryFile(path, area, entry.size_bytes, entry.mtime_ns // 1_000_000, writable=False)


def _conversation(source: Source, file: TranscriptSource) -> Outside:
    """Return a conversation as text with the same lines as its transcript, so that line numbers of hits match."""
    found = read_conversation(Root(source.root).read_bytes(file.path, TRANSCRIPT_LIMIT_BYTES), file.left_out)
    shown = [""] * found.lines
    for each in found.said:
        shown[each.line - 1] = f"{each.role}: {' '.join(each.text.split())[:LINE_LIMIT]}"
    trusted = source.trusted and file.trusted and found.trusted
    return Outside(f"{TRANSCRIPTS}/{file.id}", "\n".join(shown), trusted)
