"""Preloading of a worker while nobody waits, for a fast first answer; no index is opened."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import gc
from collections.abc import Iterable
from importlib import import_module

from integrations.memory.notes.index.embedders import ChosenEmbedder, Embedders
from integrations.memory.notes.index.settings import EXACT, IndexSettings

LOCAL = "local"
VECTORS = "integrations.memory.notes.index.exact"
"""Loaded beforehand; engines of other integrations take more room than a worker that rests may have."""


async def prepare(wanted: Iterable[IndexSettings], embedders: Embedders) -> None:
    """Load what searches with these settings need, and free temporary memory."""
    for settings in wanted:
        chosen = await embedders.get(settings) if settings.wants_vectors else None
        await asyncio.to_thread(_load, settings, chosen)
    await asyncio.to_thread(_give_back)


def _load(settings: IndexSettings, chosen: ChosenEmbedder | None) -> None:
    embedder = chosen.embedder if chosen is not None else None
    names = []
    if embedder is not None:
        names = [VECTORS if settings.vectors == EXACT else None, None if embedder.id.provider == LOCAL else "aiohttp"]
    for name in names:
        if name is not None:
            with contextlib.suppress(ImportError):  # the search reports what is missing
                import_module(name)


def _give_back() -> None:
    """Return free memory to the system, where the C library can."""
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
