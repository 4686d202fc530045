"""The embedding model of another integration, which declares it in its manifest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

from hub.memory.engine_contract import EmbeddingModel, EngineMissing, EngineUnavailable
from integrations.memory.notes.index.contract import EmbedderId
from integrations.memory.notes.index.embeddings.provider import (
    EmbeddingBatch,
    EmbeddingRole,
    Fault,
    Limits,
    ProviderFailed,
)
from integrations.memory.notes.index.engines import engine_module

_LIMITS = Limits(texts=64, tokens=16_000)


class Declared:
    """Asks the model of an integration.

    Args:
        name: The integration.
        model: Its model.
    """

    limits = _LIMITS
    priced = False

    def __init__(self, name: str, model: EmbeddingModel) -> None:
        self.id = EmbedderId(name, model.model, "integration", model.dimensions)
        self.length: int | None = model.dimensions
        self._model = model

    @classmethod
    def load(cls, name: str, engines: Mapping[str, Any]) -> Self:
        """Open the model of an integration; blocks.

        Raises:
            EngineMissing: It cannot be opened.
        """
        module = engine_module(name, engines)
        try:
            return cls(name, module.open_embeddings(engines[name].get("settings") or {}))
        except EngineMissing:
            raise
        except Exception as error:  # whatever an integration does, memory is searched by words
            raise EngineMissing(f"The model of {name} cannot be opened: {type(error).__name__}: {error}.") from error

    async def embed(self, texts: Sequence[str], role: EmbeddingRole) -> EmbeddingBatch:
        """See `Provider.embed`."""
        try:
            return EmbeddingBatch(list(await self._model.embed(texts, query=role is EmbeddingRole.QUERY)))
        except EngineUnavailable as error:
            raise ProviderFailed(Fault.AWAY, error.text) from error
        except Exception as error:  # whatever an integration does, memory is searched by words
            shown = f"{self.id.shown} failed: {type(error).__name__}: {error}"
            raise ProviderFailed(Fault.NONSENSE, shown) from error

    async def close(self) -> None:
        """See `Provider.close`."""
        await self._model.close()
