"""Converts a passage to a search result. Pure."""

from __future__ import annotations

from hub.memory.chunking import Chunk
from hub.memory.contract import Hit
from hub.memory.markdown import Passage

WHOLE = 1.0
"""The score of what was not looked for by words: it is what is meant."""


def hit_of(path: str, passage: Passage | Chunk, text: str, score: float = WHOLE) -> Hit:
    """Return a passage as a search result.

    Args:
        path: The path, as in `Hit.path`.
        passage: The passage.
        text: The shown text.
        score: How good it is, 0 to 1.
    """
    return Hit(
        path,
        passage.start_line,
        passage.end_line,
        text,
        score,
        trusted=passage.trusted,
        kind=passage.kind,
        person=passage.person,
        session=passage.session,
        day=passage.day,
    )
