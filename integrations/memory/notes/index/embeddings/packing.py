"""Groups texts into requests. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hub.memory.chunking import tokens_in
from integrations.memory.notes.index.embeddings.provider import Limits


def pack(texts: Sequence[str], limits: Limits, lanes: int = 1) -> Iterator[list[int]]:
    """Give the places of texts in groups that each fit into a request, in order, none empty.

    Args:
        texts: The texts to send.
        limits: The limits of one request; a text that is over the tokens alone goes alone.
        lanes: Concurrent requests; many texts are divided so that each lane gets about the same.
    """
    weights = [tokens_in(text) for text in texts]
    ceiling = min(limits.tokens, max(_LEAST_TOKENS, -(-sum(weights) // max(1, lanes))))
    group: list[int] = []
    tokens = 0
    for place, weight in enumerate(weights):
        if group and (len(group) >= limits.texts or tokens + weight > ceiling):
            yield group
            group, tokens = [], 0
        group.append(place)
        tokens += weight
    if group:
        yield group


_LEAST_TOKENS = 50_000
"""Below this a request is not made smaller only to have several at a time."""
