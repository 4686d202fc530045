"""Embeds many texts with a provider: in concurrent groups, with retries, and smaller groups when too large."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from integrations.memory.notes.index.contract import EmbeddingFailed
from integrations.memory.notes.index.embeddings.packing import pack
from integrations.memory.notes.index.embeddings.provider import (
    PASSING,
    EmbeddingBatch,
    EmbeddingRole,
    Fault,
    Provider,
    ProviderFailed,
)
from integrations.memory.notes.index.embeddings.vectors import normalise

if TYPE_CHECKING:
    from hub.memory.engine_contract import Vector

REFUSED_ALONE_LIMIT = 64
"""Texts refused one by one in one job: with more it is not the texts."""
SHORTENINGS_LIMIT = 5

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """The policy for retries after temporary failures.

    Attributes:
        tries: The tries of one request, in all.
        first_s, most_s: Between tries; it doubles, and a random part of it is waited.
        asked_s: The longest wait that a provider may ask for; a longer one is a failure that says when to try again.
    """

    tries: int = 5
    first_s: float = 0.5
    most_s: float = 20.0
    asked_s: float = 60.0


@dataclass(frozen=True, slots=True)
class Part:
    """The result of one group.

    Attributes:
        places: The places of the texts, in the order of `vectors`.
        vectors: None where a text gave none.
        requests: That were answered.
        tokens: The tokens as the provider counts them, None when it does not.
    """

    places: Sequence[int]
    vectors: Sequence[Vector | None]
    requests: int
    tokens: int | None


class Sender:
    """Sends texts through one provider.

    Args:
        provider: The provider.
        parallel: Concurrent requests.
        retries: After temporary failures.
    """

    def __init__(self, provider: Provider, parallel: int, retries: RetryPolicy) -> None:
        self._provider = provider
        self._parallel = parallel
        self._slots = asyncio.Semaphore(parallel)
        self._retries = retries
        self._open_at = 0.0
        self._refused_chars: int | None = None
        self._taken_chars: int = provider.limits.text_chars
        self._alone = 0
        self._any_taken = False

    async def send(self, texts: Sequence[str], done: Callable[[Part], Awaitable[None]]) -> None:
        """Send documents, and report each group as soon as its vectors are there.

        Args:
            texts: None of them blank.
            done: Gets each part; its parts are not lost when a later group fails.

        Raises:
            EmbeddingFailed: A group failed for good; the others under way are cancelled. Cancelling ends all requests.
        """
        self._alone = 0
        waiting = iter(pack(texts, self._provider.limits, self._parallel))

        async def work() -> None:
            for places in waiting:
                async with self._slots:
                    part = await self._group(texts, places)
                await done(part)

        try:
            async with asyncio.TaskGroup() as group:
                for number in range(self._parallel):
                    group.create_task(work(), name=f"embeddings {number}")
        except BaseExceptionGroup as failures:
            raise _first(failures) from failures

    async def ask(self, text: str) -> Part:
        """Send one query, once; a stale connection gets a second chance.

        Raises:
            EmbeddingFailed: It has no vector.
        """
        cut = self._cut(text)
        try:
            made = await self._provider.embed([cut], EmbeddingRole.QUERY)
        except ProviderFailed as error:
            if error.fault is Fault.TOO_LARGE:
                made = await self._provider.embed([cut[: max(1, min(512, len(cut) // 2))]], EmbeddingRole.QUERY)
            elif error.fault is Fault.AWAY and "broke off" in error.text:
                made = await self._provider.embed([cut], EmbeddingRole.QUERY)
            else:
                raise
        return self._part([0], made, 1)

    async def _group(self, texts: Sequence[str], places: Sequence[int]) -> Part:
        try:
            made = await self._patient([self._cut(texts[place]) for place in places])
        except ProviderFailed as error:
            if error.fault not in {Fault.TOO_LARGE, Fault.REFUSED}:
                raise
            if len(places) == 1:
                return await self._alone_again(texts[places[0]], places[0], error)
        else:
            self._any_taken = True
            return self._part(places, made, 1)
        middle = len(places) // 2
        left = await self._group(texts, places[:middle])
        right = await self._group(texts, places[middle:])
        tokens = None if left.tokens is None or right.tokens is None else left.tokens + right.tokens
        return Part(places, [*left.vectors, *right.vectors], left.requests + right.requests, tokens)

    async def _alone_again(self, text: str, place: int, error: ProviderFailed) -> Part:
        """Decide about a single refused text: shorten it, or leave it out."""
        cut = self._cut(text)
        if error.fault is Fault.TOO_LARGE:
            for _ in range(SHORTENINGS_LIMIT):
                refused, cut = len(cut), cut[: len(cut) // 2]
                if not cut.strip():
                    break
                try:
                    made = await self._patient([cut])
                except ProviderFailed as again:
                    if again.fault is not Fault.TOO_LARGE:
                        raise
                    continue
                self._any_taken = True
                if self._refused_chars is None or refused < self._refused_chars:
                    self._refused_chars, self._taken_chars = refused, len(cut)
                return self._part([place], made, 1)
        self._alone += 1
        if self._alone > REFUSED_ALONE_LIMIT or not await self._takes_any():
            raise error
        _log.warning("a text of %d characters gets no vector: %s", len(text), error.text)
        return Part([place], [None], 1, None)

    async def _takes_any(self) -> bool:
        """Whether the provider accepts anything at all, so that a text and not everything is refused."""
        if not self._any_taken:
            try:
                await self._provider.embed(["ping"], EmbeddingRole.DOCUMENT)
            except ProviderFailed as error:
                _log.debug("not even a word is taken: %s", error.text)
                return False
            self._any_taken = True
        return True

    async def _patient(self, texts: Sequence[str]) -> EmbeddingBatch:
        """Send one group of documents, retrying temporary failures."""
        clock = asyncio.get_running_loop().time
        for attempt in range(1, self._retries.tries + 1):
            await asyncio.sleep(max(0.0, self._open_at - clock()))
            try:
                return await self._provider.embed(texts, EmbeddingRole.DOCUMENT)
            except ProviderFailed as error:
                if error.fault not in PASSING or attempt == self._retries.tries:
                    raise
                asked = error.retry_after_s
                if asked is not None and asked > self._retries.asked_s:
                    raise
                pause = self._pause(attempt, asked)
                if error.fault is Fault.LIMITED:
                    # The others would only be refused as well.
                    self._open_at = max(self._open_at, clock() + pause)
                else:
                    await asyncio.sleep(pause)
                _log.info("embeddings: %s; trying again in %.1f s", error.text, pause)
        raise AssertionError("the last attempt returns or raises")

    def _pause(self, attempt: int, asked: float | None) -> float:
        longest = min(self._retries.most_s, self._retries.first_s * 2.0 ** (attempt - 1))
        jitter = longest * (0.5 + random.random() / 2)  # noqa: S311  only spreads requests
        return jitter if asked is None else asked + jitter / 4

    def _cut(self, text: str) -> str:
        limit = self._provider.limits.text_chars
        if self._refused_chars is not None and len(text) >= self._refused_chars:
            limit = min(limit, self._taken_chars)
        # A lone surrogate is not text and can be sent nowhere.
        return text[:limit].encode("utf-8", "replace").decode("utf-8")

    def _part(self, places: Sequence[int], made: EmbeddingBatch, requests: int) -> Part:
        vectors = normalise(made.rows)
        if len(vectors) != len(places):
            raise ProviderFailed(Fault.NONSENSE, f"{self._provider.id.shown} sent vectors for other texts")
        asked, id = self._provider.length, self._provider.id
        given = next((len(vector) for vector in vectors if vector is not None), asked)
        if asked is not None and given != asked:
            raise ProviderFailed(
                Fault.MODEL,
                f"{id.shown} gives vectors of {given} numbers for {id.model}, not the {asked} asked for; change "
                "or remove memory.embeddings.dimensions",
            )
        return Part(places, vectors, requests, made.tokens)


def _first(failures: BaseExceptionGroup[BaseException]) -> BaseException:
    """Return the error to report of several failures: the first of the provider's, else the first."""
    flat: list[BaseException] = []
    stack: list[BaseException] = [failures]
    while stack:
        error = stack.pop(0)
        if isinstance(error, BaseExceptionGroup):
            stack.extend(error.exceptions)
        else:
            flat.append(error)
    return next((error for error in flat if isinstance(error, EmbeddingFailed)), flat[0])
