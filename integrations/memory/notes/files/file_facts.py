"""Facts about the memory files of an agent: texts, counts, and unreadable files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from hub.memory.markdown import passages
from integrations.memory.notes.files import elsewhere, grep
from integrations.memory.notes.files.file_worker import FileWorker
from integrations.memory.notes.files.memory_files import displayable
from integrations.memory.notes.job import FILE_LIMIT_BYTES, Source


def texts(worker: FileWorker, sources: Sequence[Source], areas: Sequence[str]) -> Iterator[grep.Text]:
    """Yield the searchable texts of these areas."""
    for path, text in worker.files.texts(areas):
        yield grep.Text(path, displayable(text))
    for found in elsewhere.texts(sources, areas):
        yield grep.Text(found.path, found.text, found.trusted)


def facts(worker: FileWorker, *, counting: bool) -> dict[str, Any]:
    """Return facts on files and history; passages only if no index has counted them."""
    facts: dict[str, Any] = {"changes": worker.history.count()}
    if counting:
        files, count, skipped = count_files(worker)
        return {**facts, "files": files, "passages": count, "skipped": skipped}
    entries = worker.files.entries()
    skipped = sorted(each.path for each in entries if each.size_bytes > FILE_LIMIT_BYTES)
    return {**facts, "files": len(entries) - len(skipped), "skipped": skipped}


def heal(worker: FileWorker) -> tuple[None, Sequence[str]]:
    """Finish or undo an interrupted change."""
    worker.journal.heal()
    return None, ()


def count_files(worker: FileWorker) -> tuple[int, int, list[str]]:
    """Return the numbers of files and passages, and the unreadable files."""
    entries = worker.files.entries()
    read = dict(worker.files.texts())
    skipped = sorted(each.path for each in entries if each.path not in read)
    return len(read), sum(len(passages(text)) for text in read.values()), skipped
