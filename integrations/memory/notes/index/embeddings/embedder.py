"""The embedder for all callers: cached texts are reused, the rest is requested, counted and stored."""

from __future__ import annotations

import asyncio
import dataclasses
import logging
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hub.memory.chunking import tokens_in
from integrations.memory.notes.index.contract import EmbeddingFailed, Spent
from integrations.memory.notes.index.embeddings.cache import Cache
from integrations.memory.notes.index.embeddings.costs import Costs
from integrations.memory.notes.index.embeddings.provider import OURS, PASSING, Provider, ProviderFailed
from integrations.memory.notes.index.embeddings.sender import Part, RetryPolicy, Sender
from integrations.memory.notes.index.embeddings.store import Store

if TYPE_CHECKING:
    from hub.memory.engine_contract import Vector
    from integrations.memory.notes.index.contract import EmbedderId

QUERIES_KEPT = 256
QUERIES_UNWRITTEN = 16
REST_OURS_S = 60.0
REST_PASSING_S = 5.0

_log = logging.getLogger(__name__)


class CachingEmbedder:
    """See `contract.Embedder`.

    Args:
        provider: Makes vectors.
        store: The store of cache and costs; closed with this.
        cache: The cache of the provider's model.
        parallel: Concurrent requests.
        retries: After temporary failures.
        notes: Why those before it in the chain are not used.
    """

    def __init__(
        self,
        provider: Provider,
        store: Store,
        cache: Cache,
        *,
        parallel: int = 4,
        retries: RetryPolicy | None = None,
        notes: Sequence[str] = (),
    ) -> None:
        self._provider = provider
        self._store = store
        self._cache = cache
        self._costs = Costs(store, provider.id.provider, provider.id.model, priced=provider.priced)
        self._sender = Sender(provider, parallel, retries or RetryPolicy())
        self._queries: OrderedDict[str, Vector] = OrderedDict()
        self._resting: tuple[float, ProviderFailed] | None = None
        self.id: EmbedderId = provider.id
        self.notes: Sequence[str] = tuple(notes)
        self.rejected = 0
        """Texts that got no vector, or one that is not finite, since the start."""

    async def documents(self, texts: Sequence[str]) -> tuple[list[Vector | None], Spent]:
        """Return a vector for each text; see `contract.Embedder`.

        What was made is kept even when a later request fails, or this is cancelled. None stands for a text that is
        blank or refused.
        """
        work = _Work(list(dict.fromkeys(text for text in texts if text.strip())))
        try:
            await self._remember(work)
            await self._make(work)
            if work.changed:
                # Some came from the cache, of the model that was there before: make those as well.
                work.changed = False
                await self._remember(work)
                await self._make(work)
        except ProviderFailed as error:
            self._failed(error)
            raise
        finally:
            await asyncio.shield(self._costs.flush())
        if work.changed:
            raise EmbeddingFailed(self._changed)
        return [work.vectors.get(text) for text in texts], work.spent

    async def query(self, text: str) -> Vector:
        """Return the vector of a query; see `contract.Embedder`. A provider that just failed is not called again."""
        if not text.strip():
            raise EmbeddingFailed("a query without words has no vector")
        if (known := self._queries.get(text)) is not None:
            self._queries.move_to_end(text)
            return known
        if self._resting is not None and _now() < self._resting[0]:
            before = self._resting[1]
            raise ProviderFailed(before.fault, before.text, retry_after_s=self._resting[0] - _now())
        try:
            part = await self._sender.ask(text)
        except ProviderFailed as error:
            self._failed(error)
            raise
        self._resting = None
        self._count([text], part)
        if self._costs.unflushed >= QUERIES_UNWRITTEN:
            await self._costs.flush()
        vector = part.vectors[0]
        if vector is None:
            self.rejected += 1
            raise EmbeddingFailed(f"{self.id.shown} has no usable vector for this query")
        if await self._is_new_length(len(vector)):
            raise EmbeddingFailed(self._changed)
        self._queries[text] = vector
        while len(self._queries) > QUERIES_KEPT:
            self._queries.popitem(last=False)
        return vector

    async def close(self) -> None:
        """Let go of connections, models and the database; calling it twice does no harm."""
        await self._costs.flush()
        await self._provider.close()
        await self._store.close()

    async def _remember(self, work: _Work) -> None:
        """Take cached vectors, and those of identical texts."""
        found = await self._cache.get(work.missing)
        work.vectors |= found
        length = self.id.dimensions
        if length is not None:
            work.vectors = {text: vector for text, vector in work.vectors.items() if len(vector) == length}
        work.spent = dataclasses.replace(work.spent, cached=work.spent.cached + len(found))

    async def _make(self, work: _Work) -> None:
        """Request the missing vectors."""
        if rest := work.missing:
            await self._sender.send(rest, lambda part: self._done(work, rest, part))
            self._resting = None

    async def _done(self, work: _Work, texts: Sequence[str], part: Part) -> None:
        """Store and count the result of one request."""
        sent = [texts[place] for place in part.places]
        made = {text: vector for text, vector in zip(sent, part.vectors, strict=True) if vector is not None}
        self.rejected += len(sent) - len(made)
        tokens = self._count(sent, part)
        spent = work.spent
        work.spent = dataclasses.replace(
            spent,
            requests=spent.requests + part.requests,
            texts=spent.texts + len(sent),
            tokens=spent.tokens + tokens,
        )
        if made:
            length = len(next(iter(made.values())))
            work.changed = await self._is_new_length(length) or work.changed
            work.vectors.update(made)
            await self._cache.put(made)

    @property
    def _changed(self) -> str:
        return (
            f"{self.id.shown} gives vectors of another length for {self.id.model} than before: the model behind the "
            "name has changed, and the index has to be rebuilt"
        )

    async def _is_new_length(self, length: int) -> bool:
        """Note the length of vectors; True if it changed."""
        before = self.id.dimensions
        if before == length:
            return False
        await self._cache.settle(length)
        self._queries.clear()
        self.id = dataclasses.replace(self.id, dimensions=length)
        return before is not None

    def _count(self, texts: Sequence[str], part: Part) -> int:
        """Count a request; tokens are estimated if the provider does not report them."""
        tokens = part.tokens if part.tokens is not None else sum(tokens_in(text) for text in texts)
        self._costs.note(part.requests, len(texts), tokens)
        return tokens

    def _failed(self, error: ProviderFailed) -> None:
        if error.fault in OURS:
            self._resting = (_now() + REST_OURS_S, error)
        elif error.fault in PASSING:
            self._resting = (_now() + min(error.retry_after_s or REST_PASSING_S, REST_OURS_S), error)


@dataclass(slots=True)
class _Work:
    """One call of `documents`: the texts, the vectors so far, and the cost."""

    wanted: Sequence[str]
    vectors: dict[str, Vector] = field(default_factory=dict)
    spent: Spent = field(default_factory=Spent)
    changed: bool = False

    @property
    def missing(self) -> list[str]:
        """Texts without a vector."""
        return [text for text in self.wanted if text not in self.vectors]


def _now() -> float:
    return asyncio.get_running_loop().time()
