"""Deletes forgotten texts from the cache of vectors, by the texts that passages were embedded as."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Sequence
from functools import partial

from hub.core.errors import Unavailable
from integrations.memory.notes.index.agent_index import AgentIndex
from integrations.memory.notes.index.index_version import UNSOUND, IndexVersion

LOOKED_UP = 200
"""Texts of which is looked for passages that hold them; a whole conversation has more, and comes as it was embedded."""


async def drop(index: AgentIndex, texts: Sequence[str]) -> int:
    """Delete every passage with one of these texts from the cache; return how many.

    Args:
        index: The index of the agent that forgets.
        texts: Forgotten texts, or digests of passages.

    Raises:
        IndexUnavailable: The index cannot be opened.
        Unavailable: The cache cannot be written.
    """
    from integrations.memory.notes.index.embeddings.cache import drop as drop_from_cache

    await index.open()
    wanted = [text for text in texts if text.strip()]
    if not wanted:
        return 0
    embedded = set(wanted)
    version = index.version
    if version is not None:
        embedded |= await index.in_thread(partial(_embedded, version, wanted[:LOOKED_UP]))
    try:
        count = await asyncio.to_thread(drop_from_cache, index.shared.embedders.cache_path, embedded)
    except (sqlite3.Error, OSError) as error:
        raise Unavailable(f"what was forgotten is still in the cache of vectors: {error}") from error
    if version is not None:
        await index.in_thread(partial(_purge, version))
    return count


def _embedded(version: IndexVersion, texts: Sequence[str]) -> set[str]:
    try:
        return version.embed_texts_with(texts)
    except UNSOUND:
        return set()


def _purge(version: IndexVersion) -> None:
    try:
        version.purge()
    except UNSOUND:
        return  # it is deleted and built again
    except OSError as error:
        raise Unavailable(f"what was forgotten is still in files of the index: {error}") from error
