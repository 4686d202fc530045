"""Facts about an index, for the memory page and for programs."""

from __future__ import annotations

import asyncio
import os
import resource
import sqlite3
import sys
from pathlib import Path
from typing import Any

from integrations.memory.notes.index.agent_index import AgentIndex
from integrations.memory.notes.index.catalog import REFUSED, WAITING
from integrations.memory.notes.index.index_version import UNSOUND, IndexVersion

SKIPPED_LIMIT = 50


async def status(agent_index: AgentIndex) -> dict[str, Any]:
    """Return facts on files, index, engines and embeddings.

    Raises:
        IndexUnavailable: It cannot be opened.
    """
    await agent_index.open()
    index: dict[str, Any] = {"files": 0, "chunks": 0, "areas": {}, "engines": [], "waiting": 0, "refused": 0}
    index |= await agent_index.in_version(_index) or {}
    version = agent_index.version
    chosen = agent_index.shared.embedders.chosen(agent_index.settings)
    if not agent_index.settings.wants_vectors or (chosen is not None and chosen.embedder is None):
        index["waiting"] = 0  # for nobody
    embedder = chosen.embedder if chosen is not None else None
    built = agent_index.building
    return {
        **index,
        "state": "building" if built is not None else "ready" if version is not None else "missing",
        "building": {"done": built.done, "total": built.total} if built is not None else None,
        "embedder": {
            "provider": embedder.id.provider if embedder is not None else None,
            "model": embedder.id.model if embedder is not None else None,
            "endpoint": embedder.id.endpoint if embedder is not None else None,
            "dimensions": embedder.id.dimensions if embedder is not None else None,
            "notes": list(chosen.notes) if chosen is not None else [],
        },
        "problem": " ".join(dict.fromkeys([*agent_index.problems.values(), *agent_index.engines.notes.values()]))
        or None,
        "synced_ms": agent_index.synced_ms,
        "version": version.name if version is not None else None,
        "costs": await asyncio.to_thread(_costs, agent_index.shared.embedders.cache_path),
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


def _index(version: IndexVersion) -> dict[str, Any]:
    engines = []
    if (vectors := version.vectors) is not None:
        engines.append(f"vectors:{vectors.name}")
    engines.append(f"keywords:{version.keywords.name}")
    found: dict[str, Any] = {"engines": engines, "size_bytes": version.size_bytes(), "damage": version.damage}
    try:
        with version.guard_damage():
            counts = version.catalog.counts()
            files = version.catalog.files()
            found["waiting"] = version.catalog.count(vector=WAITING)
            found["refused"] = version.catalog.count(vector=REFUSED)
    except UNSOUND as error:
        return {**found, "damage": str(error)}
    found["areas"] = {area: {"files": some, "chunks": chunks} for area, (some, chunks) in counts.items()}
    found["files"] = len(files)
    found["chunks"] = sum(chunks for _, chunks in counts.values())
    skipped = sorted((row.path, row.problem or row.warning) for row in files.values() if row.problem or row.warning)
    found["skipped"] = [{"path": path, "problem": problem} for path, problem in skipped[:SKIPPED_LIMIT]]
    return found


def _costs(cache_path: Path) -> list[dict[str, Any]]:
    from integrations.memory.notes.index.embeddings.costs import spent

    try:
        return spent(cache_path)
    except (sqlite3.Error, OSError):
        return []
