"""Which texts go together in one request, and which requests in one batch job. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from hub.memory.chunking import tokens_in
from integrations.memory.notes.index.embeddings.batch_api import JobLimits
from integrations.memory.notes.index.embeddings.provider import Limits


def pack(texts: Sequence[str], limits: Limits, lanes: int = 1) -> Iterator[list[int]]:
    """Give the places of texts in groups that each fit into a request, in order, none empty.

    Args:
        texts: What is to be sent.
        limits: Of one request; a text that is over the tokens alone goes alone.
        lanes: Requests under way at a time; many texts are shared out so that each lane gets about the same.
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


def pack_jobs(
    requests: Iterable[tuple[bytes, bytes]], limits: JobLimits
) -> Iterator[tuple[Sequence[bytes], Sequence[bytes]]]:
    """Give hashes and requests in groups that each fit into a batch job, in order, none empty.

    Args:
        requests: Hash and request of each text; taken as they are needed.
        limits: Of one job; a request that is over the size alone goes alone. Each takes a byte more, that parts it.
    """
    hashes, group, size = list[bytes](), list[bytes](), 0
    for digest, request in requests:
        if group and (len(group) >= limits.texts or size + len(request) + 1 > limits.size_bytes):
            yield hashes, group
            hashes, group, size = [], [], 0
        hashes.append(digest)
        group.append(request)
        size += len(request) + 1
    if group:
        yield hashes, group


_LEAST_TOKENS = 50_000
"""Below this a request is not made smaller only to have several at a time."""
