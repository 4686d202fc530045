"""The embedding model of another integration, which declares it in its manifest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

from hub.memory.engine_contract import EmbeddedTexts, EmbeddingModel, EmbeddingRefused, EngineMissing, EngineUnavailable
from integrations.memory.notes.index.contract import EmbedderId
from integrations.memory.notes.index.embeddings.faults import fault_of, sentence
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
        id: The identity of its vectors.
        model: The model.
        name: Its maker as people know it.
        limits: Of one request.
        length: How long the vectors must be; None where the model decides.
        priced: Whether list prices hold.
    """

    def __init__(
        self, id: EmbedderId, model: EmbeddingModel, name: str, limits: Limits, length: int | None, *, priced: bool
    ) -> None:
        self.id = id
        self.limits = limits
        self.length = length
        self.priced = priced
        self._model = model
        self._name = name

    @classmethod
    def load(cls, name: str, engines: Mapping[str, Any]) -> Self:
        """Open the model of an integration; blocks.

        Raises:
            EngineMissing: It cannot be opened.
        """
        model = open_model(name, engines)
        id = EmbedderId(name, model.model, "integration", model.dimensions)
        return cls(id, model, id.shown, _LIMITS, model.dimensions, priced=False)

    async def embed(self, texts: Sequence[str], role: EmbeddingRole) -> EmbeddingBatch:
        """See `Provider.embed`."""
        try:
            made = await self._model.embed(texts, query=role is EmbeddingRole.QUERY)
            return (
                EmbeddingBatch(made.vectors, made.tokens)
                if isinstance(made, EmbeddedTexts)
                else EmbeddingBatch(list(made))
            )
        except EngineUnavailable as error:
            raise ProviderFailed(Fault.AWAY, error.text) from error
        except EmbeddingRefused as error:
            status = error.status or 503
            fault = fault_of(status, error.said)
            text = f"{self._name} {sentence(fault, self.id.model, self.id.endpoint, status, error.said)}"
            raise ProviderFailed(fault, text, retry_after_s=error.retry_after_s, said=error.said) from error
        except Exception as error:  # whatever an integration does, memory is searched by words
            shown = f"{self._name} failed: {type(error).__name__}: {error}"
            raise ProviderFailed(Fault.NONSENSE, shown) from error

    async def close(self) -> None:
        """See `Provider.close`."""
        await self._model.close()


def open_model(name: str, engines: Mapping[str, Any], settings: Mapping[str, Any] | None = None) -> EmbeddingModel:
    """Open the model of an integration, with other settings than its section if they are given; blocks.

    Raises:
        EngineMissing: It cannot be opened.
    """
    module = engine_module(name, engines)
    try:
        return module.open_embeddings(engines[name].get("settings") or {} if settings is None else settings)
    except EngineMissing:
        raise
    except Exception as error:  # whatever an integration does, memory is searched by words
        raise EngineMissing(f"The model of {name} cannot be opened: {type(error).__name__}: {error}.") from error
