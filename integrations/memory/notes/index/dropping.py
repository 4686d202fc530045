"""Takes what was forgotten out of the cache of vectors, by the texts that passages were embedded as."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Sequence
from functools import partial

from hub.core.errors import Unavailable
from integrations.memory.notes.index.generations import UNSOUND, Generation
from integrations.memory.notes.index.library import Library

LOOKED_UP = 200
"""Texts of which is looked for passages that hold them; a whole conversation has more, and comes as it was embedded."""


async def drop(library: Library, texts: Sequence[str]) -> int:
    """Take every passage out of the cache that holds one of these texts, now or a moment ago; return how many went.

    Args:
        texts: What was forgotten, or digests of passages.

    Raises:
        IndexUnavailable: The index cannot be opened.
        Unavailable: The cache cannot be written.
    """
    from integrations.memory.notes.index.embeddings.cache import drop as drop_from_cache

    await library.open()
    wanted = [text for text in texts if text.strip()]
    if not wanted:
        return 0
    embedded = set(wanted)
    generation = library.generation
    if generation is not None:
        embedded |= await library.in_thread(partial(_embedded, generation, wanted[:LOOKED_UP]))
    try:
        count = await asyncio.to_thread(drop_from_cache, library.shared.embedders.cache_path, embedded)
    except (sqlite3.Error, OSError) as error:
        raise Unavailable(f"what was forgotten is still in the cache of vectors: {error}") from error
    if generation is not None:
        await library.in_thread(partial(_fold, generation))
    return count


def _embedded(generation: Generation, texts: Sequence[str]) -> set[str]:
    if generation.closed:
        return set()
    try:
        return generation.embed_texts_with(texts)
    except UNSOUND:
        return set()


def _fold(generation: Generation) -> None:
    if generation.closed:
        return
    try:
        generation.forget_withdrawn()
    except UNSOUND as error:
        generation.note_damage("catalog", error)
    except OSError as error:
        raise Unavailable(f"what was forgotten is still in files of the index: {error}") from error
