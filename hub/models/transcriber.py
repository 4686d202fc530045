"""A configured model, as what turns recordings into text."""

from __future__ import annotations

from typing import cast

from hub.models.registry import ModelRegistry
from hub.models.transcription import CanTranscribe, Transcribe


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
