"""What there is to tell of a library: for people on the memory page, and for programs."""

from __future__ import annotations

import asyncio
import os
import resource
import sqlite3
import sys
from functools import partial
from pathlib import Path
from typing import Any

from integrations.memory.notes.index.catalog import REFUSED, WAITING
from integrations.memory.notes.index.generations import UNSOUND, Generation
from integrations.memory.notes.index.library import Library

SKIPPED_LIMIT = 50


async def status(library: Library) -> dict[str, Any]:
    """Return facts on files, index, engines and embeddings.

    Raises:
        IndexUnavailable: It cannot be opened.
    """
    await library.open()
    generation = library.generation
    index: dict[str, Any] = {"files": 0, "chunks": 0, "areas": {}, "engines": [], "waiting": 0, "refused": 0}
    if generation is not None:
        index |= await library.in_thread(partial(_index, generation))
    chosen = library.shared.embedders.known(library.settings)
    if not library.settings.wants_vectors or (chosen is not None and chosen.embedder is None):
        index["waiting"] = 0  # for nobody
    embedder = chosen.embedder if chosen is not None else None
    built = library.building
    return {
        **index,
        "state": "building" if built is not None else "ready" if generation is not None else "missing",
        "building": {"done": built.done, "total": built.total} if built is not None else None,
        "embedder": {
            "provider": embedder.id.provider if embedder is not None else None,
            "model": embedder.id.model if embedder is not None else None,
            "endpoint": embedder.id.endpoint if embedder is not None else None,
            "dimensions": embedder.id.dimensions if embedder is not None else None,
            "notes": list(chosen.notes) if chosen is not None else [],
        },
        "problem": " ".join(dict.fromkeys([*library.problems.values(), *library.engines.notes.values()])) or None,
        "synced_ms": library.synced_ms,
        "generation": generation.name if generation is not None else None,
        "costs": await asyncio.to_thread(_costs, library.shared.embedders.cache_path),
        "worker": {"pid": os.getpid(), "rss_bytes": rss_bytes()},
    }


def rss_bytes() -> int | None:
    """Return the memory this process holds."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except (OSError, ValueError, IndexError):
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return most if sys.platform == "darwin" else most * 1_024
    return pages * os.sysconf("SC_PAGE_SIZE")


def _index(generation: Generation) -> dict[str, Any]:
    if generation.closed:
        return {}
    engines = []
    if (vectors := generation.vectors) is not None:
        engines.append(f"vectors:{vectors.name}")
    if (keywords := generation.keywords) is not None:
        engines.append(f"keywords:{keywords.name}")
    found: dict[str, Any] = {"engines": engines, "size_bytes": generation.size_bytes(), "damage": generation.broken}
    try:
        counts = generation.catalog.counts()
        files = generation.catalog.files()
        found["waiting"] = generation.catalog.count(vector=WAITING)
        found["refused"] = generation.catalog.count(vector=REFUSED)
    except UNSOUND as error:
        generation.note_damage("catalog", error)
        return found
    found["areas"] = {area: {"files": some, "chunks": chunks} for area, (some, chunks) in counts.items()}
    found["files"] = len(files)
    found["chunks"] = sum(chunks for _, chunks in counts.values())
    skipped = sorted((row.path, row.problem) for row in files.values() if row.problem is not None)
    found["skipped"] = [{"path": path, "problem": problem} for path, problem in skipped[:SKIPPED_LIMIT]]
    return found


def _costs(cache_path: Path) -> list[dict[str, Any]]:
    from integrations.memory.notes.index.embeddings.costs import spent

    try:
        return spent(cache_path)
    except (sqlite3.Error, OSError):
        return []
