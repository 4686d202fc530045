"""A configured model, as what turns recordings and speech into text."""

from __future__ import annotations

from typing import cast

from hub.models.managed import ManagedProvider
from hub.models.registry import ModelRegistry
from hub.models.transcription import CanListen, CanTranscribe, Transcribe


def transcriber(models: ModelRegistry, ref: str, usual: str | None = None) -> Transcribe:
    """Return the transcriber that is a model.

    Args:
        models: Know the model.
        ref: Such as groq/whisper-large-v3.
        usual: The language of recordings of which nobody says it.
    """

    async def transcribe(data: bytes, name: str, language: str | None = None) -> str:
        resolved = await models.resolve(ref)
        provider = cast(CanTranscribe, resolved.provider)  # the registry wraps each provider in one that is
        return await provider.transcribe(resolved.info.id, data, name, language or usual)

    return transcribe


async def listener(models: ModelRegistry, ref: str) -> tuple[CanListen, str] | None:
    """Return the provider of a model and its id there; None if it takes no sound while it is spoken.

    Raises:
        HubError: There is no such model.
    """
    resolved = await models.resolve(ref)
    provider = resolved.provider
    if not isinstance(provider, ManagedProvider) or not provider.can_listen:
        return None
    return provider, resolved.info.id
