"""Embedders, chosen once for all agents with the same settings, and again after none could be had."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from integrations.memory.notes.index.contract import Embedder
from integrations.memory.notes.index.settings import IndexSettings

_log = logging.getLogger(__name__)

CHOOSE_AGAIN_S = 300.0


@dataclass(frozen=True, slots=True)
class ChosenEmbedder:
    """The chosen embedder, None for words alone, and why others were skipped."""

    embedder: Embedder | None
    notes: tuple[str, ...] = ()

    @property
    def fingerprint(self) -> str | None:
        """The identity of vectors without their length."""
        return None if self.embedder is None else self.embedder.id.maker


Choose = Callable[[IndexSettings, Path], Awaitable[ChosenEmbedder]]


async def choose(settings: IndexSettings, cache_path: Path) -> ChosenEmbedder:
    """Choose along the chain of providers; see `embeddings.chain`."""
    from integrations.memory.notes.index.embeddings.chain import choose as walk
    from integrations.memory.notes.index.embeddings.settings import EmbeddingSettings

    wanted = settings.embeddings
    embedder, notes = await walk(
        EmbeddingSettings(
            provider=str(wanted.get("provider", "auto")),
            base_url=wanted.get("base_url"),
            model=wanted.get("model"),
            api_key=wanted.get("api_key"),
            dimensions=wanted.get("dimensions"),
            timeout_s=float(wanted.get("timeout", 30)),
            parallel=int(wanted.get("parallel", 4)),
            cache=int(wanted.get("cache", 50_000)),
            keys=dict(wanted.get("keys") or {}),
            urls=dict(wanted.get("urls") or {}),
            engines=settings.engines,
        ),
        cache_path,
    )
    return ChosenEmbedder(embedder, tuple(notes))


class Embedders:
    """Keeps the embedders that are in use.

    Args:
        cache_path: Database of vectors and costs.
        choose: How one is chosen.
    """

    def __init__(self, cache_path: Path, choose: Choose = choose) -> None:
        self.cache_path = cache_path
        self._choose = choose
        self._chosen: dict[str, asyncio.Future[ChosenEmbedder]] = {}
        self._chosen_at: dict[str, float] = {}

    def chosen(self, settings: IndexSettings) -> ChosenEmbedder | None:
        """Return the chosen embedder, None while unknown."""
        found = self._chosen.get(settings.embeddings_key)
        if found is None or not found.done() or found.cancelled() or found.exception() is not None:
            return None
        return found.result()

    async def get(self, settings: IndexSettings) -> ChosenEmbedder:
        """Return the embedder; none, with the reason, when choosing fails. It may be cancelled."""
        key = settings.embeddings_key
        known = self.chosen(settings)
        stale = time.monotonic() - self._chosen_at.get(key, float("-inf")) > CHOOSE_AGAIN_S
        if key not in self._chosen or (
            settings.wants_vectors and known is not None and known.embedder is None and stale
        ):
            self._chosen_at[key] = time.monotonic()
            self._chosen[key] = asyncio.ensure_future(self._choice(settings))
        return await asyncio.shield(self._chosen[key])

    async def close(self) -> None:
        """Close all embedders."""
        chosen, self._chosen = list(self._chosen.values()), {}
        for each in chosen:
            each.cancel()
        for result in await asyncio.gather(*chosen, return_exceptions=True):
            if isinstance(result, ChosenEmbedder) and result.embedder is not None:
                with contextlib.suppress(OSError):
                    await result.embedder.close()

    async def _choice(self, settings: IndexSettings) -> ChosenEmbedder:
        try:
            return await self._choose(settings, self.cache_path)
        except Exception as error:  # a package that fails in its own way must not take search by words with it
            _log.exception("nobody could be chosen to make vectors")
            return ChosenEmbedder(None, (f"Choosing who makes vectors failed: {error}.", "Search goes by words alone."))
