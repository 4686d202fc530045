"""The offline model as a provider; how it answers is loaded with the first request, and not in homes with a key."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from datetime import datetime
from importlib import import_module
from typing import TYPE_CHECKING

from hub.models.contract import ModelEvent, ModelInfo, ModelRequest

if TYPE_CHECKING:
    from integrations.models.offline.answering import OfflineAnswers

MODEL_ID = "homarus"
CONTEXT_WINDOW = 1_000_000


class OfflineProvider:
    """Answers from sentence patterns; needs no key and no network, and costs nothing.

    Args:
        name: The name of the provider.
        now: Local time, for requests without one.
    """

    def __init__(self, name: str, now: Callable[[], datetime]) -> None:
        self.name = name
        self._now = now
        self._answers: OfflineAnswers | None = None

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        """Answer one request."""
        async for event in (await self._loaded()).stream(request):
            yield event

    async def prepare(self, model: str, language: str | None, voice: str | None = None) -> None:
        """See `CanPrepare.prepare`."""
        await (await self._loaded()).load_for(language)

    async def _loaded(self) -> OfflineAnswers:
        if self._answers is None:
            answering = await asyncio.to_thread(import_module, "integrations.models.offline.answering")
            if self._answers is None:
                self._answers = answering.OfflineAnswers(self._now)
        return self._answers

    async def models(self) -> list[ModelInfo]:
        """Return the only model."""
        return [self.known(MODEL_ID)]

    def known(self, model_id: str) -> ModelInfo:
        """Return what is known of a model without a request."""
        return ModelInfo(
            id=model_id,
            provider=self.name,
            context_window=CONTEXT_WINDOW,
            input_usd=0.0,
            output_usd=0.0,
            name="Offline sentences",
        )

    async def close(self) -> None:
        """Do nothing: there are no connections."""
