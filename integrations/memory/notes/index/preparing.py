"""What a worker loads while nobody waits, so that its first answer comes soon; no index is opened for it."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import gc
from collections.abc import Iterable
from importlib import import_module

from integrations.memory.notes.index.embedders import Chosen, Embedders
from integrations.memory.notes.index.settings import LibrarySettings

LOCAL = "local"
OURS = {
    "fts5": "integrations.memory.notes.index.keywords.fts5",
    "exact": "integrations.memory.notes.index.vectors.exact",
}
"""Engines that are loaded beforehand; those of others take more room than a worker that rests may have."""


async def prepare(wanted: Iterable[LibrarySettings], embedders: Embedders) -> None:
    """Load what searches with these settings need, and give back what loading took beside it."""
    for settings in wanted:
        chosen = await embedders.get(settings) if settings.wants_vectors else None
        await asyncio.to_thread(_load, settings, chosen)
    await asyncio.to_thread(_give_back)


def _load(settings: LibrarySettings, chosen: Chosen | None) -> None:
    embedder = chosen.embedder if chosen is not None else None
    names = [OURS.get(settings.keywords)]
    if embedder is not None:
        names += [OURS.get(settings.vectors), None if embedder.id.provider == LOCAL else "aiohttp"]
    for name in names:
        if name is not None:
            with contextlib.suppress(ImportError):  # what is missing is told by the search
                import_module(name)


def _give_back() -> None:
    """Return free memory to the system, where the C library can."""
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
